//! What is planned, and how.

use std::time::Duration;

use crate::mapping::Counted;
use crate::simulate::Links;
use crate::simulate::schedule::{GPipe, Schedule};

/// How many stages there are, and how many copies of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Factoring {
    /// S in the paper.
    pub stages: usize,
    /// R in the paper.
    pub replicas: usize,
}

impl Factoring {
    /// Every factoring that fills `devices`, by stages.
    pub fn all(devices: usize) -> Vec<Self> {
        let divisors = (1..=devices).filter(|stages| devices.is_multiple_of(*stages));
        divisors.map(|stages| Self { stages, replicas: devices / stages }).collect()
    }
}

/// How to plan. The defaults are those of the paper, with exact mapping in place of its own.
#[derive(Clone)]
pub struct PlanOptions {
    /// The factorings to look at; `None` takes all that fill the devices.
    pub factorings: Option<Vec<Factoring>>,
    /// The numbers of microbatches to look at; each at least 1.
    pub microbatches: Vec<usize>,
    /// The method that splits, as a spec string of [`crate::registry`].
    pub partitioner: String,
    /// The mappers, as spec strings of [`crate::registry`]; the best by simulation counts.
    pub mappers: Vec<String>,
    /// What the mappers count; the best by simulation counts.
    pub counted: Vec<Counted>,
    /// In which order devices work.
    pub schedule: &'static dyn Schedule,
    /// How messages are paid for.
    pub links: Links,
    /// Whether activations are computed once more instead of kept.
    pub recompute: bool,
    /// Bytes that a stage of the split may occupy; `None` sets no limit.
    pub memory: Option<f64>,
    /// The longest time of one mapper under one cost.
    pub mapping_time: Duration,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            factorings: None,
            microbatches: vec![4],
            partitioner: "cluster:k=48+dp+refine".into(),
            mappers: ["branch-and-bound", "consecutive", "p2p"].map(String::from).to_vec(),
            counted: vec![Counted::Both, Counted::Messages, Counted::AllReduce],
            schedule: &GPipe,
            links: Links::Blocking,
            recompute: true,
            memory: None,
            mapping_time: Duration::from_secs(10),
        }
    }
}
