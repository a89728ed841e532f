//! From a case that breaks a law to a small one that breaks the same law.

use std::time::{Duration, Instant};

use super::partitioner::Case;
use super::trial::{Trial, Tried};
use super::{Breach, Law};
use crate::instance::{Edge, Instance, Node};

/// The most cases tried on the way to a small one.
const MAX_TRIALS: usize = 1000;

/// The longest search for a small one.
const MAX_TIME: Duration = Duration::from_secs(30);

/// The way to a small case.
pub(super) struct Shrinking<'a> {
    trial: Trial<'a>,
    law: Law,
    best: Case,
    detail: String,
    trials: usize,
    until: Instant,
}

impl<'a> Shrinking<'a> {
    /// Starts from `case`, which commits `breach`.
    pub fn new(trial: &Trial<'a>, case: Case, breach: Breach) -> Self {
        let Breach { law, detail } = breach;
        let trial = trial.with_laws([law]);
        Self { trial, law, best: case, detail, trials: 0, until: Instant::now() + MAX_TIME }
    }

    /// Takes away nodes, edges and devices, and lowers costs, as long as the law stays broken.
    pub fn smallest(mut self) -> (Case, Breach) {
        let mut has_improved = true;
        while has_improved && !self.is_over() {
            has_improved = false;
            for edit in edits(&self.best.instance) {
                let candidate = edit.applied(&self.best.instance);
                has_improved |= candidate != self.best.instance && self.takes(candidate);
            }
        }
        (self.best, Breach { law: self.law, detail: self.detail })
    }

    fn is_over(&self) -> bool {
        self.trials >= MAX_TRIALS || Instant::now() >= self.until
    }

    /// Whether `instance` breaks the law, too; then it is the best so far.
    fn takes(&mut self, instance: Instance) -> bool {
        if self.is_over() {
            return false;
        }
        self.trials += 1;
        let case = Case { costs: self.best.costs.clone(), ..Case::new(instance, &self.best.spec) };
        let Tried::Judged(judged) = self.trial.run(&case) else { return false };
        let Some(breach) = judged.breaches.into_iter().find(|breach| breach.law == self.law) else { return false };
        (self.best, self.detail) = (case, breach.detail);
        true
    }
}

/// A step to a simpler instance. Nodes are named by id, so that steps stay valid when others were taken.
enum Edit {
    Without(Vec<u64>),
    WithoutEdge(Edge),
    /// One accelerator of this class less.
    FewerAccelerators(usize),
    FewerCpus,
    UnlimitedMemory,
    OneClass,
    Node(u64, fn(&mut Node)),
}

/// Simplifications of one node.
const NODE_EDITS: &[fn(&mut Node)] = &[
    |node| node.backward = false,
    |node| node.color_class = None,
    |node| node.memory = 0.0,
    |node| node.transfer_time = 0.0,
    |node| node.parameter_bytes = 0.0,
    |node| node.output_bytes = node.output_bytes.map(|_| 0.0),
    |node| node.cpu_time = node.cpu_time.map(|_| 0.0),
    |node| node.accelerator_times.iter_mut().flatten().for_each(|time| *time = 0.0),
    |node| node.memory = half(node.memory),
    |node| node.transfer_time = half(node.transfer_time),
    |node| node.output_bytes = node.output_bytes.map(half),
    |node| node.cpu_time = node.cpu_time.map(half),
    |node| node.accelerator_times.iter_mut().flatten().for_each(|time| *time = half(*time)),
];

fn half(value: f64) -> f64 {
    (value / 2.0).floor()
}

/// Every step from `instance`, great ones first.
fn edits(instance: &Instance) -> Vec<Edit> {
    let ids: Vec<u64> = instance.nodes.iter().map(|node| node.id).collect();
    let mut edits = Vec::new();
    let mut size = ids.len() / 2;
    while size > 0 {
        edits.extend(ids.chunks(size).map(|chunk| Edit::Without(chunk.to_vec())));
        size /= 2;
    }
    edits.extend([Edit::OneClass, Edit::UnlimitedMemory, Edit::FewerCpus]);
    edits.extend((0..instance.platform.accelerators.len()).map(Edit::FewerAccelerators));
    edits.extend(instance.edges.iter().copied().map(Edit::WithoutEdge));
    edits.extend(NODE_EDITS.iter().flat_map(|&edit| ids.iter().map(move |&id| Edit::Node(id, edit))));
    edits
}

impl Edit {
    fn applied(&self, instance: &Instance) -> Instance {
        let mut instance = instance.clone();
        let platform = &mut instance.platform;
        match self {
            Edit::Without(ids) => {
                instance.nodes.retain(|node| !ids.contains(&node.id));
                instance.edges.retain(|edge| !ids.contains(&edge.source) && !ids.contains(&edge.target));
            }
            Edit::WithoutEdge(gone) => instance.edges.retain(|edge| edge != gone),
            Edit::FewerAccelerators(class) => {
                if let Some(class) = platform.accelerators.get_mut(*class) {
                    class.count = class.count.saturating_sub(1);
                }
            }
            Edit::FewerCpus => platform.cpus = platform.cpus.saturating_sub(1),
            Edit::UnlimitedMemory => platform.accelerators.iter_mut().for_each(|class| class.memory = None),
            Edit::OneClass => {
                platform.accelerators.truncate(1);
                instance.nodes.iter_mut().for_each(|node| node.accelerator_times.truncate(1));
            }
            Edit::Node(id, edit) => instance.nodes.iter_mut().filter(|node| node.id == *id).for_each(edit),
        }
        instance
    }
}
