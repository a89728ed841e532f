//! Partition and mapping decided together, exactly: what Parmesan (Liu et al. 2024, section VI) leaves out for its cost.
//!
//! Parmesan splits a network as if all devices were equally far from each other and places the stages afterwards. Here
//! the split into S successive ideals and the devices of every stage's R copies are chosen at once, so that the slowest
//! copy is as fast as possible. The difference is what the decoupling loses.
//!
//! # How
//! A *label* is the first stages of a pipeline with the devices of their copies. What lies behind it depends on it only
//! through the ideal reached, the devices used, and the stages that still have messages to come: which units of theirs
//! have them, which devices hold their copies, and how much time these have spent so far. Of two labels that agree in
//! all but the times, one that is nowhere faster is dropped. Labels are compared up to symmetries of the topology
//! (devices that can change places, nodes that can) and of the ring of replicas. They are extended in the order of a
//! lower bound: what the stages placed have spent and must still spend, and the best split of the rest if every link
//! were the fastest one. So messages that skip stages cost as many live stages, but no exactness.
//!
//! A beam search gives the first incumbent. Time and memory grow with the number of pairs of ideals, and exponentially
//! with the devices that differ: it is for graphs joined to some dozens of clusters and for up to some 16 devices.

mod canonical;
mod ideals;
mod label;
mod search;
mod symmetry;
mod units;

pub use units::{UnitGraph, UnitNet};

use super::{Mapping, MappingProblem, StageCost, Topology};
use crate::search::{Outcome, Run, SearchContext};

/// What is to be split and placed.
#[derive(Debug, Clone)]
pub struct JointProblem {
    /// The units that make the stages.
    pub units: UnitGraph,
    /// How many stages: S in the paper, each with at least one unit.
    pub stages: usize,
    /// How many copies of each stage: R in the paper; at least 1.
    pub replicas: usize,
    /// The devices; stages · replicas of them are used.
    pub topology: Topology,
    /// What a stage's time is.
    pub cost: StageCost,
}

/// Stages and the devices of their copies.
#[derive(Debug, Clone, PartialEq)]
pub struct JointPlan {
    /// The units of each stage, ascending, in pipeline order.
    pub stages: Vec<Vec<usize>>,
    /// The devices.
    pub mapping: Mapping,
    /// The time of the slowest copy.
    pub time: f64,
}

/// How a joint search ended; a bound is a time that no plan is below.
pub type JointOutcome = Outcome<JointPlan, f64>;

/// What a joint search found out.
pub type JointRun = Run<JointPlan, f64>;

/// Why a problem is not searched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JointError {
    /// There are too many ways to cut the graph in two.
    #[error("the graph has more than {0} ideals; join its nodes to fewer clusters first")]
    TooManyIdeals(usize),
    /// More devices than a label can tell apart.
    #[error("there are {0} devices, more than {max}", max = JointSearch::MAX_DEVICES)]
    TooManyDevices(usize),
    /// Nothing to split or to copy.
    #[error("there have to be at least one stage and one replica")]
    Nothing,
}

/// The exact search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JointSearch {
    /// Labels kept at each stage of the beam search that gives the first incumbent.
    pub beam: usize,
    /// The most labels to keep; the search then stops with its bound.
    pub max_labels: usize,
    /// The most ideals of the order of units.
    pub max_ideals: usize,
}

impl Default for JointSearch {
    fn default() -> Self {
        Self { beam: 100, max_labels: 2_000_000, max_ideals: 3_000 }
    }
}

impl JointSearch {
    /// The most devices that it takes.
    pub const MAX_DEVICES: usize = 64;

    /// Splits and places. It stops within the limits of `cx` with the best plan and bound it has; one thread, the same
    /// answer each time.
    ///
    /// # Errors
    /// [`JointError`] where the problem is too large to be looked at.
    pub fn solve(&self, problem: &JointProblem, cx: &SearchContext) -> Result<JointRun, JointError> {
        if problem.stages == 0 || problem.replicas == 0 {
            return Err(JointError::Nothing);
        }
        if problem.topology.len() > Self::MAX_DEVICES {
            return Err(JointError::TooManyDevices(problem.topology.len()));
        }
        search::LabelSearch::new(self, problem, cx)?.run()
    }
}

impl JointProblem {
    /// The second phase alone: the mapping problem of these stages.
    pub fn mapping_problem(&self, stages: &[Vec<usize>]) -> MappingProblem {
        MappingProblem {
            stages: self.units.stage_graph(stages),
            replicas: self.replicas,
            topology: self.topology.clone(),
            cost: self.cost.clone(),
        }
    }

    /// The same problem where the split is given: its search is an exact mapping.
    #[must_use]
    pub fn with_stages(&self, stages: &[Vec<usize>]) -> Self {
        Self { units: self.units.merged(stages), stages: stages.len(), ..self.clone() }
    }
}
