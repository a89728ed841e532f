//! A backward relaxation: how much time passes at least from an output to the end of the split.
//!
//! Let an accelerator's subgraph S take in the unit v from outside, and let S' be the part of S that follows v, v
//! included. By convexity S' is an ideal of what follows v. S takes at least the compute time of S', the transfers of
//! its outputs that leave S', and the transfer of the output through which v was entered; then each consumer of those
//! outputs still has its own tail. So the tail of v is the least of this over the ideals S' that fit on an accelerator,
//! or what it is when v runs on the CPU.

use rustc_hash::FxHashSet;

use super::model::{Class, Model};
use crate::cost::{Terms, compute_load, max_of_pieces};
use crate::graph::{NodeId, NodeSet};
use crate::problem::{DeviceKind, fits};
use crate::solve::SearchContext;

/// Ideals that may be looked at behind one unit; behind those with more only the longest path counts.
const MAX_SETS: usize = 2_000;

/// Lower bounds on the time from each unit or node to the end.
#[derive(Debug, Clone)]
pub(super) struct Tails {
    /// For each node the tail from its start when it is on the CPU; `None` where it cannot be.
    cpu: Vec<Option<f64>>,
    /// For each class and unit the tail from its start when it is on an accelerator, its inputs not counted; `None`
    /// where it cannot be.
    accelerated: Vec<Vec<Option<f64>>>,
    /// What a unit's inputs weigh, by class: 0 where they may overlap with compute.
    input_weights: Vec<f64>,
}

impl Tails {
    /// The tails of `model`. Longest paths alone once `cx` says to stop.
    pub fn new(model: &Model, cx: &SearchContext) -> Self {
        let n = model.problem.node_count();
        let weight = |class: &Class| if let [piece] = class.pieces[..] { piece.comm_in } else { 0.0 };
        let mut tails = Self {
            cpu: vec![None; n],
            accelerated: vec![vec![None; model.unit_count()]; model.classes.len()],
            input_weights: model.classes.iter().map(weight).collect(),
        };
        for unit in (0..model.unit_count()).rev() {
            tails.run_on_cpu(model, unit);
            for class in 0..model.classes.len() {
                let below = model.descendants.as_ref().filter(|_| !cx.should_stop()).map(|below| &below[unit]);
                tails.accelerated[class][unit] = tails.accelerate(model, class, unit, below);
            }
        }
        tails
    }

    /// The tail from the time at which `port` is ready, as far as its consumer `node` is concerned.
    fn of_consumer(&self, model: &Model, port: usize, node: NodeId) -> f64 {
        self.of_node(model, node, |class| self.input_weights[class] * model.classes[class].transfer[port])
    }

    /// The tail of `node`, when an accelerator that it begins has to fetch an `input` of this time.
    fn of_node(&self, model: &Model, node: NodeId, input: impl Fn(usize) -> f64) -> f64 {
        let Some(unit) = model.units.of_node[node] else { return 0.0 };
        let accelerated = self.accelerated.iter().enumerate();
        let accelerated = accelerated.filter_map(|(class, tails)| Some(tails[unit]? + input(class)));
        accelerated.chain(self.cpu[node]).reduce(f64::min).unwrap_or(0.0)
    }

    /// A lower bound on the time of the split.
    pub fn of_split(&self, model: &Model) -> f64 {
        let nodes = model.units.members.iter().flatten();
        nodes.map(|&v| self.of_node(model, v, |_| 0.0)).fold(0.0, f64::max)
    }

    fn run_on_cpu(&mut self, model: &Model, unit: usize) {
        if model.cpu[unit].is_none() {
            return;
        }
        for &v in model.units.members[unit].iter().rev() {
            let after = model.problem.graph.successors(v).iter().map(|&w| w as usize);
            let tail = |w: NodeId| match model.units.of_node[w] == Some(unit) {
                true => self.cpu[w].unwrap_or(0.0),
                false => self.of_node(model, w, |_| 0.0),
            };
            let after = after.map(tail).fold(0.0, f64::max);
            let time = model.problem.costs.node(v, DeviceKind::Cpu).map_or(0.0, |cost| cost.compute);
            self.cpu[v] = Some(time + after);
        }
    }

