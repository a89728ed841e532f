//! What the benchmarks share: graphs by family and size, and measurements in processes of their own.

#![allow(dead_code, reason = "each benchmark uses some of these")]

pub mod chart;
pub mod family;
pub mod figures;
pub mod hard;
pub mod interconnects;
pub mod limits;
pub mod machine;
pub mod mapped;
pub mod measure;
pub mod pipelines;
pub mod published;
#[path = "../../tests/workloads/mod.rs"]
pub mod workloads;
