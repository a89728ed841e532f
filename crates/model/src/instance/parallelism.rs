//! What nodes cost at each degree of tensor parallelism, in each of their options (Piper, Tarnawski et al. 2021).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Instance, Node, Platform};

/// The unit of the times of a [`Parallelism`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum TimeUnit {
    /// Milliseconds.
    #[default]
    #[serde(rename = "ms")]
    Milliseconds,
    /// Seconds, as Piper's files have them.
    #[serde(rename = "s")]
    Seconds,
}

impl TimeUnit {
    /// Its symbol in files and tables.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }

    /// How many seconds it is.
    pub fn seconds(self) -> f64 {
        match self {
            Self::Milliseconds => 1e-3,
            Self::Seconds => 1.0,
        }
    }
}

/// One way to run a node on the devices of a tensor-parallel group.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeOption {
    /// Id of the node.
    pub node: u64,
    /// How many devices of a group share each of its operators; at least 1.
    pub tensor_degree: usize,
    /// The class of accelerators that it is for, by its index; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<usize>,
    /// What the option is called, such as `vanilla` or `recompute`.
    pub name: String,
    /// Time of both passes for one sample.
    pub time: f64,
    /// Bytes of parameters on each device, which replicas synchronise.
    #[serde(default)]
    pub parameter_bytes: f64,
    /// Bytes on each device for each microbatch in flight.
    #[serde(default)]
    pub memory_per_microbatch: f64,
    /// Bytes on each device however many microbatches are in flight: weights, gradients, optimizer state, but for what
    /// the next three state of them.
    #[serde(default)]
    pub memory: f64,
    /// Bytes of weights on each device, which replicas may share out among them; like the next two.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub weight_bytes: f64,
    /// Bytes of gradients.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gradient_bytes: f64,
    /// Bytes of the optimizer's state.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub optimizer_bytes: f64,
    /// Bytes on each device besides while the node runs, such as for what it computes again. The largest of a stage
    /// counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub working_bytes: f64,
    /// Bytes of keys and values on each device for each token of which they are kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_bytes_per_token: f64,
    /// By id of a predecessor: bytes that its devices exchange besides, where that edge enters the stage.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sync_in: BTreeMap<u64, f64>,
    /// By id of a successor: bytes that its devices exchange besides, where that edge leaves the stage.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sync_out: BTreeMap<u64, f64>,
}

/// Whether there is nothing to write.
pub(crate) fn is_zero(bytes: &f64) -> bool {
    *bytes == 0.0
}

/// How much an edge moves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeBytes {
    /// Id of the producer.
    pub source: u64,
    /// Id of the consumer.
    pub target: u64,
    /// Bytes for one sample, in one direction.
    pub bytes: f64,
}

/// The options of an instance's nodes, for splits whose stages have tensor and data degrees. Other questions do not
/// read it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parallelism {
    /// The unit of all its times, and of the objective.
    #[serde(default)]
    pub time: TimeUnit,
    /// Bytes that a device sends or receives in one time unit.
    pub bandwidth: f64,
    /// Every option of every node.
    pub options: Vec<NodeOption>,
    /// What each edge of the instance moves.
    pub edges: Vec<EdgeBytes>,
}

/// What the only option of a node is called where its file states none.
pub const PLAIN: &str = "plain";

impl Parallelism {
    /// What `instance` states, or what its nodes take on this platform.
    pub fn of<'a>(instance: &'a Instance, platform: &Platform) -> Cow<'a, Self> {
        match &instance.parallelism {
            Some(stated) => Cow::Borrowed(stated),
            None => Cow::Owned(Self::plain(instance, platform)),
        }
    }

    /// One option of tensor degree 1 for each node of either pass on each class of the platform's accelerators that can run it, as
    /// the node stands.
    ///
    /// Of its memory [`Node::lasting`] says what lies there once, and the rest is kept for each microbatch. Each edge moves its
    /// source's output, once in all. Without a bandwidth a byte takes a time unit.
    fn plain(instance: &Instance, platform: &Platform) -> Self {
        let classes = platform.accelerators.iter().enumerate().filter(|(_, class)| class.count > 0);
        let classes: Vec<usize> = classes.map(|(class, _)| class).collect();
        let bandwidth = platform.bandwidth.unwrap_or(1.0);
        let knows_parameters = instance.knows_parameters();
        let option = |node: &Node, class: usize| {
            let lasting = node.lasting(node.memory, knows_parameters);
            let weights = node.parameter_bytes.min(lasting);
            Some(NodeOption {
                node: node.id,
                tensor_degree: 1,
                class: (classes.len() > 1).then_some(class),
                name: PLAIN.into(),
                time: node.accelerator_times.get(class).copied().flatten()?,
                parameter_bytes: node.parameter_bytes,
                memory_per_microbatch: node.memory - lasting,
                memory: lasting - weights,
                weight_bytes: weights,
                ..NodeOption::default()
            })
        };
        // What an edge moves counts for both passes.
        let options = |node| classes.iter().filter_map(move |&class| option(node, class));
        let bytes: BTreeMap<u64, f64> =
            instance.nodes.iter().map(|node| (node.id, node.transfer_time * bandwidth / 2.0)).collect();
        let ends: BTreeSet<(u64, u64)> = instance.edges.iter().map(|edge| (edge.source, edge.target)).collect();
        let edge = |(source, target)| EdgeBytes { source, target, bytes: bytes.get(&source).copied().unwrap_or(0.0) };
        Self {
            time: TimeUnit::default(),
            bandwidth,
            options: instance.nodes.iter().flat_map(options).collect(),
            edges: ends.into_iter().map(edge).collect(),
        }
    }

    /// Multiplies what edges move, and what options exchange for them.
    pub fn scale_transfers(&mut self, factor: f64) {
        let exchanged = |option: &mut NodeOption| {
            option.sync_in.values_mut().chain(option.sync_out.values_mut()).for_each(|bytes| *bytes *= factor);
        };
        self.edges.iter_mut().for_each(|edge| edge.bytes *= factor);
        self.options.iter_mut().for_each(exchanged);
    }
}