    /// The least time of a subgraph of `class` entered at `unit`, and of what follows it.
    fn accelerate(&self, model: &Model, class: usize, unit: usize, below: Option<&NodeSet>) -> Option<f64> {
        let costs = &model.classes[class];
        let alone = Set { units: vec![unit], compute: costs.compute[unit]?, memory: costs.memory[unit] };
        if !fits(alone.memory, costs.memory_limit) {
            return None;
        }
        let Some(below) = below else { return Some(self.longest_path(model, class, unit)) };
        let mut seen: FxHashSet<Vec<usize>> = FxHashSet::default();
        let mut stack = vec![alone];
        let mut least: Option<f64> = None;
        while let Some(set) = stack.pop() {
            if seen.len() >= MAX_SETS {
                return Some(self.longest_path(model, class, unit));
            }
            let total = self.with_tails(model, costs, &set);
            least = Some(least.map_or(total, |least| least.min(total)));
            for next in extensions(model, costs, &set, below) {
                if least.is_some_and(|least| compute_load(&costs.pieces, next.compute) >= least)
                    || !seen.insert(next.units.clone())
                {
                    continue;
                }
                stack.push(next);
            }
        }
        least
    }

    /// A tail for units behind which there is too much: where loads are sums, the compute time of the unit and the least
    /// tail of what it feeds, on whatever device; the longest path otherwise.
    fn longest_path(&self, model: &Model, class: usize, unit: usize) -> f64 {
        let costs = &model.classes[class];
        let path = model.units.members[unit].iter().map(|&v| model.tails[v]).fold(0.0, f64::max);
        let [piece] = costs.pieces[..] else { return path };
        let after = model.units.order.successors(unit).iter().map(|&w| {
            let accelerated = self.accelerated.iter().filter_map(|tails| tails[w as usize]);
            let cpu = model.units.members[w as usize].iter().filter_map(|&v| self.cpu[v]);
            accelerated.chain(cpu).reduce(f64::min).unwrap_or(0.0)
        });
        path.max(piece.compute * costs.compute[unit].unwrap_or(0.0) + after.fold(0.0, f64::max))
    }

    fn with_tails(&self, model: &Model, costs: &Class, set: &Set) -> f64 {
        let mut terms = Terms { compute: set.compute, ..Terms::default() };
        let mut after = 0.0f64;
        for &u in &set.units {
            for &p in model.outputs.row(u) {
                let port = &model.ports[p as usize];
                let mut leaves = false;
                for &w in &port.consumers {
                    if model.units.of_node[w].is_some_and(|x| set.units.binary_search(&x).is_err()) {
                        leaves = true;
                        after = after.max(self.of_consumer(model, p as usize, w));
                    }
                }
                terms.comm_out += if leaves { costs.transfer[p as usize] } else { 0.0 };
            }
        }
        max_of_pieces(&costs.pieces, &terms) + after
    }
}

/// An ideal of what follows a unit: the units, ascending, and their sums.
struct Set {
    units: Vec<usize>,
    compute: f64,
    memory: f64,
}

/// The set with one more unit, all of whose predecessors among `below`, the units that follow its first, are in it.
fn extensions(model: &Model, costs: &Class, set: &Set, below: &NodeSet) -> Vec<Set> {
    let order = &model.units.order;
    let holds = |u: usize| set.units.binary_search(&u).is_ok();
    let after = set.units.iter().flat_map(|&u| order.successors(u)).map(|&w| w as usize);
    let mut next: Vec<usize> = after.filter(|&w| !holds(w)).collect();
    next.sort_unstable();
    next.dedup();
    let is_next = |w: &usize| order.predecessors(*w).iter().all(|&p| holds(p as usize) || !below.contains(p as usize));
    let extend = |w: usize| {
        let memory = set.memory + costs.memory[w];
        let compute = set.compute + costs.compute[w]?;
        let mut units = set.units.clone();
        units.insert(units.partition_point(|&u| u < w), w);
        fits(memory, costs.memory_limit).then_some(Set { units, compute, memory })
    };
    next.into_iter().filter(is_next).filter_map(extend).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{Edge, Instance, Node, Platform};
    use crate::problem::{Objective, Problem, ProblemSpec};

    #[test]
    fn where_every_node_needs_its_own_accelerator_the_tail_is_the_latency() {
        let node =
            |(id, time)| Node { accelerator_times: vec![Some(time)], memory: 1.0, transfer_time: 1.0, ..Node::new(id) };
        let instance = Instance {
            platform: Platform::uniform(3, Some(1.0), 0),
            nodes: [(1, 3.0), (2, 4.0), (3, 5.0)].map(node).to_vec(),
            edges: vec![Edge { source: 1, target: 2 }, Edge { source: 2, target: 3 }],
            ..Instance::default()
        };
        let spec = ProblemSpec { objective: Objective::Latency { subgraphs: 1 }, ..ProblemSpec::of(&instance) };
        let problem = Problem::new(&instance, spec).unwrap();
        let model = Model::new(&problem);
        // {1}: 3 + 1 until 4. {2}: 1 + 4 + 1 until 10. {3}: 1 + 5 until 16.
        assert_eq!(Tails::new(&model, &SearchContext::new()).of_split(&model), 16.0);
    }
}
