//! The costs of profiled instances, put together by the verifier itself.

use std::collections::{BTreeMap, BTreeSet};

use dagsplit_model::cost::{Costs, KindCost, MemoryLaw, NodeCost, Piece, Synchronisation, Transfer};
use dagsplit_model::instance::Instance;
use dagsplit_model::problem::{CostKind, DeviceKind, MemoryModel, ProblemSpec};

/// What a valid instance costs for a valid spec.
pub(super) fn costs(instance: &Instance, spec: &ProblemSpec) -> Costs {
    let transfers = transfers(instance, spec);
    let memory: Vec<f64> = match spec.memory {
        MemoryModel::Additive => instance.nodes.iter().map(|node| node.memory).collect(),
        MemoryModel::Recomputation { microbatches } => {
            peaks(instance).into_iter().map(|bytes| bytes / microbatches as f64).collect()
        }
    };
    let classes = (0..spec.platform.accelerators.len()).map(DeviceKind::Accelerator);
    let kinds = classes.chain([DeviceKind::Cpu]).map(|kind| kind_cost(instance, spec, kind, &memory, &transfers));
    let law = match spec.memory {
        MemoryModel::Additive => MemoryLaw::default(),
        MemoryModel::Recomputation { microbatches } => {
            let bytes = instance.nodes.iter().map(|node| node.output_bytes.unwrap_or(0.0) / microbatches as f64);
            MemoryLaw::shared(bytes.collect())
        }
    };
    let synchronisation = match spec.cost {
        CostKind::Additive => Synchronisation::Added,
        CostKind::Overlap | CostKind::Duplex => Synchronisation::Overlapped,
    };
    Costs::new(kinds.collect(), transfers, law, synchronisation)
}

/// What one kind of device takes.
fn kind_cost(
    instance: &Instance,
    spec: &ProblemSpec,
    kind: DeviceKind,
    memory: &[f64],
    transfers: &[Transfer],
) -> KindCost {
    let piece = |compute, comm_in, comm_out| Piece { compute, comm_in, comm_out };
    let DeviceKind::Accelerator(class) = kind else {
        let node = |time: Option<f64>| time.map(|compute| NodeCost::new(compute, 0.0));
        let nodes = instance.nodes.iter().map(|v| node(v.cpu_time)).collect();
        return KindCost::new(nodes, vec![0.0; transfers.len()], vec![piece(1.0, 0.0, 0.0)]);
    };
    let node = |(v, &memory): (usize, &f64)| {
        instance.nodes[v].accelerator_times[class].map(|compute| NodeCost::new(compute, memory))
    };
    let pieces = match (&spec.platform.accelerators[class].load, spec.cost) {
        (Some(stated), _) => stated.clone(),
        (None, CostKind::Additive) => vec![piece(1.0, 1.0, 1.0)],
        (None, CostKind::Overlap) => vec![piece(1.0, 0.0, 0.0), piece(0.0, 1.0, 1.0)],
        (None, CostKind::Duplex) => vec![piece(1.0, 0.0, 0.0), piece(0.0, 1.0, 0.0), piece(0.0, 0.0, 1.0)],
    };
    let times = transfers.iter().map(|transfer| instance.nodes[transfer.source].transfer_time);
    KindCost::new(memory.iter().enumerate().map(node).collect(), times.collect(), pieces)
}

/// One for each producer that has consumers.
fn transfers(instance: &Instance, spec: &ProblemSpec) -> Vec<Transfer> {
    let index: BTreeMap<u64, usize> = instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
    let mut consumers: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for edge in &instance.edges {
        consumers.entry(index[&edge.source]).or_default().insert(index[&edge.target]);
    }
    let between = spec.interconnect.map_or(1.0, |interconnect| interconnect.between_factor);
    let transfer = |(source, consumers): (usize, BTreeSet<usize>)| {
        // Only links of a topology ask for bytes, and no load of a split does.
        let mut transfer = Transfer::new(source, consumers.into_iter().collect());
        transfer.between = between;
        transfer
    };
    consumers.into_iter().map(transfer).collect()
}

/// The larger of the two passes' memory of each colour class, at its first node, and of nodes without one.
fn peaks(instance: &Instance) -> Vec<f64> {
    let mut bytes = vec![0.0; instance.nodes.len()];
    let mut of_class: BTreeMap<u64, (usize, [f64; 2])> = BTreeMap::new();
    for (v, node) in instance.nodes.iter().enumerate() {
        match node.color_class {
            Some(class) => of_class.entry(class).or_insert((v, [0.0; 2])).1[usize::from(node.backward)] += node.memory,
            None => bytes[v] = node.memory,
        }
    }
    for (first, [forward, backward]) in of_class.into_values() {
        bytes[first] = forward.max(backward);
    }
    bytes
}
