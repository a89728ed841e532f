//! Splits whose stages have a tensor and a data degree, and whose nodes have options.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::stage_memory::validate_count;
use super::{CostKind, InFlight, MemoryModel, Objective, ProblemSpec, StageMemory};
use crate::instance::{Instance, NodeOption, Parallelism, Problems};

/// What may be chosen where stages have degrees (Piper, Tarnawski et al. 2021, section 3).
///
/// A stage is a set S of nodes with a tensor degree t and a data degree d, which divides the number N of microbatches
/// in a batch, on t · d devices. Each node runs in one option of degree t. Stages hold successive ideals. With B the
/// bandwidth of a device and c the bytes of an edge, a stage takes for each sample
///
/// > Σ time / d + 1/B · ( Σ over edges that enter or leave S: 2 · (c + sync) / d + Σ 4 · (d − 1) / d · parameters / N ),
///
/// where `sync` is what the option of the edge's end within S exchanges for it. The factor 4 is that of PipeDream's
/// planner. Each of its devices needs
///
/// > Σ ( memory per microbatch · y + lasting memory ) + the largest working memory of its nodes
///
/// bytes, for the y microbatches in flight ([`InFlight`]); of the lasting memory replicas share what
/// [`StageMemory`] says. All devices of a stage are of one class of accelerators, with options of their own where those state
/// a class; all stages together use Σ t · d devices of each class at most. For the throughput the largest time of a
/// stage is minimised, and Σ d is at most N.
///
/// For [`Objective::Step`] it is the time of a batch: with T what a stage takes for each sample, a replica takes d · T
/// for a microbatch, its part of the synchronisation among it, and a batch Σ d · T + max (N / d − 1) · d · T. Devices may then hold
/// several stages ([`Chunks`](super::Chunks)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Degrees {
    /// Microbatches in a batch, N; at least 1.
    pub microbatches: usize,
    /// The tensor degrees that a stage may have; `None` allows those of the options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor: Option<Vec<usize>>,
    /// The data degrees that a stage may have; `None` allows all. Those that do not divide N do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Vec<usize>>,
    /// The options that nodes may run in, by name; `None` allows all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    /// What stages keep.
    #[serde(default)]
    pub memory: StageMemory,
}

impl Degrees {
    /// Whatever the options and the devices allow, with `microbatches` in a batch.
    pub fn any(microbatches: usize) -> Self {
        Self { microbatches, tensor: None, data: None, options: None, memory: StageMemory::default() }
    }

    /// Whether a stage may have this tensor degree.
    pub fn allows_tensor(&self, degree: usize) -> bool {
        self.tensor.as_ref().is_none_or(|allowed| allowed.contains(&degree))
    }

    /// Whether a stage may have this data degree.
    pub fn allows_data(&self, degree: usize) -> bool {
        self.microbatches.is_multiple_of(degree) && self.data.as_ref().is_none_or(|allowed| allowed.contains(&degree))
    }

    /// The tensor and the data degree that all devices have that hold several stages; 1 where that is left open.
    pub fn one_of_each(&self) -> [usize; 2] {
        let first = |list: &Option<Vec<usize>>| list.as_ref().and_then(|list| list.first()).map_or(1, |&d| d.max(1));
        [first(&self.tensor), first(&self.data)]
    }

    /// Whether a node may run in an option of this name.
    pub fn allows_option(&self, name: &str) -> bool {
        self.options.as_ref().is_none_or(|allowed| allowed.iter().any(|option| option == name))
    }

    /// Adds what keeps `instance` from being asked this, and what else is asked for that does not go with it, to
    /// `found`.
    pub(super) fn validate(&self, instance: &Instance, spec: &ProblemSpec, found: &mut Problems) {
        let parallelism = Parallelism::of(instance, &spec.platform);
        self.validate_choice(&parallelism, found);
        self.validate_servers(&parallelism, spec, found);
        if self.microbatches == 0 {
            found.add("microbatches", "a batch has none", "ask for at least one microbatch");
        }
        let kinds = spec.platform.accelerators.iter().filter(|class| class.count > 0).count();
        let is_other_load =
            spec.cost != CostKind::Additive || spec.platform.accelerators.iter().any(|c| c.load.is_some());
        let has_replicas = self.data.as_ref().is_none_or(|degrees| degrees.iter().any(|&degree| degree > 1));
        if instance.parallelism.is_none() && spec.platform.bandwidth.is_none() && has_replicas {
            let cause = "the file states neither options of nodes nor a bandwidth, at which replicas synchronise";
            found.add("data degrees", cause, "ask for the data degree 1 alone, or state `platform.bandwidth`");
        }
        let is_known = match spec.objective {
            Objective::Throughput => true,
            Objective::Step { microbatches } => microbatches == self.microbatches,
            _ => false,
        };
        let has_slow_links = spec.interconnect.is_some_and(|servers| servers.between_factor != 1.0);
        let wrong = [
            (kinds == 0 || spec.platform.cpus > 0, "devices", "ask for accelerators, and for no CPU"),
            (!is_known, "objective", "ask for the throughput, or for a step of as many microbatches"),
            (is_other_load, "cost", "ask for the additive cost, which their definition is made of"),
            (spec.replication.is_some(), "replicas", "narrow the data degrees in place of replicas"),
            (has_slow_links, "interconnect", "ask for servers without a factor between them"),
            (spec.memory != MemoryModel::Additive, "memory model", "leave it out: options say what they keep"),
        ];
        self.validate_memory(&parallelism, spec.objective, found);
        for (_, place, cure) in wrong.into_iter().filter(|&(is_wrong, ..)| is_wrong) {
            found.add(place, "it does not go with degrees of stages, which the microbatches ask for", cure);
        }
    }

