//! What the tests of the dynamic programs share: problems that they take, and plain reference programs.

#![allow(dead_code, reason = "each test file uses some of these")]

use std::collections::HashSet;

use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::internals::dp::Setting;
use dagsplit::internals::dp::loads::SetLoads;
use dagsplit::internals::dp::stage::{StageKind, stage_kinds};
use dagsplit::internals::preprocess::Reduced;
use dagsplit::problem::{CostKind, Objective, Problem, ProblemSpec, Scope, fits};
use dagsplit::problem::{Graph, NodeSet};
use dagsplit::solve::IdealDp;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::common::{InstanceOptions, problems};

/// Requests that the ideal DP takes: successive ideals. Transfers are made dearer by up to eightfold, and in some
/// instances many nodes are free but for them: the reductions live on both.
pub fn acyclic_problems(max_groups: usize, options: InstanceOptions) -> impl Strategy<Value = (Instance, ProblemSpec)> {
    let dear = select(vec![1.0, 1.0, 2.0, 8.0]);
    let free = prop::option::weighted(0.3, vec(any::<bool>(), 2 * max_groups));
    (problems(max_groups, options), dear, free).prop_map(|((mut instance, spec), factor, free)| {
        instance.nodes.iter_mut().for_each(|node| node.transfer_time *= factor);
        for (node, _) in instance.nodes.iter_mut().zip(free.into_iter().flatten()).filter(|&(_, free)| free) {
            node.accelerator_times.iter_mut().flatten().chain(&mut node.cpu_time).for_each(|time| *time = 0.0);
            (node.memory, node.parameter_bytes) = (0.0, 0.0);
        }
        (instance, acyclic(spec))
    })
}

/// The same request for splits into successive ideals, without servers, which have tests of their own.
pub fn acyclic(spec: ProblemSpec) -> ProblemSpec {
    ProblemSpec { scope: Scope::Acyclic, interconnect: None, ..spec }
}

/// The same problem by its largest load, without replicas and servers.
pub fn by_load((instance, spec): (Instance, ProblemSpec)) -> (Instance, ProblemSpec) {
    let spec = ProblemSpec { interconnect: None, replication: None, objective: Objective::Throughput, ..spec };
    (instance, spec)
}

/// Ideal DPs that differ in how much linearized DP leaves to the search (everything, some, and the usual little), and in
/// whether they dive before they search for long.
pub fn ideal_dps() -> impl Strategy<Value = IdealDp> {
    let look = select(vec![IdealDp::default().look, 0]);
    (select(vec![0, 1, 16]), look).prop_map(|(orders, look)| IdealDp { orders, look, ..IdealDp::default() })
}

/// Whether two objectives are the same. Weights are integers, and halves are exact; thirds of replicated loads are
/// not, and two ways of adding them up may differ in the last digits.
pub fn same(spec: &ProblemSpec, a: Option<f64>, b: Option<f64>) -> bool {
    let inexact = spec.replication.is_some_and(|r| r.max_replicas > 2);
    match (a, b) {
        (Some(a), Some(b)) if inexact => (a - b).abs() <= 1e-12 * a.max(b),
        _ => a == b,
    }
}

/// Graphs of up to `max` forward nodes and few ideals: each node consumes the third before it and some in between.
/// Half of them are training graphs, whose backward nodes mirror the forward ones.
pub fn banded(max: usize) -> impl Strategy<Value = (Instance, ProblemSpec)> {
    let costs = vec((0..=9u8, 0..=30u8, 0..=4u8, 0..=6u8, any::<[bool; 2]>()), 1..=max);
    let platform = (1..=4usize, 0..=2usize, prop::option::of(4..=60u8));
    let shape = (
        select(vec![CostKind::Additive, CostKind::Overlap, CostKind::Duplex]),
        select(vec![Objective::Throughput, Objective::GPipe]),
    );
    (costs, platform, shape, any::<bool>()).prop_map(|(costs, (count, cpus, memory), (cost, objective), training)| {
        let n = costs.len();
        let mut instance =
            Instance { platform: Platform::uniform(count, memory.map(f64::from), cpus), ..Instance::default() };
        let passes = if training { 2 * n } else { n };
        for v in 0..passes {
            // Backward nodes take the costs of another node.
            let (time, cpu, memory, transfer, _) = costs[if v < n { v } else { 7 * v % n }];
            instance.nodes.push(Node {
                accelerator_times: vec![Some(time.into())],
                cpu_time: Some(cpu.into()),
                memory: memory.into(),
                transfer_time: transfer.into(),
                backward: v >= n,
                color_class: training.then_some((v % n) as u64),
                ..Node::new(v as u64)
            });
        }
        for (v, &(.., near)) in costs.iter().enumerate() {
            let sources = (1..=3).filter(|&back| back == 3 || near[back - 1]).filter_map(|back| v.checked_sub(back));
            let forward: Vec<Edge> = sources.map(|u| Edge { source: u as u64, target: v as u64 }).collect();
            let mirror = |e: &Edge| Edge { source: e.target + n as u64, target: e.source + n as u64 };
            instance.edges.extend(forward.iter().filter(|_| training).map(mirror));
            instance.edges.extend(forward);
        }
        let spec = ProblemSpec { cost, objective, ..ProblemSpec::of(&instance) };
        (instance, spec)
    })
}

