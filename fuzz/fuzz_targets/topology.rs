//! No text makes the readers of topologies, stage graphs and mappings panic, and what they accept survives a round
//! trip.

#![no_main]

use dagsplit::mapping::formats::{
    TopologyOptions, parse_mapping, parse_stages, parse_topology, write_stages, write_topology,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let options = TopologyOptions::default();
    if let Ok(topology) = parse_topology(text, &options) {
        assert_eq!(parse_topology(&write_topology(&topology), &options).expect("what is written can be read"), topology);
    }
    if let Ok(stages) = parse_stages(text) {
        assert_eq!(parse_stages(&write_stages(&stages)).expect("what is written can be read"), stages);
    }
    let _ = parse_mapping(text);
});
