//! The costs of profiled instances, put together by the verifier itself.

use std::collections::{BTreeMap, BTreeSet};

use dagsplit_model::cost::{
    Costs, EdgeCost, KindCost, MemoryLaw, NodeCost, OptionCost, Piece, StageCosts, Synchronisation, Transfer,
};
use dagsplit_model::instance::{EdgeBytes, Instance, NodeOption, PLAIN, Parallelism};
use dagsplit_model::problem::{
    CostKind, Degrees, DeviceKind, MemoryModel, Optimizer, Precision, ProblemSpec, StageMemory, Training,
};

/// What a valid instance costs for a valid spec.
pub(super) fn costs(instance: &Instance, spec: &ProblemSpec) -> Costs {
    let transfers = transfers(instance, spec);
    let (memory, boundary, law): (Vec<f64>, Vec<f64>, MemoryLaw) = match spec.memory {
        MemoryModel::Additive => {
            let parts = parts_of_memory(instance, spec);
            (parts.into_iter().map(|(lasts, kept)| lasts + kept).collect(), Vec::new(), MemoryLaw::default())
        }
        MemoryModel::Recomputation { microbatches } => {
            let share = |bytes: f64| bytes / microbatches as f64;
            let outputs = instance.nodes.iter().map(|node| share(node.output_bytes.unwrap_or(0.0)));
            (peaks(instance).into_iter().map(share).collect(), outputs.collect(), MemoryLaw::shared())
        }
    };
    let classes = (0..spec.platform.accelerators.len()).map(DeviceKind::Accelerator);
    let kinds =
        classes.chain([DeviceKind::Cpu]).map(|kind| kind_cost(instance, spec, kind, (&memory, &boundary), &transfers));
    let synchronisation = match spec.cost {
        CostKind::Additive => Synchronisation::Added,
        CostKind::Overlap | CostKind::Duplex => Synchronisation::Overlapped,
    };
    let mut costs = Costs::new(kinds.collect(), transfers, law, synchronisation);
    costs.stages = spec.degrees.as_ref().map(|degrees| {
        let plain = instance.parallelism.is_none().then(|| plain(instance, spec));
        let stated = instance.parallelism.as_ref().or(plain.as_ref());
        stages(instance, spec, (degrees, stated.unwrap_or(&Parallelism::default())))
    });
    costs
}

/// What the options that are allowed cost, and the degrees that are.
fn stages(instance: &Instance, spec: &ProblemSpec, (degrees, stated): (&Degrees, &Parallelism)) -> StageCosts {
    let index: BTreeMap<u64, usize> = instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
    let edges =
        stated.edges.iter().map(|e| EdgeCost { source: index[&e.source], target: index[&e.target], bytes: e.bytes });
    let edges: Vec<EdgeCost> = edges.collect();
    let place_of: BTreeMap<(usize, usize), usize> = edges.iter().map(|e| (e.source, e.target)).zip(0..).collect();
    let mut options = vec![Vec::new(); instance.nodes.len()];
    let mut tensor = BTreeSet::new();
    for option in &stated.options {
        let lies_in_a_server = spec.interconnect.is_none_or(|i| i.server_size % option.tensor_degree == 0);
        let is_allowed = lies_in_a_server
            && degrees.tensor.as_ref().is_none_or(|allowed| allowed.contains(&option.tensor_degree))
            && degrees.options.as_ref().is_none_or(|allowed| allowed.contains(&option.name));
        if is_allowed {
            tensor.insert(option.tensor_degree);
            options[index[&option.node]].push(option_cost(option, degrees, &index, &place_of));
        }
    }
    let devices: usize = spec.platform.accelerators.iter().map(|class| class.count).sum();
    let is_degree = |d: &usize| {
        *d <= devices
            && degrees.microbatches % d == 0
            && degrees.data.as_ref().is_none_or(|allowed| allowed.contains(d))
    };
    let data = (1..=degrees.microbatches.min(devices)).filter(is_degree).collect();
    let tensor = tensor.into_iter().collect();
    let mut costs = StageCosts::new(options, edges, stated.bandwidth, degrees.microbatches, (tensor, data));
    (costs.in_flight, costs.zero) = (degrees.memory.in_flight, degrees.memory.zero);
    costs
}

