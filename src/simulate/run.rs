//! From a pipeline and a schedule to a [`Simulation`].

use super::error::SimulateError;
use super::options::Options;
use super::pipeline::Pipeline;
use super::reduction::Ending;
use super::rounds::Rounds;
use super::schedule::{Order, Schedule, Setting, Synchronise, Turn};
use super::tasks::Tasks;
use super::template::{Scope, Template, Work};
use super::timeline::Simulation;
use crate::graph::Graph;

/// Runs `pipeline` under `schedule`: everything starts as early as the schedule's order allows. O(t log t) for t tasks,
/// the operations of a microbatch times the microbatches.
///
/// # Errors
/// [`SimulateError`] where the schedule cannot run the pipeline.
pub fn simulate(pipeline: &Pipeline, schedule: &dyn Schedule, options: Options) -> Result<Simulation, SimulateError> {
    let microbatches = options.microbatches;
    let pipeline = match schedule.splits_backward() {
        true => pipeline.with_weight_gradients(),
        false => pipeline.clone(),
    };
    let scope = Scope {
        backward: schedule.has_backward(),
        recompute: options.recompute,
        all_reduce: schedule.synchronise() == Synchronise::EachMicrobatch,
    };
    let template = Template::new(&pipeline, scope);
    check_size(&template, microbatches)?;
    let waits = Graph::new(template.operations.len(), &template.dependencies)?;
    let rounds = Rounds::new(&template, &waits, microbatches);
    let computes = computes(&template, pipeline.blocks.len());
    let order = schedule.order(&Setting { pipeline: &pipeline, microbatches, rounds: &rounds, computes: &computes })?;
    let mut tasks = Tasks::new(template, microbatches);
    if let Order::Turns(devices) = &order {
        check_turns(&pipeline, &computes, microbatches, devices)?;
    }
    tasks.put_in_order(&order, &rounds);
    let (graph, mut template) = tasks.finish();
    let (mut starts, repeated) = (graph.run()?, template.operations.len());
    if schedule.synchronise() == Synchronise::AtTheEnd {
        Ending::of(&pipeline, &computes, &mut template, &mut starts).add_all_reduces();
    }
    Ok(Simulation::new(pipeline, schedule, options, (template, waits, repeated), starts))
}

/// The time that one more microbatch takes once the pipeline is full: by how much the makespan grows per microbatch
/// from `options.microbatches` to twice as many.
///
/// With microbatches enough it is the largest load of a device under [`super::schedule::VirtualDevices`] and
/// [`super::schedule::Asynchronous`], and the largest forward load plus the largest backward load under
/// [`super::schedule::GPipe`].
///
/// # Errors
/// [`SimulateError`] where the schedule cannot run the pipeline.
pub fn steady_time(pipeline: &Pipeline, schedule: &dyn Schedule, options: Options) -> Result<f64, SimulateError> {
    simulate(pipeline, schedule, options)?.steady_time(schedule)
}

impl Simulation {
    /// The time that one more microbatch takes once the pipeline is full: by how much the makespan grows per microbatch
    /// from as many as here to twice as many, under the same `schedule`; see [`super::steady_time`].
    ///
    /// # Errors
    /// [`SimulateError`] where the schedule cannot run twice as many.
    pub fn steady_time(&self, schedule: &dyn Schedule) -> Result<f64, SimulateError> {
        let microbatches = self.options.microbatches;
        let twice = Options { microbatches: microbatches.saturating_mul(2), ..self.options };
        let growth = simulate(&self.pipeline, schedule, twice)?.makespan() - self.makespan();
        Ok(growth / microbatches as f64)
    }
}

/// The most tasks, and what they wait for, of a simulation: a few gigabytes.
const MOST_TASKS: usize = 1 << 26;

fn check_size(template: &Template, microbatches: usize) -> Result<(), SimulateError> {
    if microbatches == 0 {
        return Err(SimulateError::NoMicrobatch);
    }
    let operations = template.operations.len();
    match (operations + template.dependencies.len()).checked_mul(microbatches) {
        Some(tasks) if tasks <= MOST_TASKS => Ok(()),
        _ => Err(SimulateError::TooManyTasks { microbatches, operations }),
    }
}

/// Checks that the turns of each device hold each of its blocks once for each microbatch.
fn check_turns(
    pipeline: &Pipeline,
    computes: &[Option<usize>],
    microbatches: usize,
    devices: &[Vec<Turn>],
) -> Result<(), SimulateError> {
    let mut seen = vec![false; computes.len() * microbatches];
    for (device, turns) in devices.iter().enumerate() {
        for &Turn { block, microbatch } in turns {
            let is_due = computes.get(block).is_some_and(Option::is_some)
                && microbatch < microbatches
                && pipeline.device_of(block) == device;
            if !is_due || std::mem::replace(&mut seen[block * microbatches + microbatch], true) {
                return Err(SimulateError::WrongOrder { block, microbatch, is_missing: false });
            }
        }
    }
    let due = (0..seen.len()).filter(|i| computes[i / microbatches].is_some());
    match due.into_iter().find(|&i| !seen[i]) {
        Some(i) => {
            let (block, microbatch) = (i / microbatches, i % microbatches);
            Err(SimulateError::WrongOrder { block, microbatch, is_missing: true })
        }
        None => Ok(()),
    }
}

/// The operation that computes each block.
pub(super) fn computes(template: &Template, blocks: usize) -> Vec<Option<usize>> {
    let mut computes = vec![None; blocks];
    for (i, operation) in template.operations.iter().enumerate().filter(|(_, o)| o.work == Work::Compute) {
        computes[operation.block] = Some(i);
    }
    computes
}
