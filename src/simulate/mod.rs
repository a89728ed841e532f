//! Simulation of pipelines: schedules, bubbles, memory and timelines.
//!
//! ```text
//! split, or stages on a topology ──▶ Pipeline (blocks and flows of a microbatch)
//!   ──Schedule──▶ tasks in order ──engine──▶ Simulation ──▶ figures, Gantt chart, trace
//! ```
//!
//! A [`Pipeline`] says what one microbatch asks of the devices, a [`Schedule`] in which order each device works on
//! which microbatch, and [`simulate()`] starts everything as early as that allows. Nothing is drawn at random: equal
//! input gives equal times. `docs/simulate.md` says what each schedule assumes.
//!
//! ```
//! use dagsplit::mapping::{Counted, Device, Mapping, MappingProblem, Message, Stage, StageCost, StageGraph, Topology};
//! use dagsplit::simulate::{Links, Options, Pipeline, simulate};
//! use dagsplit::simulate::schedule::OneForwardOneBackward;
//!
//! let stage = |i| Stage { name: format!("stage {i}"), forward: 1.0, backward: 2.0, ..Stage::default() };
//! let problem = MappingProblem {
//!     stages: StageGraph {
//!         name: "four stages".into(),
//!         stages: (0..4).map(stage).collect(),
//!         messages: (0..3).map(|i| Message { source: i, target: i + 1, bytes: 0.0 }).collect(),
//!     },
//!     replicas: 1,
//!     topology: Topology::new("four devices", "made up", (0..4).map(|i| Device::new(format!("GPU {i}"))).collect(), |_, _| 1.0),
//!     cost: StageCost::additive(Counted::Both),
//! };
//! let pipeline = Pipeline::of_mapping(&problem, &Mapping { devices: vec![0, 1, 2, 3] }, Links::Blocking)?;
//! let simulation = simulate(&pipeline, &OneForwardOneBackward, Options { microbatches: 9, recompute: false })?;
//! // (p − 1) / (m + p − 1) of the time is a bubble.
//! assert_eq!(simulation.makespan(), 36.0);
//! assert!((simulation.bubble() - 3.0 / 12.0).abs() < 1e-12);
//! # Ok::<(), dagsplit::simulate::SimulateError>(())
//! ```

mod bound;
mod collective;
mod engine;
mod error;
mod memory;
mod options;
mod pipeline;
mod reduction;
mod rounds;
mod run;
pub mod schedule;
mod tasks;
mod template;
mod timeline;

pub use collective::{Collective, Phase};
pub use engine::{Deadlock, TaskGraph};
pub use error::{SimulateError, Unsuitable};
pub use memory::Memory;
pub use options::Options;
pub use pipeline::{
    AllReduce, Block, Communication, Flow, Links, Pass, Pipeline, Stage, Transfers, WEIGHT_GRADIENT, Way,
};
pub use run::{simulate, steady_time};
pub use schedule::Schedule;
pub use template::{Operation, Template, Track, TrackKind, Work};
pub use timeline::{DeviceWork, Simulation, Span};
