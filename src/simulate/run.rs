//! From a pipeline and a schedule to a [`Simulation`].

use super::engine::Deadlock;
use super::pipeline::Pipeline;
use super::rounds::Rounds;
use super::schedule::{Schedule, Setting, Synchronise, Unsuitable};
use super::tasks::Tasks;
use super::template::{Scope, Template, Work};
use super::timeline::Simulation;
use crate::graph::CycleError;

/// What is simulated of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How many microbatches pass through each pipeline; at least 1.
    pub microbatches: usize,
    /// Whether activations are not kept but computed once more before the backward pass of a stage. That may begin
    /// before the gradients come (Huang et al. 2019, section 2.3).
    pub recompute: bool,
}

/// A pipeline cannot be simulated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimulateError {
    /// There is nothing to simulate.
    #[error("no microbatch is to be simulated")]
    NoMicrobatch,
    /// There are more tasks than can be numbered.
    #[error("{microbatches} microbatches of {operations} operations each are too many")]
    TooManyTasks {
        /// How many microbatches there are.
        microbatches: usize,
        /// What is done for each.
        operations: usize,
    },
    /// The schedule is not made for such a pipeline.
    #[error(transparent)]
    Unsuitable(#[from] Unsuitable),
    /// The blocks of the pipeline wait for each other.
    #[error("the stages wait for each other: {0}")]
    Cycle(#[from] CycleError),
    /// The schedule's orders and the pipeline's flows contradict each other.
    #[error("the schedule does not fit the pipeline: {0}")]
    Deadlock(#[from] Deadlock),
}

/// Runs `pipeline` under `schedule`: everything starts as early as the schedule's order allows. O(t log t) for t tasks,
/// the operations of a microbatch times the microbatches.
///
/// # Errors
/// [`SimulateError`] where the schedule cannot run the pipeline.
pub fn simulate(pipeline: &Pipeline, schedule: &dyn Schedule, options: Options) -> Result<Simulation, SimulateError> {
    let microbatches = options.microbatches;
    let scope = Scope {
        backward: schedule.has_backward(),
        recompute: options.recompute,
        all_reduce: schedule.synchronise() == Synchronise::EachMicrobatch,
    };
    let template = Template::new(pipeline, scope);
    check_size(template.operations.len(), microbatches)?;
    let rounds = Rounds::new(&template, microbatches)?;
    let computes = computes(&template, pipeline.blocks.len());
    let order = schedule.order(&Setting { pipeline, microbatches, rounds: &rounds, computes: &computes })?;
    let mut tasks = Tasks::new(template, microbatches);
    tasks.put_in_order(&order, &rounds);
    if schedule.synchronise() == Synchronise::AtTheEnd {
        tasks.add_all_reduces(pipeline, &computes);
    }
    let (graph, template, repeated) = tasks.finish();
    let starts = graph.run()?;
    Ok(Simulation::new(pipeline, schedule, options, (template, repeated), starts))
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
    let twice = Options { microbatches: 2 * options.microbatches, ..options };
    let growth = simulate(pipeline, schedule, twice)?.makespan() - simulate(pipeline, schedule, options)?.makespan();
    Ok(growth / options.microbatches as f64)
}

fn check_size(operations: usize, microbatches: usize) -> Result<(), SimulateError> {
    if microbatches == 0 {
        return Err(SimulateError::NoMicrobatch);
    }
    match operations.checked_mul(microbatches) {
        // Tasks and what they wait for are numbered in 32 bits.
        Some(tasks) if tasks <= u32::MAX as usize / 8 => Ok(()),
        _ => Err(SimulateError::TooManyTasks { microbatches, operations }),
    }
}

/// The operation that computes each block.
fn computes(template: &Template, blocks: usize) -> Vec<Option<usize>> {
    let mut computes = vec![None; blocks];
    for (i, operation) in template.operations.iter().enumerate().filter(|(_, o)| o.work == Work::Compute) {
        computes[operation.block] = Some(i);
    }
    computes
}
