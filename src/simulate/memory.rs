//! How many microbatches are in flight, and what they occupy.

use super::pipeline::Pass;
use super::timeline::{Simulation, Span};

/// What the devices of a simulation had to hold at most.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// For each stage the most microbatches between the start of their forward and the end of their backward pass, or
    /// of their gradients of the weights; in a pipeline without a backward pass, of their forward pass.
    pub in_flight: Vec<usize>,
    /// For each device the most bytes: what lasts, and the activations of the microbatches in flight.
    pub peak: Vec<f64>,
}

/// A time, from start to end.
type Interval = (f64, f64);

/// A stage occupies memory for a microbatch.
struct Holding {
    stage: usize,
    during: Interval,
    bytes: f64,
    /// How many microbatches it brings into flight: one, or none where it only adds to one.
    microbatches: usize,
}

impl Simulation {
    /// The memory that the devices needed. Where activations are recomputed a stage keeps the inputs of each microbatch
    /// in flight, and the whole of its activations while a pass runs, from a backward one on until the gradients of the
    /// weights are there. Where weights are stashed it keeps the parameters once for each microbatch in flight. Data on its way
    /// is not counted. O(t log t) for t spans.
    pub fn memory(&self) -> Memory {
        occupied(self, &holdings(self), |_, _, _| {})
    }

    /// For each device, by time, how many bytes it holds from then on: what lasts, and the activations of the microbatches in
    /// flight, as [`Self::memory`] counts them. Their most is the peak. O(t log t) for t spans.
    pub fn memory_over_time(&self) -> Vec<Vec<(f64, f64)>> {
        let (holdings, devices) = (holdings(self), self.pipeline.devices.len());
        let mut moments = vec![vec![(0.0, 0.0)]; devices];
        let Memory { in_flight, .. } =
            occupied(self, &holdings, |device: usize, time, held| moments[device].push((time, held)));
        let lasting = self.lasting(&in_flight);
        for (moments, lasting) in moments.iter_mut().zip(lasting) {
            moments.iter_mut().for_each(|(_, held)| *held += lasting);
        }
        moments
    }

    /// The bytes that each device holds all the time, where stages have at most so many microbatches in flight.
    fn lasting(&self, in_flight: &[usize]) -> Vec<f64> {
        let mut lasting: Vec<f64> = (0..self.pipeline.devices.len()).map(|device| self.fixed(device)).collect();
        for (stage, &in_flight) in self.pipeline.stages.iter().zip(in_flight) {
            let stashed = if self.stashes_weights { in_flight.saturating_sub(1) } else { 0 };
            lasting[stage.device] += stage.parameters * stashed as f64;
        }
        lasting
    }

    /// The bytes that a device holds whatever is in flight: those of all its stages, and what one of them works with.
    pub(super) fn fixed(&self, device: usize) -> f64 {
        let held = || self.pipeline.stages.iter().filter(move |stage| stage.device == device);
        held().map(|stage| stage.fixed).sum::<f64>() + held().map(|stage| stage.working).fold(0.0, f64::max)
    }

    /// The bytes that a stage keeps for each microbatch from its forward to its backward pass.
    pub(super) fn kept(&self, stage: usize) -> f64 {
        let stage = &self.pipeline.stages[stage];
        if self.options.recompute { stage.boundary } else { stage.activations }
    }
}

/// What happens at a moment, in this order: what ends makes room for what begins, and what takes no time comes on top
/// of all that lasts, one after another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Ends,
    Begins,
    Passes,
}

/// What the devices hold, which `hears` of every change: the device, when, and the bytes of activations from then on.
fn occupied(simulation: &Simulation, holdings: &[Holding], mut hears: impl FnMut(usize, f64, f64)) -> Memory {
    let changes = |holding: &Holding| match holding.during {
        (start, end) if start == end => vec![(start, Change::Passes)],
        (start, end) => vec![(start, Change::Begins), (end, Change::Ends)],
    };
    let mut events: Vec<(f64, Change, &Holding)> = (holdings.iter())
        .flat_map(|holding| changes(holding).into_iter().map(move |(time, change)| (time, change, holding)))
        .collect();
    events.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (stages, devices) = (&simulation.pipeline.stages, simulation.pipeline.devices.len());
    let (mut now, mut in_flight) = (vec![0; stages.len()], vec![0; stages.len()]);
    let (mut held, mut most) = (vec![0.0f64; devices], vec![0.0f64; devices]);
    for (time, change, &Holding { stage, bytes, microbatches, .. }) in events {
        let device = stages[stage].device;
        if change != Change::Ends {
            now[stage] += microbatches;
            in_flight[stage] = in_flight[stage].max(now[stage]);
            held[device] += bytes;
            most[device] = most[device].max(held[device]);
            hears(device, time, held[device]);
        }
        if change != Change::Begins {
            now[stage] -= microbatches;
            held[device] -= bytes;
            hears(device, time, held[device]);
        }
    }
    let lasting = simulation.lasting(&in_flight);
    Memory { in_flight, peak: most.iter().zip(lasting).map(|(held, lasting)| held + lasting).collect() }
}

/// When a stage works on a microbatch: from the first start to the last end of either pass, the gradients of the
/// weights with the backward one.
#[derive(Clone, Copy, Default)]
struct Passes {
    forward: Option<Interval>,
    backward: Option<Interval>,
}

/// The passes of each stage over each microbatch: those of one microbatch side by side.
fn passes(simulation: &Simulation) -> Vec<Passes> {
    let stages = simulation.pipeline.stages.len();
    let mut passes = vec![Passes::default(); stages * simulation.options.microbatches];
    for span in simulation.spans() {
        let (operation, Span { microbatch, start, end, .. }) = (simulation.operation(&span), span);
        let Some(microbatch) = microbatch else { continue };
        if operation.work.holds_activations() {
            let block = &simulation.pipeline.blocks[operation.block];
            let passes = &mut passes[microbatch * stages + block.stage];
            let pass = match block.pass {
                Pass::Forward => &mut passes.forward,
                Pass::Backward | Pass::WeightGradient => &mut passes.backward,
            };
            let (first, last) = pass.unwrap_or((start, end));
            *pass = Some((first.min(start), last.max(end)));
        }
    }
    passes
}

fn holdings(simulation: &Simulation) -> Vec<Holding> {
    let mut holdings = Vec::new();
    for (i, passes) in passes(simulation).into_iter().enumerate() {
        let stage = i % simulation.pipeline.stages.len();
        let kept = &simulation.pipeline.stages[stage];
        let mut add = |during, bytes, microbatches| holdings.push(Holding { stage, during, bytes, microbatches });
        match (passes.forward, passes.backward) {
            (Some(forward), Some(backward)) => {
                let each = simulation.kept(stage);
                let dropped = kept.activations - each;
                add((forward.0, backward.1), each, 1);
                if dropped > 0.0 {
                    add(forward, dropped, 0);
                    add(backward, dropped, 0);
                }
            }
            (Some(pass), None) | (None, Some(pass)) => add(pass, kept.activations, 1),
            (None, None) => {}
        }
    }
    holdings
}
