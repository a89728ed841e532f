//! What stages with tensor and data degrees cost, as data.

use rustc_hash::FxHashMap;

use crate::graph::NodeId;
use crate::instance::{EdgeBytes, Instance, NodeOption, Parallelism, Problems};
use crate::spec::{Degrees, InFlight, ProblemSpec, StageMemory};

/// One way to run a node, at one tensor degree.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OptionCost {
    /// What it is called.
    pub name: String,
    /// How many devices share the node's operators.
    pub tensor_degree: usize,
    /// The class of accelerators that it is for, by its index; `None` for all.
    pub class: Option<usize>,
    /// Time for one sample.
    pub compute: f64,
    /// Bytes of parameters on each device, which replicas synchronise.
    pub parameters: f64,
    /// Bytes on each device for each microbatch in flight.
    pub memory_per_microbatch: f64,
    /// Bytes on each device besides, but for the next three, of which each replica needs all.
    pub memory: f64,
    /// Bytes of weights, which replicas share out from ZeRO's stage 3 on.
    pub weights: f64,
    /// Bytes of gradients, from stage 2 on.
    pub gradients: f64,
    /// Bytes of the optimizer's state, from stage 1 on.
    pub optimizer: f64,
    /// Bytes on each device while the node runs, of which the largest of a stage counts.
    pub working: f64,
    /// Bytes that it exchanges for each of [`StageCosts::edges`] that crosses the boundary of its stage, by the edge's
    /// index, ascending; edges that are not listed need nothing.
    pub exchanged: Vec<(usize, f64)>,
}

/// An edge and what it moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EdgeCost {
    /// The producer.
    pub source: NodeId,
    /// The consumer.
    pub target: NodeId,
    /// Bytes for one sample, in one direction.
    pub bytes: f64,
}

/// What [`Degrees`] are chosen by: the options that are allowed, and the degrees.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StageCosts {
    /// The options of each node.
    pub options: Vec<Vec<OptionCost>>,
    /// Every edge once, by source and target.
    pub edges: Vec<EdgeCost>,
    /// Bytes that a device moves in one time unit.
    pub bandwidth: f64,
    /// Microbatches in a batch.
    pub microbatches: usize,
    /// The tensor degrees of some option, ascending.
    pub tensor_degrees: Vec<usize>,
    /// The data degrees that a stage may have on so many devices, ascending.
    pub data_degrees: Vec<usize>,
    /// How many microbatches are in flight.
    pub in_flight: InFlight,
    /// The stage of ZeRO.
    pub zero: usize,
}

impl StageCosts {
    /// What the options of `instance` cost, or its nodes where it states none, if `spec` asks for degrees of its
    /// stages. Both are valid. O(options + edges + √microbatches).
    pub fn of(instance: &Instance, spec: &ProblemSpec) -> Option<Self> {
        let degrees = spec.degrees.as_ref()?;
        let parallelism = Parallelism::of(instance, &spec.platform);
        let index: FxHashMap<u64, NodeId> = instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
        let edge = |e: &EdgeBytes| EdgeCost { source: index[&e.source], target: index[&e.target], bytes: e.bytes };
        let mut edges: Vec<EdgeCost> = parallelism.edges.iter().map(edge).collect();
        edges.sort_by_key(|e| (e.source, e.target));
        let mut options = vec![Vec::new(); instance.nodes.len()];
        let allowed = |o: &&NodeOption| {
            let t = o.tensor_degree;
            degrees.allows_tensor(t) && spec.has_servers_for(t) && degrees.allows_option(&o.name)
        };
        for option in parallelism.options.iter().filter(allowed) {
            options[index[&option.node]].push(OptionCost::of(option, &index, &edges).keeping(option, degrees.memory));
        }
        let mut tensor_degrees: Vec<usize> =
            options.iter().flatten().map(|option: &OptionCost| option.tensor_degree).collect();
        tensor_degrees.sort_unstable();
        tensor_degrees.dedup();
        let devices = spec.platform.accelerators.iter().map(|class| class.count).sum();
        let most = degrees.microbatches.min(devices);
        let data_degrees = (1..=most).filter(|&d| degrees.allows_data(d)).collect();
        let (bandwidth, microbatches) = (parallelism.bandwidth, degrees.microbatches);
        let StageMemory { in_flight, zero, .. } = degrees.memory;
        Some(Self { options, edges, bandwidth, microbatches, tensor_degrees, data_degrees, in_flight, zero })
    }

    /// Costs of these options of each node, which move these bytes, on devices that may have these degrees, under 1F1B
    /// without ZeRO.
    pub fn new(
        options: Vec<Vec<OptionCost>>,
        edges: Vec<EdgeCost>,
        bandwidth: f64,
        microbatches: usize,
        (tensor_degrees, data_degrees): (Vec<usize>, Vec<usize>),
    ) -> Self {
        let in_flight = InFlight::default();
        Self { options, edges, bandwidth, microbatches, tensor_degrees, data_degrees, in_flight, zero: 0 }
    }

    /// What the options of a stage need memory for, by what multiplies it.
    pub fn bytes(&self, option: &OptionCost) -> StageBytes {
        let versions = if self.in_flight == InFlight::Asynchronous { option.parameters } else { 0.0 };
        let StageBytes { per_microbatch, fixed, shared } = self.bytes_of_one_version(option);
        StageBytes { per_microbatch: per_microbatch + versions, fixed: fixed - versions, shared }
    }

    /// The same with one version of the parameters, whatever is in flight.
    pub fn bytes_of_one_version(&self, option: &OptionCost) -> StageBytes {
        let parts = [option.weights, option.gradients, option.optimizer];
        let (whole, shared) = parts.split_at(3_usize.saturating_sub(self.zero));
        StageBytes {
            per_microbatch: option.memory_per_microbatch,
            fixed: option.memory + whole.iter().sum::<f64>(),
            shared: shared.iter().sum(),
        }
    }

