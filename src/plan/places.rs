//! What is where the stages of a pipeline are.

use super::candidate::MappedPipeline;
use super::question::Question;
use crate::mapping::MessageTime;
use crate::simulate::{AllReduce, Links};

/// The devices of the copies of each stage, in pipeline order.
pub struct Places {
    /// The speed of the slowest.
    pub speed: Vec<f64>,
    /// The least memory.
    pub memory: Vec<Option<f64>>,
    /// Microbatches whose activations are there.
    pub in_flight: Vec<usize>,
    /// Time of the all-reduce, for each byte of parameters.
    pub all_reduce: Vec<f64>,
    /// Time of a byte from one place to another, row by row.
    pub links: Vec<f64>,
}

impl Places {
    /// Those of `pipeline`. O(stages² · replicas), but for all-reduces that know hosts.
    pub fn of(question: &Question, pipeline: &MappedPipeline) -> Self {
        let (topology, replicas) = (&question.topology, question.shape.replicas);
        let count = pipeline.problem.stages.stages.len();
        let mapping = pipeline.devices();
        let devices: Vec<&[usize]> = mapping.devices.chunks_exact(replicas).collect();
        let of_devices = |stage: usize| devices[stage].iter().map(|&device| &topology.devices[device]);
        let link = |from: usize, to: usize| {
            let ends: Vec<(usize, usize)> = devices[from].iter().copied().zip(devices[to].iter().copied()).collect();
            let times = topology.at_once(&ends, 1.0);
            times.iter().map(|&MessageTime { transfer, .. }| transfer).fold(0.0, f64::max)
        };
        let all_reduces = || {
            // Latencies do not grow with the bytes.
            let topology = topology.clone().into_owned().with_latency(|_, _| 0.0);
            let ways = |stage: usize| question.all_reduce.ways(&topology, devices[stage], 1.0);
            (0..count).map(|stage| AllReduce { after: Vec::new(), ways: ways(stage) }.time(1)).collect()
        };
        let in_flight = |stage: usize| {
            let (behind, all) = ((count - stage) * replicas, count * replicas);
            question.memory.in_flight.count(replicas, behind, all, question.all_microbatches())
        };
        let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
        Self {
            speed: (0..count)
                .map(|stage| of_devices(stage).map(|device| device.speed).fold(f64::INFINITY, f64::min))
                .collect(),
            memory: (0..count)
                .map(|stage| of_devices(stage).filter_map(|device| device.memory).min_by(f64::total_cmp))
                .collect(),
            in_flight: (0..count).map(in_flight).collect(),
            all_reduce: if question.is_training() { all_reduces() } else { vec![0.0; count] },
            links: pairs
                .map(|(from, to)| if question.links == Links::Blocking { link(from, to) } else { 0.0 })
                .collect(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.speed.len()
    }

    /// Time of a byte from one place to another.
    pub fn per_byte(&self, from: usize, to: usize) -> f64 {
        self.links[from * self.len() + to]
    }
}
