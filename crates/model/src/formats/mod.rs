//! Readers and writers of files: workloads and splits, topologies, stage graphs and mappings, one module per format.
//!
//! ```
//! use dagsplit::formats::{OutputFormat, ReadOptions, parse_instance, write_instance};
//!
//! let text = "node1 -- Conv2d -- forward_compute_time=2.0, backward_compute_time=4.0, activation_size=8.0, parameter_size=1.0
//! node2 -- Linear -- forward_compute_time=3.0, backward_compute_time=5.0, activation_size=8.0, parameter_size=1.0
//! \tnode1 -- node2";
//! let instance = parse_instance(text, &ReadOptions::default())?;
//! assert_eq!(instance.nodes[1].accelerator_times, [Some(3.0)]);
//! let native = write_instance(&instance, OutputFormat::Native)?;
//! assert_eq!(parse_instance(&native, &ReadOptions::default())?, instance);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
pub mod file;
pub mod json;
mod mapping;
mod split;
mod workload;

pub use error::{ReadCause, ReadError, WriteError};
pub use file::{MAX_FILE_BYTES, read_bytes, read_text, write_atomically};
pub use mapping::{
    LinkBandwidths, MAPPING_SCHEMA, STAGES_SCHEMA, TOPOLOGY_SCHEMA, TopologyFormat, TopologyOptions, is_stage_file,
    is_topology_file, parse_mapping, parse_stages, parse_topology, read_mapping, read_stages, read_topology,
    topology_format, write_mapping, write_stages, write_topology,
};
pub use split::{parse_split, read_split, read_split_of, write_split};
pub use workload::{
    Format, OutputFormat, Pass, PipeDreamOptions, PiperOptions, ReadOptions, SCHEMA, Units, content_hash, metis,
    parse_instance, read_instance, scotch, undirected, write_instance,
};