/// A set of at most 128 nodes or units.
pub type Mask = u128;

/// Every ideal of a graph, each after its subsets.
pub fn ideals(order: &Graph) -> Vec<Mask> {
    let ready =
        |ideal: Mask, v: usize| ideal >> v & 1 == 0 && order.predecessors(v).iter().all(|&u| ideal >> u & 1 == 1);
    let mut seen = HashSet::from([0]);
    let mut all: Vec<Mask> = vec![0];
    let mut next = 0;
    while next < all.len() {
        let ideal = all[next];
        next += 1;
        for v in (0..order.node_count()).filter(|&v| ready(ideal, v)) {
            if seen.insert(ideal | 1 << v) {
                all.push(ideal | 1 << v);
            }
        }
    }
    all.sort_by_key(|ideal| ideal.count_ones());
    all
}

/// The prefixes of an order, as sets.
pub fn prefixes(order: &[usize]) -> Vec<Mask> {
    let mut all = vec![0];
    order.iter().for_each(|&v| all.push(all[all.len() - 1] | 1 << v));
    all
}

/// Devices used of each kind, and the worst value of each pass.
type Entry = (Vec<usize>, [f64; 2]);

/// The published DP (Tarnawski 2020, section 5.1.1) over any list of nested sets, the last of which holds
/// everything: for each set the best values by devices used, from all its subsets. `value` is that of a stage.
pub fn table_dp(
    sets: &[Mask],
    counts: &[usize],
    stages: &[StageKind],
    mut value: impl FnMut(StageKind, Mask) -> Option<[f64; 2]>,
) -> Option<f64> {
    let no_worse =
        |a: &Entry, b: &Entry| a.0.iter().zip(&b.0).all(|(x, y)| x <= y) && a.1.iter().zip(&b.1).all(|(x, y)| x <= y);
    let mut table: Vec<Vec<Entry>> = vec![vec![]; sets.len()];
    table[0].push((vec![0; counts.len()], [0.0; 2]));
    for j in 1..sets.len() {
        let mut entries: Vec<Entry> = Vec::new();
        for i in (0..j).filter(|&i| sets[i] & !sets[j] == 0 && sets[i] != sets[j]) {
            for &stage in stages {
                let Some(own) = value(stage, sets[j] & !sets[i]) else { continue };
                for (used, worst) in &table[i] {
                    let mut used = used.clone();
                    used[stage.kind] += stage.replicas;
                    let new = (used, [worst[0].max(own[0]), worst[1].max(own[1])]);
                    if new.0[stage.kind] <= counts[stage.kind] && !entries.iter().any(|old| no_worse(old, &new)) {
                        entries.retain(|old| !no_worse(&new, old));
                        entries.push(new);
                    }
                }
            }
        }
        table[j] = entries;
    }
    table.pop()?.iter().map(|(_, worst)| worst[0] + worst[1]).min_by(f64::total_cmp)
}

/// The best split of `reduced` into stages between `sets` of units, priced by the solvers' own loads.
pub fn best_on_units(problem: &Problem, reduced: &Reduced, sets: &[Mask]) -> Option<f64> {
    let setting = Setting::new(problem, reduced);
    let counts: Vec<usize> = reduced.kinds.iter().map(|kind| kind.count).collect();
    let mut loads = SetLoads::new(&setting.loads);
    let words = reduced.unit_count().div_ceil(64);
    table_dp(sets, &counts, &stage_kinds(problem, reduced), |stage, set| {
        loads.value(stage, &[set as u64, (set >> 64) as u64][..words])
    })
}

/// The best split into stages between `sets` of units, priced by the cost model on the original nodes. Takes no
/// replication.
pub fn best_on_nodes(problem: &Problem, units: &Reduced, sets: &[Mask]) -> Option<f64> {
    assert_eq!(problem.spec.replication, None);
    let counts: Vec<usize> = units.kinds.iter().map(|kind| kind.count).collect();
    let n = problem.node_count();
    table_dp(sets, &counts, &stage_kinds(problem, units), |stage, set| {
        let kind = units.kinds[stage.kind].kind;
        let held = NodeSet::from_nodes(n, units.lift((0..units.unit_count()).filter(|&u| set >> u & 1 == 1)));
        let memory: f64 = held.iter().map(|v| problem.costs.node(v, kind).map_or(0.0, |cost| cost.memory)).sum();
        let part = |pass: bool| {
            let terms = problem.costs.terms(&held, kind, |v| problem.backward[v] == pass)?;
            Some(dagsplit::cost::max_of_pieces(problem.costs.pieces(kind), &terms))
        };
        let value = match problem.spec.objective {
            Objective::Throughput | Objective::Step { .. } | Objective::Latency { .. } | Objective::Sharding(_) => {
                [problem.costs.load(&held, kind)?, 0.0]
            }
            Objective::GPipe => [part(false)?, part(true)?],
        };
        fits(memory, problem.memory_limit(kind)).then_some(value)
    })
}