    /// Adds what keeps it from being data of a graph of `n` nodes, of which this is asked, to `found`.
    pub(super) fn validate(&self, n: usize, asked: Option<&Degrees>, found: &mut Problems) {
        let is_amount = |amount: f64| amount.is_finite() && amount >= 0.0;
        let amounts = |o: &OptionCost| {
            let lasting = [o.memory, o.weights, o.gradients, o.optimizer, o.working];
            [o.compute, o.parameters, o.memory_per_microbatch].into_iter().chain(lasting)
        };
        let is_exchanged = |&(e, bytes): &(usize, f64)| e < self.edges.len() && is_amount(bytes);
        let exchanged =
            |o: &OptionCost| o.exchanged.iter().all(is_exchanged) && o.exchanged.is_sorted_by(|a, b| a.0 < b.0);
        let is_option = |o: &OptionCost| o.tensor_degree > 0 && amounts(o).all(is_amount) && exchanged(o);
        let is_edge = |e: &EdgeCost| e.source < n && e.target < n && is_amount(e.bytes);
        let is_degree = |&d: &usize| d > 0 && self.microbatches.is_multiple_of(d);
        let is_data = self.options.len() == n
            && self.options.iter().flatten().all(is_option)
            && self.edges.iter().all(is_edge)
            && self.data_degrees.iter().all(is_degree)
            && self.bandwidth.is_finite()
            && self.bandwidth > 0.0;
        if !is_data {
            let cause = "options, edges or degrees are not those of the graph, or amounts below 0 or not finite";
            found.add(
                "costs of stages",
                cause,
                "give options for each node, known edges, and divisors of the microbatches",
            );
        }
        let is_asked = |d: &Degrees| {
            (self.microbatches, self.in_flight, self.zero) == (d.microbatches, d.memory.in_flight, d.memory.zero)
        };
        if !asked.is_none_or(is_asked) {
            let cause = "their microbatches, those in flight or their stage of ZeRO are not what is asked for";
            found.add("costs of stages", cause, "take them from the degrees that are asked for");
        }
    }
}

/// Bytes on each device of a stage, but for its working memory.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StageBytes {
    /// For each microbatch in flight.
    pub per_microbatch: f64,
    /// Whatever the degrees.
    pub fixed: f64,
    /// Those that replicas share out.
    pub shared: f64,
}

impl StageBytes {
    /// All of them, of `replicas` with so many microbatches in flight.
    #[inline]
    pub fn of(&self, in_flight: usize, replicas: usize) -> f64 {
        self.per_microbatch * in_flight as f64 + self.fixed + self.shared / replicas as f64
    }

    /// Both together.
    #[inline]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            per_microbatch: self.per_microbatch + other.per_microbatch,
            fixed: self.fixed + other.fixed,
            shared: self.shared + other.shared,
        }
    }
}

impl OptionCost {
    /// An option of this name and tensor degree that takes this time and nothing else.
    pub fn new(name: String, tensor_degree: usize, compute: f64) -> Self {
        Self {
            name,
            tensor_degree,
            class: None,
            compute,
            parameters: 0.0,
            memory_per_microbatch: 0.0,
            memory: 0.0,
            weights: 0.0,
            gradients: 0.0,
            optimizer: 0.0,
            working: 0.0,
            exchanged: Vec::new(),
        }
    }

    /// Whether a stage of this tensor degree on accelerators of a class can run it.
    #[inline]
    pub fn is_of(&self, class: usize, tensor_degree: usize) -> bool {
        self.tensor_degree == tensor_degree && self.class.is_none_or(|own| own == class)
    }

    /// Bytes that it exchanges for an edge, by its index, where that crosses the boundary. O(log degree).
    #[inline]
    pub fn exchanged_for(&self, edge: usize) -> f64 {
        self.exchanged.binary_search_by_key(&edge, |&(e, _)| e).map_or(0.0, |i| self.exchanged[i].1)
    }

    fn of(option: &NodeOption, index: &FxHashMap<u64, NodeId>, edges: &[EdgeCost]) -> Self {
        let edge = |ends: (NodeId, NodeId)| edges.partition_point(|e| (e.source, e.target) < ends);
        let v = index[&option.node];
        let incoming = option.sync_in.iter().map(|(id, &bytes)| (edge((index[id], v)), bytes));
        let outgoing = option.sync_out.iter().map(|(id, &bytes)| (edge((v, index[id])), bytes));
        let mut exchanged: Vec<(usize, f64)> = incoming.chain(outgoing).collect();
        exchanged.sort_by_key(|&(edge, _)| edge);
        let class = option.class;
        Self { exchanged, class, ..Self::new(option.name.clone(), option.tensor_degree, option.time) }
    }

    /// The same with the memory that its option needs.
    fn keeping(self, option: &NodeOption, asked: StageMemory) -> Self {
        let stated = [option.weight_bytes, option.gradient_bytes, option.optimizer_bytes];
        let weights = option.parameter_bytes;
        let (memory, parts) = match asked.training {
            None => (option.memory, stated),
            Some(training) => (0.0, [weights, training.gradients() * weights, training.optimizer_state() * weights]),
        };
        let cache = option.cache_bytes_per_token * asked.cache_tokens as f64;
        let has_gradients = asked.training.is_none_or(|training| training.gradients() > 0.0);
        Self {
            parameters: if has_gradients { weights } else { 0.0 },
            memory_per_microbatch: option.memory_per_microbatch,
            memory: memory + cache,
            weights: parts[0],
            gradients: parts[1],
            optimizer: parts[2],
            working: option.working_bytes,
            ..self
        }
    }
}
