//! The record of a simulation: the JSON object that other programs rely on, and the table that people see.

use serde::Serialize;

use crate::problem::fits;
use crate::report::sheet::{Cell, Column, Sheet};
use crate::report::table::{self, listed};
use crate::search::gap;
use crate::simulate::{Simulation, Transfers};
use crate::units::{bytes, number, percent};

/// Version of [`SimulationRecord`]: it changes when a field changes its meaning or goes.
pub const SIMULATE_SCHEMA: &str = "dagsplit-simulate/1";

/// A simulated pipeline, in the time unit of its source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimulationRecord {
    /// [`SIMULATE_SCHEMA`].
    pub schema: &'static str,
    /// The name of the workload or of the stage graph.
    pub name: String,
    /// The name of the schedule.
    pub schedule: &'static str,
    /// `on-device`, `one-engine`, `two-engines`, `links` or `contended-links`.
    pub transfers: &'static str,
    /// Whether activations are computed once more for the backward pass.
    pub recompute: bool,
    /// How many pipelines run side by side.
    pub pipelines: usize,
    /// How many microbatches pass through each of them.
    pub microbatches: usize,
    /// When everything is done.
    pub makespan: f64,
    /// No schedule of the same work is shorter; see [`Simulation::lower_bound`].
    pub lower_bound: f64,
    /// (makespan − lower bound) / makespan; 0 where no schedule is shorter.
    pub gap: f64,
    /// Microbatches of all pipelines per time unit; none where they take no time.
    pub throughput: Option<f64>,
    /// The time that one more microbatch takes once the pipelines are full; see
    /// [`crate::simulate::steady_time`]. None where it was not measured.
    pub steady_time: Option<f64>,
    /// The share of the makespan in which devices with work are idle, on average.
    pub bubble: f64,
    /// The devices.
    pub devices: Vec<SimulatedDevice>,
    /// The stages, by rank.
    pub stages: Vec<SimulatedStage>,
}

/// What a device did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimulatedDevice {
    /// Its name.
    pub name: String,
    /// Time of its compute.
    pub compute: f64,
    /// Time of computing activations once more.
    pub recompute: f64,
    /// Time of its transfers, where it computes nothing meanwhile.
    pub transfers: f64,
    /// Time of its all-reduces, where it computes nothing meanwhile.
    pub all_reduces: f64,
    /// The rest of the makespan.
    pub idle: f64,
    /// The share of the makespan in which it computes, once or once more.
    pub utilisation: f64,
    /// The most bytes that it held: weights, and activations of the microbatches in flight.
    pub peak_memory: f64,
    /// The bytes that it has, where it sets a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<f64>,
}

/// What a stage held.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimulatedStage {
    /// Its name.
    pub name: String,
    /// Which of the pipelines it belongs to, from 0.
    pub replica: usize,
    /// The name of its device.
    pub device: String,
    /// The most microbatches between the start of their forward and the end of their backward pass.
    pub in_flight: usize,
}

impl SimulationRecord {
    /// The record of `simulation`, whose steady time is `steady_time`.
    pub fn new(simulation: &Simulation, steady_time: Option<f64>) -> Self {
        let (pipeline, makespan, memory) = (&simulation.pipeline, simulation.makespan(), simulation.memory());
        let lower_bound = simulation.lower_bound();
        let device = |(((name, work), &peak_memory), &memory_limit): (((&String, _), &f64), &Option<f64>)| {
            let crate::simulate::DeviceWork { compute, recompute, transfers, all_reduces } = work;
            SimulatedDevice {
                name: name.clone(),
                compute,
                recompute,
                transfers,
                all_reduces,
                idle: (makespan - work.busy()).max(0.0),
                utilisation: if makespan > 0.0 { (compute + recompute) / makespan } else { 0.0 },
                peak_memory,
                memory_limit,
            }
        };
        let mut by_rank: Vec<usize> = (0..pipeline.stages.len()).collect();
        by_rank.sort_by_key(|&stage| (pipeline.stages[stage].rank, pipeline.stages[stage].replica));
        let stage = |stage: usize| SimulatedStage {
            name: pipeline.stages[stage].name.clone(),
            replica: pipeline.stages[stage].replica,
            device: pipeline.devices[pipeline.stages[stage].device].clone(),
            in_flight: memory.in_flight[stage],
        };
        Self {
            schema: SIMULATE_SCHEMA,
            name: pipeline.name.clone(),
            schedule: simulation.schedule,
            transfers: match pipeline.transfers {
                Transfers::OnDevice => "on-device",
                Transfers::Engine => "one-engine",
                Transfers::TwoEngines => "two-engines",
                Transfers::Links { contended: false } => "links",
                Transfers::Links { contended: true } => "contended-links",
            },
            recompute: simulation.options.recompute,
            pipelines: pipeline.replicas,
            microbatches: simulation.options.microbatches,
            makespan,
            lower_bound,
            gap: gap(makespan, lower_bound).unwrap_or_default(),
            throughput: simulation.throughput(),
            steady_time,
            bubble: simulation.bubble(),
            devices: pipeline
                .devices
                .iter()
                .zip(simulation.work())
                .zip(&memory.peak)
                .zip(&pipeline.memory)
                .map(device)
                .collect(),
            stages: by_rank.into_iter().map(stage).collect(),
        }
    }

    /// A row for each device, then the figures of the whole.
    pub fn text(&self) -> String {
        let pipelines =
            if self.pipelines > 1 { format!(" in each of {} pipelines", self.pipelines) } else { String::new() };
        let none = || "–".to_owned();
        let facts = [
            ("schedule", format!("{}, {} microbatches{pipelines}", self.schedule, self.microbatches)),
            ("makespan", number(self.makespan)),
            (
                "lower bound",
                format!("{} of any schedule in this memory; gap {}", number(self.lower_bound), percent(self.gap)),
            ),
            (
                "throughput",
                self.throughput.map_or_else(none, |rate| format!("{} microbatches per time unit", number(rate))),
            ),
            (
                "steady time",
                self.steady_time
                    .map_or_else(none, |time| format!("{} per microbatch of a full pipeline", number(time))),
            ),
            ("bubble", percent(self.bubble)),
        ];
        table::sheet(&self.sheet()) + &listed(&facts)
    }

    fn sheet(&self) -> Sheet {
        let again = self.recompute;
        let mut columns = vec![Column::words("device"), Column::figures("compute")];
        columns.extend(again.then(|| Column::figures("recompute")));
        columns.extend(["transfers", "all-reduces", "idle", "utilisation", "peak memory"].map(Column::figures));
        let row = |device: &SimulatedDevice| {
            let mut row = vec![Cell::from(device.name.clone()), Cell::Number(device.compute)];
            row.extend(again.then_some(Cell::Number(device.recompute)));
            row.extend([device.transfers, device.all_reduces, device.idle].map(Cell::Number));
            row.extend([Cell::Ratio(device.utilisation), Cell::Bytes(device.peak_memory)]);
            row
        };
        let rows = self.devices.iter().map(row).collect();
        let too_small = self.devices.iter().filter(|device| !fits(device.peak_memory, device.memory_limit));
        let note = |device: &SimulatedDevice| {
            let limit = device.memory_limit.map_or_else(String::new, bytes);
            format!("{} needs more than its {limit} under this schedule", device.name)
        };
        Sheet { caption: String::new(), columns, rows, notes: too_small.map(note).collect() }
    }
}