    /// Groups of devices fill servers whatever their numbers where the size of each divides that of the next.
    fn validate_servers(&self, parallelism: &Parallelism, spec: &ProblemSpec, found: &mut Problems) {
        let Some(servers) = spec.interconnect else { return };
        let size = servers.server_size;
        for &degree in self.tensor.iter().flatten().filter(|&&degree| degree > 0 && !spec.has_servers_for(degree)) {
            let cause = format!("{degree} does not divide servers of {size} accelerators");
            found.add("tensor degrees", cause, "allow divisors alone, or ask for servers of another size");
        }
        if !parallelism.options.iter().any(|o| o.tensor_degree > 0 && spec.has_servers_for(o.tensor_degree)) {
            let cause = format!("no node has an option of a degree that divides servers of {size} accelerators");
            found.add("tensor degrees", cause, "ask for servers of another size");
        }
        let classes = spec.platform.accelerators.iter().enumerate().filter(|(_, class)| class.count > 0);
        for (class, _) in classes {
            let is_allowed = |o: &&NodeOption| {
                o.class.is_none_or(|own| own == class)
                    && self.allows_tensor(o.tensor_degree)
                    && self.allows_option(&o.name)
            };
            let degrees = parallelism.options.iter().filter(is_allowed).map(|option| option.tensor_degree);
            let allowed: BTreeSet<usize> =
                degrees.filter(|&degree| degree > 0 && spec.has_servers_for(degree)).collect();
            for (a, b) in allowed.iter().zip(allowed.iter().skip(1)).filter(|(a, b)| !b.is_multiple_of(**a)) {
                let cause = format!("groups of {a} and of {b} devices need not fill servers of {size}");
                found.add("tensor degrees", cause, "allow degrees of which each divides the next");
            }
        }
    }

    fn validate_memory(&self, parallelism: &Parallelism, objective: Objective, found: &mut Problems) {
        let StageMemory { in_flight, training, zero, .. } = self.memory;
        if let InFlight::Constant(count) = in_flight {
            validate_count(count, found);
        }
        if in_flight == InFlight::Asynchronous && objective.microbatches().is_some() {
            let cause = "asynchronous training never empties the pipeline, as a step does";
            found.add("in flight", cause, "ask for the throughput, or for another schedule");
        }
        if zero > 3 {
            found.add("ZeRO", format!("there is no stage {zero}"), "ask for one from 0 to 3");
        }
        if training.is_some() && !parallelism.options.iter().any(|o| o.parameter_bytes > 0.0) {
            let cause = "no option states parameters, from which weights, gradients and optimizer state follow";
            found.add("training", cause, "leave optimizer and precision out, or state `parameter_bytes`");
        }
        let is_shared = |o: &NodeOption| {
            [o.optimizer_bytes, o.gradient_bytes, o.weight_bytes].iter().take(zero).any(|&bytes| bytes > 0.0)
        };
        if zero > 0 && training.is_none() && !parallelism.options.iter().any(is_shared) {
            let cause = format!("no option says what of its memory is shared out at stage {zero}");
            found.add("ZeRO", cause, "name the optimizer and the precision, from which that follows");
        }
    }

    fn validate_choice(&self, parallelism: &Parallelism, found: &mut Problems) {
        let listed = |degrees: &Option<Vec<usize>>| degrees.as_ref().is_some_and(Vec::is_empty);
        if listed(&self.tensor) || listed(&self.data) {
            found.add("degrees", "none is allowed", "allow at least one, or all");
        }
        let has_degree = |degree: usize| parallelism.options.iter().any(|option| option.tensor_degree == degree);
        for degree in self.tensor.iter().flatten().filter(|&&degree| !has_degree(degree)) {
            found.add("tensor degrees", format!("no node has an option of degree {degree}"), "ask for others");
        }
        for degree in
            self.data.iter().flatten().filter(|&&degree| degree == 0 || !self.microbatches.is_multiple_of(degree))
        {
            let cause = format!("{degree} does not divide the {} microbatches", self.microbatches);
            found.add("data degrees", cause, "ask for divisors alone");
        }
        let has_name = |name: &String| parallelism.options.iter().any(|option| option.name == *name);
        for name in self.options.iter().flatten().filter(|name| !has_name(name)) {
            found.add("options", format!("no node has the option {name:?}"), "ask for names that the file has");
        }
    }
}
