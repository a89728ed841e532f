//! A folder with a workload in it, for tests of the command line.

use std::path::PathBuf;

/// A diamond whose last node a CPU can take: 7 is optimal.
pub const DIAMOND: &str = r#"{"maxSizePerFPGA": 10, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [
    {"id": 10, "supportedOnFpga": 1, "cpuLatency": 20, "fpgaLatency": 2, "isBackwardNode": 0, "size": 4},
    {"id": 11, "supportedOnFpga": 1, "cpuLatency": 20, "fpgaLatency": 3, "isBackwardNode": 0, "size": 4},
    {"id": 12, "supportedOnFpga": 1, "cpuLatency": 20, "fpgaLatency": 2, "isBackwardNode": 0, "size": 4},
    {"id": 13, "supportedOnFpga": 1, "cpuLatency": 5, "fpgaLatency": 4, "isBackwardNode": 0, "size": 4}],
    "edges": [{"sourceId": 10, "destId": 11, "cost": 1}, {"sourceId": 11, "destId": 12, "cost": 1},
              {"sourceId": 10, "destId": 13, "cost": 1}, {"sourceId": 12, "destId": 13, "cost": 1}]}"#;

/// A folder that holds `diamond.json`, until it is dropped.
pub struct Bench {
    pub directory: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let bench = Self { directory: tempfile::tempdir().unwrap() };
        bench.file("diamond.json", DIAMOND);
        bench
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn file(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }
}
