//! Operator clustering (Parmesan 2024, section IV-B).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

use petgraph::unionfind::UnionFind;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::preprocess::Reduced;
use crate::problem::{Objective, Problem, ProblemSpec, Scope};
use crate::solve::Clustering;
use crate::solve::LinearizedDp;
use crate::solve::heuristic::groups::{Demand, Quotient, by_node, limits};
use crate::solve::{SearchContext, SolveError, Solver, in_pool};

/// Joins the two adjacent operators of least cost, again and again, until few are left (Parmesan 2024, section IV-B).
///
/// The cost of joining u and v is c(u) + c(v) − α · m(u, v): compute times, less the time to move what passes between
/// them, counted edge by edge (equation 4). A pair is joined only where no path leads from one to the other through a
/// third, so that the clusters stay an acyclic graph, and where some kind of device can run and hold both. Colour
/// classes and what needs each other go as a whole. Operators without any edge between them are never joined, so that
/// more clusters may be left than asked for where the graph is not connected, or memory is short.
///
/// The published program takes the α whose split its simulator likes best; here that is the one whose clusters the
/// linearized DP splits best, the first of equals.
///
/// *Complexity.* A heap holds the pairs; one whose cost is out of date, or that a path forbids, is dropped when it is
/// met. The latter comes back with a new cost once either of the two has grown, and not before: a path stays, however
/// the groups on it are joined. So a step costs the neighbours of what it joined, instead of all pairs:
/// O(m log m) in all where degrees are bounded, against O(n·m) as published.
///
/// ```
/// use dagsplit::generate::{Recipe, Transformer, generate};
/// use dagsplit::problem::{Problem, ProblemSpec};
/// use dagsplit::solve::{Clustering, OperatorClustering, SearchContext};
///
/// let bert = generate(&Recipe::new(Transformer { layers: 2, ..Transformer::bert_base() }))?;
/// let problem = Problem::new(&bert, ProblemSpec::of(&bert))?;
/// let clustering = OperatorClustering { clusters: 8, ..Default::default() };
/// let clusters = clustering.clusters(&problem, &mut SearchContext::new())?;
/// assert_eq!(clusters.iter().max(), Some(&7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorClustering {
    /// How many clusters are aimed at, K in the paper; at least 1.
    pub clusters: usize,
    /// The weights of communication, α in the paper; the best one is taken.
    pub alphas: Vec<f64>,
}

impl Default for OperatorClustering {
    /// K as published for BERT, which is the largest for a network of one size, and the published choice of α.
    fn default() -> Self {
        Self { clusters: 48, alphas: vec![0.01, 1.0, 100.0] }
    }
}