fn option_cost(
    option: &NodeOption,
    degrees: &Degrees,
    index: &BTreeMap<u64, usize>,
    place_of: &BTreeMap<(usize, usize), usize>,
) -> OptionCost {
    let v = index[&option.node];
    let mut cost = OptionCost::new(option.name.clone(), option.tensor_degree, option.time);
    cost.class = option.class;
    cost.memory_per_microbatch = option.memory_per_microbatch;
    cost.memory = option.memory;
    cost.parameters = option.parameter_bytes;
    (cost.weights, cost.gradients, cost.optimizer) =
        (option.weight_bytes, option.gradient_bytes, option.optimizer_bytes);
    if let Some(Training { optimizer, precision }) = degrees.memory.training {
        let weights = option.parameter_bytes;
        let numbers = weights / if precision == Precision::Fp32 { 4.0 } else { 2.0 };
        let copy = if precision == Precision::Fp32 { 0.0 } else { 4.0 };
        (cost.memory, cost.weights) = (0.0, weights);
        (cost.parameters, cost.gradients, cost.optimizer) = match optimizer {
            Optimizer::None => (0.0, 0.0, 0.0),
            Optimizer::Sgd => (weights, weights, numbers * copy),
            Optimizer::Momentum => (weights, weights, numbers * (copy + 4.0)),
            Optimizer::Adam => (weights, weights, numbers * (copy + 8.0)),
        };
    }
    cost.memory += degrees.memory.cache_tokens as f64 * option.cache_bytes_per_token;
    cost.working = option.working_bytes;
    cost.exchanged.extend(option.sync_in.iter().map(|(id, &bytes)| (place_of[&(index[id], v)], bytes)));
    cost.exchanged.extend(option.sync_out.iter().map(|(id, &bytes)| (place_of[&(v, index[id])], bytes)));
    cost
}

/// What the nodes of a file without options take: as they stand, and what those of the forward pass keep beyond their
/// parameters for each microbatch.
fn plain(instance: &Instance, spec: &ProblemSpec) -> Parallelism {
    let classes = &spec.platform.accelerators;
    let kinds = classes.iter().filter(|class| class.count > 0).count();
    let bandwidth = spec.platform.bandwidth.unwrap_or(1.0);
    let mut plain = Parallelism { bandwidth, ..Parallelism::default() };
    let knows_parameters = instance.nodes.iter().any(|node| node.parameter_bytes != 0.0);
    for node in &instance.nodes {
        let mut option = NodeOption { node: node.id, tensor_degree: 1, name: PLAIN.into(), ..NodeOption::default() };
        option.parameter_bytes = node.parameter_bytes;
        if knows_parameters {
            option.weight_bytes = node.memory.min(node.parameter_bytes);
        }
        // Gradients, and what an optimizer keeps, are those of one microbatch.
        let rest = node.memory - option.weight_bytes;
        let is_kept = knows_parameters && !node.backward;
        *(if is_kept { &mut option.memory_per_microbatch } else { &mut option.memory }) = rest;
        for (class, time) in node.accelerator_times.iter().enumerate().filter(|&(class, _)| classes[class].count > 0) {
            option.class = (kinds > 1).then_some(class);
            plain.options.extend(time.map(|time| NodeOption { time, ..option.clone() }));
        }
    }
    let times: BTreeMap<u64, f64> = instance.nodes.iter().map(|node| (node.id, node.transfer_time)).collect();
    let ends: BTreeSet<(u64, u64)> = instance.edges.iter().map(|edge| (edge.source, edge.target)).collect();
    for (source, target) in ends {
        plain.edges.push(EdgeBytes { source, target, bytes: times[&source] / 2.0 * bandwidth });
    }
    plain
}

/// What one kind of device takes.
fn kind_cost(
    instance: &Instance,
    spec: &ProblemSpec,
    kind: DeviceKind,
    (memory, boundary): (&[f64], &[f64]),
    transfers: &[Transfer],
) -> KindCost {
    let piece = |compute, comm_in, comm_out| Piece { compute, comm_in, comm_out };
    let DeviceKind::Accelerator(class) = kind else {
        let node = |time: Option<f64>| time.map(|compute| NodeCost::new(compute, 0.0));
        let nodes = instance.nodes.iter().map(|v| node(v.cpu_time)).collect();
        return KindCost::new(nodes, vec![0.0; transfers.len()], vec![piece(1.0, 0.0, 0.0)]);
    };
    let asks = spec.chunks.is_some_and(|chunks| chunks.memory.is_some());
    let kept = parts_of_memory(instance, spec).into_iter().filter(|_| asks).map(|(_, kept)| kept).collect();
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
    let cost = KindCost::new(memory.iter().enumerate().map(node).collect(), times.collect(), pieces);
    cost.keeping(boundary.to_vec()).in_flight(kept)
}

/// The bytes of each node that lie there once, and those that are kept for each microbatch in flight.
fn parts_of_memory(instance: &Instance, spec: &ProblemSpec) -> Vec<(f64, f64)> {
    let Some(memory) = spec.chunks.and_then(|chunks| chunks.memory) else {
        return instance.nodes.iter().map(|node| (node.memory, 0.0)).collect();
    };
    let asked = StageMemory { training: memory.training, ..StageMemory::default() };
    let degrees = Degrees { memory: asked, ..Degrees::any(1) };
    let index: BTreeMap<u64, usize> = instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
    let mut parts = vec![(0.0, 0.0); instance.nodes.len()];
    for option in &plain(instance, spec).options {
        let cost = option_cost(option, &degrees, &index, &BTreeMap::new());
        parts[index[&option.node]] =
            (cost.memory + cost.weights + cost.gradients + cost.optimizer, cost.memory_per_microbatch);
    }
    parts
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
