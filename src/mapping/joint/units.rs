//! What is split: units, their order, and what they send.

use std::collections::BTreeMap;

use super::super::of_split::output_bytes;
use super::super::{Message, Stage, StageGraph};
use crate::graph::{CycleError, Graph};
use crate::instance::validate::node_place;
use crate::instance::{Instance, Problems};
use crate::preprocess::Reduced;
use crate::problem::Problem;

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
    /// The units of `problem`, and the instance's nodes of each. The nodes' times are those of the first accelerator
    /// class, 0 where it cannot run them. O(n log n + m log m).
    ///
    /// # Errors
    /// Nodes whose output goes to another unit and has no size; see [`StageGraph::of`].
    pub fn new(instance: &Instance, problem: &Problem) -> Result<(Self, Vec<Vec<u64>>), Problems> {
        let reduced = Reduced::contracted_only(problem);
        let mut unit_of = vec![0; problem.node_count()];
        for (unit, members) in reduced.members.iter().enumerate() {
            members.iter().for_each(|&v| unit_of[v] = unit);
        }
        let units = reduced.members.iter().enumerate().map(|(unit, members)| {
            let mut stage = Stage { name: format!("unit {unit}"), ..Stage::default() };
            for node in members.iter().map(|&v| &instance.nodes[v]) {
                let time = node.accelerator_times.first().copied().flatten().unwrap_or(0.0);
                *(if node.backward { &mut stage.backward } else { &mut stage.forward }) += time;
                stage.parameter_bytes += node.parameter_bytes;
                stage.memory += node.memory;
            }
            stage
        });
        let units = units.collect();
        let mut problems = Problems::default();
        let nets = (0..problem.node_count()).filter_map(|v| {
            let source = unit_of[v];
            let consumers = problem.graph.successors(v).iter().map(|&w| unit_of[w as usize]);
            let mut consumers: Vec<usize> = consumers.filter(|&unit| unit != source).collect();
            consumers.sort_unstable();
            consumers.dedup();
            if consumers.is_empty() {
                return None;
            }
            let node = &instance.nodes[v];
            let Some(bytes) = output_bytes(node, instance.platform.bandwidth) else {
                let cure = "state its `output_bytes`, or the platform's `bandwidth`";
                problems.add(node_place(node), "its output goes to another unit and has no size", cure);
                return None;
            };
            (bytes > 0.0).then_some(UnitNet { source, consumers, bytes })
        });
        let nets = nets.collect();
        problems.into_result()?;
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
        let units = stages.iter().enumerate().map(|(index, units)| {
            let mut stage = Stage { name: format!("stage {index}"), ..Stage::default() };
            for &unit in units {
                stage_of[unit] = index;
                let Stage { forward, backward, parameter_bytes, memory, .. } = self.units[unit];
                stage.forward += forward;
                stage.backward += backward;
                stage.parameter_bytes += parameter_bytes;
                stage.memory += memory;
            }
            stage
        });
        let units: Vec<Stage> = units.collect();
        let chain: Vec<(usize, usize)> = (1..units.len()).map(|index| (index - 1, index)).collect();
        let order = Graph::new(units.len(), &chain).unwrap_or_else(|CycleError(_)| unreachable!("a chain is acyclic"));
        let nets = self.nets.iter().filter_map(|net| {
            let source = stage_of[net.source];
            let mut consumers: Vec<usize> = net.consumers.iter().map(|&unit| stage_of[unit]).collect();
            consumers.retain(|&stage| stage != source);
            consumers.sort_unstable();
            consumers.dedup();
            (!consumers.is_empty()).then_some(UnitNet { source, consumers, bytes: net.bytes })
        });
        let nets = nets.collect();
        Self { units, order, nets }
    }
}