impl Clustering for OperatorClustering {
    fn clusters(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Vec<usize>, SolveError> {
        let reduced = Reduced::contracted_only(problem);
        let stop = || cx.should_stop();
        let mut found: Vec<Vec<usize>> = in_pool(cx, || {
            // What begins after the end would cost its tables, and join nothing.
            let wanted = self.alphas.par_iter().enumerate().filter(|&(which, _)| which == 0 || !stop());
            let of_alpha = |&alpha: &f64| by_node(problem, &reduced, &cluster(&reduced, self.clusters, alpha, &stop));
            wanted.map(|(_, alpha)| of_alpha(alpha)).collect()
        });
        found.dedup();
        let mut best = (None, found.first().cloned().unwrap_or_else(|| (0..problem.node_count()).collect()));
        // Clusters that were cut off promise nothing.
        if found.len() > 1 && !cx.should_stop() {
            for clusters in found {
                let value = promise(problem, &clusters, cx)?;
                if value.is_some_and(|value| best.0.is_none_or(|least| value < least)) {
                    best = (value, clusters);
                }
            }
        }
        Ok(best.1)
    }
}

/// The objective of the linearized DP on the clusters; `None` where it finds no split, or takes no such problem.
fn promise(problem: &Problem, clusters: &[usize], cx: &mut SearchContext) -> Result<Option<f64>, SolveError> {
    let mut clustered = problem.clustered(clusters);
    // Contiguous splits by load tell clusterings apart, whatever is asked for in the end.
    let objective = match problem.spec.objective {
        Objective::Latency { .. } | Objective::Sharding(_) => Objective::Throughput,
        pipelined => pipelined,
    };
    clustered.spec = ProblemSpec { scope: Scope::Acyclic, objective, ..clustered.spec };
    let judge = LinearizedDp::default();
    if judge.supports(&clustered).is_err() {
        return Ok(None);
    }
    Ok(judge.solve(&clustered, cx)?.outcome.solution().and_then(|split| split.objective))
}

/// Joins units until `most` clusters are left, no pair can be joined, or `stop` says so: the cluster of each unit.
fn cluster(reduced: &Reduced, most: usize, alpha: f64, stop: &dyn Fn() -> bool) -> Vec<usize> {
    let mut state = State::new(reduced, alpha);
    while state.alive > most && !stop() {
        let Some(pair) = state.pairs.pop() else { break };
        state.try_pair(&pair);
    }
    state.numbered()
}

/// Two clusters that may be joined, as they were when the cost was computed.
struct Pair {
    cost: f64,
    clusters: [u32; 2],
    versions: [u32; 2],
}

impl Ord for Pair {
    /// The largest of a heap is the cheapest pair, of equals the one of the first units.
    fn cmp(&self, other: &Self) -> Ordering {
        other.cost.total_cmp(&self.cost).then_with(|| other.clusters.cmp(&self.clusters))
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Pair {}

/// What passes between two clusters.
#[derive(Debug, Clone, Copy, Default)]
struct Traffic {
    /// Time to move it.
    time: f64,
    /// What each of two devices keeps that hold one of them.
    bytes: f64,
}

impl Traffic {
    fn add(&mut self, other: Self) {
        self.time += other.time;
        self.bytes += other.bytes;
    }
}

/// The version of a cluster that was joined to another.
const GONE: u32 = u32::MAX;

/// Clusters while they are joined.
struct State {
    alpha: f64,
    quotient: Quotient,
    /// What passes between each cluster and those adjacent to it.
    traffic: Vec<BTreeMap<u32, Traffic>>,
    demands: Vec<Demand>,
    /// Bytes that a device keeps for the edges between each cluster and all others.
    boundary: Vec<f64>,
    limits: Vec<Option<f64>>,
    /// How often each cluster has grown; [`GONE`] once it is joined to another.
    versions: Vec<u32>,
    joined: UnionFind<usize>,
    pairs: BinaryHeap<Pair>,
    alive: usize,
}

impl State {
    fn new(reduced: &Reduced, alpha: f64) -> Self {
        let n = reduced.unit_count();
        let kinds: Vec<usize> = (0..reduced.kinds.len()).collect();
        let own: Vec<usize> = (0..n).collect();
        let quotient = Quotient::new(&reduced.order, &own, n).unwrap_or_else(|| unreachable!("units are acyclic"));
        let traffic = traffic(reduced);
        let boundary = traffic.iter().map(|beside| beside.values().map(|between| between.bytes).sum()).collect();
        let mut state = Self {
            alpha,
            quotient,
            traffic,
            demands: Demand::of_units(reduced, &kinds),
            boundary,
            limits: limits(reduced, &kinds),
            versions: vec![0; n],
            joined: UnionFind::new(n),
            pairs: BinaryHeap::new(),
            alive: n,
        };
        for u in 0..n {
            state.push_pairs(u, |v| u < v);
        }
        state
    }

    /// Puts the pairs of cluster `u` with those adjacent to it that are `wanted` on the heap.
    fn push_pairs(&mut self, u: usize, wanted: impl Fn(usize) -> bool) {
        for (&v, between) in self.traffic[u].iter().filter(|&(&v, _)| wanted(v as usize)) {
            let cost = self.demands[u].compute + self.demands[v as usize].compute - self.alpha * between.time;
            let (a, b) = (u.min(v as usize), u.max(v as usize));
            let versions = [self.versions[a], self.versions[b]];
            self.pairs.push(Pair { cost, clusters: [a as u32, b as u32], versions });
        }
    }

    /// Joins a pair, unless it is out of date, fits no device, or a path forbids it.
    fn try_pair(&mut self, pair: &Pair) {
        let [a, b] = pair.clusters.map(|u| u as usize);
        if pair.versions != [self.versions[a], self.versions[b]] {
            return;
        }
        let demand = self.demands[a].with(&self.demands[b]);
        let between = self.traffic[a].get(&(b as u32)).map_or(0.0, |between| between.bytes);
        let boundary = self.boundary[a] + self.boundary[b] - 2.0 * between;
        // The one with more neighbours keeps its place, so that few links are written anew.
        let (into, from) = if self.traffic[a].len() >= self.traffic[b].len() { (a, b) } else { (b, a) };
        if !demand.is_met_beside(boundary, &self.limits) || !self.quotient.join(into, from) {
            return;
        }
        self.demands[into] = demand;
        self.boundary[into] = boundary;
        self.joined.union(into, from);
        self.alive -= 1;
        self.versions[into] += 1;
        self.versions[from] = GONE;
        for (v, between) in std::mem::take(&mut self.traffic[from]) {
            self.traffic[v as usize].remove(&(from as u32));
            if v as usize != into {
                self.traffic[into].entry(v).or_default().add(between);
                self.traffic[v as usize].entry(into as u32).or_default().add(between);
            }
        }
        self.push_pairs(into, |_| true);
    }

    /// The cluster of each unit, numbered by their first units.
    fn numbered(self) -> Vec<usize> {
        let mut number = FxHashMap::default();
        let number_of = |root| {
            let next = number.len();
            *number.entry(root).or_insert(next)
        };
        self.joined.into_labeling().into_iter().map(number_of).collect()
    }
}

/// What passes between adjacent units: each producer's transfer for each consumer, and the bytes of each edge. Units that
/// are only ordered pass nothing.
fn traffic(reduced: &Reduced) -> Vec<BTreeMap<u32, Traffic>> {
    let mut traffic = vec![BTreeMap::new(); reduced.unit_count()];
    let mut add = |u: usize, v: usize, time: f64| {
        traffic[u].entry(v as u32).or_insert_with(Traffic::default).time += time;
        traffic[v].entry(u as u32).or_insert_with(Traffic::default).time += time;
    };
    reduced.order.edges().for_each(|(u, v)| add(u, v, 0.0));
    for (e, net) in reduced.nets.iter().enumerate() {
        let time = reduced.kinds.iter().map(|kind| kind.transfers[e]).fold(0.0, f64::max);
        net.pins.iter().filter(|&&v| v != net.source).for_each(|&v| add(net.source as usize, v as usize, time));
    }
    for (u, beside) in traffic.iter_mut().enumerate() {
        for &(v, bytes) in reduced.kinds.iter().flat_map(|kind| kind.boundary.of(u)) {
            let between = beside.entry(v).or_default();
            between.bytes = between.bytes.max(bytes);
        }
    }
    traffic
}
