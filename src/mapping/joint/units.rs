//! What is split: units, their order, and what they send.

use std::collections::BTreeMap;

use super::super::{Message, Stage, StageGraph};
use crate::graph::{CycleError, Graph};
use crate::instance::validate::node_place;
use crate::instance::{Instance, Problems};
use crate::preprocess::Reduced;
use crate::problem::{DeviceKind, Problem};

/// Units that no acyclic split can part, the order between them, and the data that passes between them.
#[derive(Debug, Clone)]
pub struct UnitGraph {
    /// What a stage of one unit alone computes and holds; those of several add up.
    pub units: Vec<Stage>,
    /// Which units come before which.
    pub order: Graph,
    /// What each producer sends.
    pub nets: Vec<UnitNet>,
}

/// The output of one producer: each stage that consumes it, and does not make it, gets it once.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitNet {
    /// The unit that makes it.
    pub source: usize,
    /// The other units that consume it, ascending.
    pub consumers: Vec<usize>,
    /// How many bytes.
    pub bytes: f64,
}

impl UnitGraph {
    /// The units of `problem`, which is that of `instance`, and the instance's nodes of each. The nodes' costs are those of
    /// the first accelerator class, 0 where it cannot run them. O(n log n + m log m).
    ///
    /// # Errors
    /// Memory of stages that is not the sum of their nodes', and nodes whose output goes to another unit and has no size; see
    /// [`StageGraph::of`].
    pub fn new(instance: &Instance, problem: &Problem) -> Result<(Self, Vec<Vec<u64>>), Problems> {
        let reduced = Reduced::contracted_only(problem);
        let mut unit_of = vec![0; problem.node_count()];
        for (unit, members) in reduced.members.iter().enumerate() {
            members.iter().for_each(|&v| unit_of[v] = unit);
        }
        let units = reduced.members.iter().map(|members| unit(problem, members)).collect();
        let nets = nets(instance, problem, &unit_of)?;
        let ids = |members: &Vec<usize>| members.iter().map(|&v| problem.ids[v]).collect();
        let members = reduced.members.iter().map(ids).collect();
        Ok((Self { units, order: reduced.order, nets }, members))
    }

    /// The stages that these sets of units make.
    pub fn stage_graph(&self, stages: &[Vec<usize>]) -> StageGraph {
        let merged = self.merged(stages);
        let mut bytes: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for net in &merged.nets {
            net.consumers.iter().for_each(|&target| *bytes.entry((net.source, target)).or_default() += net.bytes);
        }
        let message = |((source, target), bytes)| Message { source, target, bytes };
        let messages = bytes.into_iter().map(message).collect();
        StageGraph { name: "stages".into(), stages: merged.units, messages }
    }

    /// The same with one unit in place of each set, in the order given.
    #[must_use]
    pub fn merged(&self, stages: &[Vec<usize>]) -> Self {
        let mut stage_of = vec![0; self.units.len()];
        for (index, units) in stages.iter().enumerate() {
            units.iter().for_each(|&unit| stage_of[unit] = index);
        }
        let units: Vec<Stage> =
            stages.iter().enumerate().map(|(index, units)| self.sum(format!("stage {index}"), units)).collect();
        let chain: Vec<(usize, usize)> = (1..units.len()).map(|index| (index - 1, index)).collect();
        let order = Graph::new(units.len(), &chain).unwrap_or_else(|CycleError(_)| unreachable!("a chain is acyclic"));
        let nets = self.nets.iter().filter_map(|net| {
            let consumers = net.consumers.iter().map(|&unit| stage_of[unit]);
            UnitNet::new(stage_of[net.source], consumers, net.bytes)
        });
        let nets = nets.collect();
        Self { units, order, nets }
    }

    /// The stage that these units make.
    fn sum(&self, name: String, units: &[usize]) -> Stage {
        let mut stage = Stage { name, ..Stage::default() };
        for &unit in units {
            let Stage { forward, backward, parameter_bytes, memory, .. } = self.units[unit];
            stage.forward += forward;
            stage.backward += backward;
            stage.parameter_bytes += parameter_bytes;
            stage.memory += memory;
        }
        stage
    }
}

impl UnitNet {
    /// The net of these units; `None` where no other unit consumes it.
    fn new(source: usize, consumers: impl Iterator<Item = usize>, bytes: f64) -> Option<Self> {
        let mut consumers: Vec<usize> = consumers.filter(|&unit| unit != source).collect();
        consumers.sort_unstable();
        consumers.dedup();
        (!consumers.is_empty() && bytes > 0.0).then_some(Self { source, consumers, bytes })
    }
}

/// What a stage of these nodes computes and holds.
fn unit(problem: &Problem, nodes: &[usize]) -> Stage {
    let mut stage = Stage::default();
    for &v in nodes {
        let cost = problem.costs.node(v, DeviceKind::Accelerator(0)).unwrap_or_default();
        *(if problem.backward[v] { &mut stage.backward } else { &mut stage.forward }) += cost.compute;
        stage.parameter_bytes += problem.parameter_bytes[v];
        stage.memory += cost.memory;
    }
    stage
}

fn nets(instance: &Instance, problem: &Problem, unit_of: &[usize]) -> Result<Vec<UnitNet>, Problems> {
    let mut problems = Problems::default();
    if !problem.costs.has_additive_memory() {
        let cure = "ask for the memory model `additive`";
        problems.add("memory", "that of a stage is more than its nodes' together", cure);
    }
    let mut nets = Vec::new();
    for transfer in &problem.costs.transfers {
        let source = unit_of[transfer.source];
        let consumers = transfer.consumers.iter().map(|&v| unit_of[v]);
        match transfer.bytes {
            Some(bytes) => nets.extend(UnitNet::new(source, consumers, bytes)),
            None if consumers.clone().all(|unit| unit == source) => {}
            None => {
                let cure = "state its `output_bytes`, or the platform's `bandwidth`";
                let place = node_place(&instance.nodes[transfer.source]);
                problems.add(place, "its output goes to another unit and has no size", cure);
            }
        }
    }
    problems.into_result()?;
    Ok(nets)
}
