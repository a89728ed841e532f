//! The cost model of a profiled instance: its node costs under one of the published load shapes.

use rustc_hash::FxHashMap;

use super::{CostModel, Costs, KindCost, MemoryLaw, NodeCost, Piece, StageCosts, Synchronisation, Transfer};
use crate::graph::NodeId;
use crate::instance::{Instance, Node};
use crate::spec::{CostKind, MemoryModel, ProblemSpec};

const OVERLAP: [Piece; 2] = [Piece::COMPUTE, Piece::new(0.0, 1.0, 1.0)];
const DUPLEX: [Piece; 3] = [Piece::COMPUTE, Piece::new(0.0, 1.0, 0.0), Piece::new(0.0, 0.0, 1.0)];

/// Times, memory and transfer times as an instance states them, under the load shape and the model of memory that are asked
/// for; a class that states its own linear pieces has those. A device pays once for each output that it sends or receives
/// (Tarnawski 2020, section 5.1.1). CPUs pay compute alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProfiledCost;

impl CostModel for ProfiledCost {
    fn costs(&self, instance: &Instance, spec: &ProblemSpec) -> Costs {
        let transfers = transfers(instance, spec);
        let kept = kept(instance, spec);
        let (bytes, boundary, memory) = memory(instance, spec, &kept);
        let times = |class: usize| move |v: &Node| v.accelerator_times[class];
        let accelerator = |class: usize| KindCost {
            nodes: nodes(instance.nodes.iter().map(times(class)), bytes.iter().copied()),
            transfers: transfers.iter().map(|transfer| instance.nodes[transfer.source].transfer_time).collect(),
            pieces: pieces(spec, class),
            boundary: boundary.clone(),
            kept: kept.clone(),
        };
        let cpu = KindCost {
            nodes: nodes(instance.nodes.iter().map(|v| v.cpu_time), std::iter::repeat(0.0)),
            transfers: vec![0.0; transfers.len()],
            pieces: vec![Piece::COMPUTE],
            boundary: Vec::new(),
            kept: Vec::new(),
        };
        let synchronisation = match spec.cost {
            CostKind::Additive => Synchronisation::Added,
            CostKind::Overlap | CostKind::Duplex => Synchronisation::Overlapped,
        };
        let kinds = (0..spec.platform.accelerators.len()).map(accelerator).chain([cpu]).collect();
        Costs { kinds, transfers, memory, synchronisation, stages: StageCosts::of(instance, spec) }
    }
}

/// The load of a class of accelerators.
fn pieces(spec: &ProblemSpec, class: usize) -> Vec<Piece> {
    let shape: &[Piece] = match spec.cost {
        CostKind::Additive => &[Piece::ADDITIVE],
        CostKind::Overlap => &OVERLAP,
        CostKind::Duplex => &DUPLEX,
    };
    spec.platform.accelerators[class].load.clone().unwrap_or_else(|| shape.to_vec())
}

fn nodes(times: impl Iterator<Item = Option<f64>>, bytes: impl Iterator<Item = f64>) -> Vec<Option<NodeCost>> {
    times.zip(bytes).map(|(time, memory)| time.map(|compute| NodeCost::new(compute, memory))).collect()
}

/// One transfer for each node that others wait for.
fn transfers(instance: &Instance, spec: &ProblemSpec) -> Vec<Transfer> {
    let index: FxHashMap<u64, NodeId> = instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
    let mut edges: Vec<(NodeId, NodeId)> =
        instance.edges.iter().map(|edge| (index[&edge.source], index[&edge.target])).collect();
    edges.sort_unstable();
    edges.dedup();
    let between = spec.interconnect.map_or(1.0, |interconnect| interconnect.between_factor);
    let of_source = edges.chunk_by(|a, b| a.0 == b.0);
    let transfer = |edges: &[(NodeId, NodeId)]| {
        let consumers = edges.iter().map(|&(_, target)| target).collect();
        let source = edges[0].0;
        Transfer { source, consumers, between, bytes: instance.nodes[source].output(instance.platform.bandwidth) }
    };
    of_source.map(transfer).collect()
}

/// The bytes of each node that are kept for each microbatch in flight; none where nobody asks.
fn kept(instance: &Instance, spec: &ProblemSpec) -> Vec<f64> {
    let is_asked = spec.chunks.is_some_and(|chunks| chunks.memory.is_some());
    let knows_parameters = instance.knows_parameters();
    let kept = |v: &Node| v.memory - v.lasting(v.memory, knows_parameters);
    instance.nodes.iter().filter(|_| is_asked).map(kept).collect()
}

/// The bytes of each node by itself, those kept for each edge from it that is cut, and how they add up.
fn memory(instance: &Instance, spec: &ProblemSpec, kept: &[f64]) -> (Vec<f64>, Vec<f64>, MemoryLaw) {
    match spec.memory {
        MemoryModel::Additive => {
            let bytes = match spec.chunks.and_then(|chunks| chunks.memory?.training) {
                None => instance.nodes.iter().map(|v| v.memory).collect(),
                Some(training) => {
                    let of_parameters = 1.0 + training.gradients() + training.optimizer_state();
                    instance.nodes.iter().zip(kept).map(|(v, kept)| kept + v.parameter_bytes * of_parameters).collect()
                }
            };
            (bytes, Vec::new(), MemoryLaw::default())
        }
        MemoryModel::Recomputation { microbatches } => {
            let share = 1.0 / microbatches as f64;
            let boundary = instance.nodes.iter().map(|v| v.output_bytes.unwrap_or(0.0) * share).collect();
            let own = peaks(instance).into_iter().map(|bytes| bytes * share).collect();
            (own, boundary, MemoryLaw::shared())
        }
    }
}

/// The larger of the bytes of the two passes of each colour class, at the first of its nodes; 0 at the others.
fn peaks(instance: &Instance) -> Vec<f64> {
    let mut first_of = FxHashMap::default();
    let mut passes = vec![[0.0; 2]; instance.nodes.len()];
    for (v, node) in instance.nodes.iter().enumerate() {
        let first = node.color_class.map_or(v, |class| *first_of.entry(class).or_insert(v));
        passes[first][usize::from(node.backward)] += node.memory;
    }
    passes.into_iter().map(|[forward, backward]| f64::max(forward, backward)).collect()
}
