//! The tasks of all microbatches: a template repeated, and the schedule's order as chains of dependencies.

use super::engine::TaskGraph;
use super::pipeline::Pipeline;
use super::rounds::Rounds;
use super::schedule::{Order, Turn};
use super::template::{Operation, Template, Work, all_reduce_track};

/// Tasks under construction. Operation o for microbatch k is task k · operations + o.
pub(super) struct Tasks {
    template: Template,
    /// How many operations each microbatch repeats; those behind them in the template run once, at the end.
    repeated: usize,
    microbatches: usize,
    dependencies: Vec<(usize, usize)>,
    /// The last task of each track in the schedule's order.
    last_of_track: Vec<Option<usize>>,
    /// The last task of each operation in the schedule's order.
    last_of_operation: Vec<Option<usize>>,
    /// Which tracks have an order.
    ordered: Vec<bool>,
}

impl Tasks {
    pub fn new(template: Template, microbatches: usize) -> Self {
        let repeated = template.operations.len();
        let each = (0..microbatches).map(|k| k * repeated);
        let dependencies =
            each.flat_map(|first| template.dependencies.iter().map(move |&(a, b)| (first + a, first + b)));
        Self {
            dependencies: dependencies.collect(),
            last_of_track: vec![None; template.tracks.len()],
            last_of_operation: vec![None; repeated],
            ordered: vec![false; template.tracks.len()],
            template,
            repeated,
            microbatches,
        }
    }

    /// Chains the tasks of each track that the schedule orders.
    pub fn put_in_order(&mut self, order: &Order, rounds: &Rounds) {
        match order {
            Order::Rounds => self.put_in_rounds(rounds),
            Order::Turns(devices) => self.put_in_turns(devices),
        }
    }

    fn put_in_rounds(&mut self, rounds: &Rounds) {
        let mut on_track = vec![Vec::new(); self.template.tracks.len()];
        for (i, operation) in self.template.operations.iter().enumerate() {
            if self.template.tracks[operation.track].exclusive {
                let turns = (0..self.microbatches).map(|k| (rounds.turn(i, k), k * self.repeated + i));
                on_track[operation.track].extend(turns);
            }
        }
        for (track, mut tasks) in on_track.into_iter().enumerate() {
            tasks.sort_unstable();
            self.chain(track, tasks.into_iter().map(|(_, task)| task));
        }
    }

    fn put_in_turns(&mut self, devices: &[Vec<Turn>]) {
        let blocks = self.template.operations.iter().map(|operation| operation.block + 1).max().unwrap_or(0);
        let mut of_block = vec![Vec::new(); blocks];
        for (i, operation) in self.template.operations.iter().enumerate().filter(|(_, o)| o.track < devices.len()) {
            of_block[operation.block].push(i);
        }
        let repeated = self.repeated;
        for (device, turns) in devices.iter().enumerate() {
            let tasks = turns
                .iter()
                .flat_map(|turn| of_block[turn.block].iter().map(|operation| turn.microbatch * repeated + operation));
            self.chain(device, tasks);
        }
    }

    fn chain(&mut self, track: usize, tasks: impl Iterator<Item = usize>) {
        for task in tasks {
            self.dependencies.extend(self.last_of_track[track].map(|before| (before, task)));
            self.last_of_track[track] = Some(task);
            if task < self.repeated * self.microbatches {
                self.last_of_operation[task % self.repeated] = Some(task);
            }
        }
        self.ordered[track] = true;
    }

    /// Adds the all-reduces of a step, each after the last microbatch of all copies of its stage, which begin it at once;
    /// on each device that of its last stage first, whose gradients are complete first.
    pub fn add_all_reduces(&mut self, pipeline: &Pipeline, computes: &[Option<usize>]) {
        for reduce in pipeline.all_reduces.iter().rev() {
            let ends: Option<Vec<usize>> =
                reduce.after.iter().map(|&block| self.last_of_operation[computes[block]?]).collect();
            let Some(ends) = ends else { continue };
            let template = &mut self.template;
            let tracks: Vec<usize> =
                reduce.after.iter().map(|&block| all_reduce_track(template, pipeline, block)).collect();
            self.last_of_track.resize(self.template.tracks.len(), None);
            self.ordered.resize(self.template.tracks.len(), false);
            let before: Vec<usize> = tracks.iter().filter_map(|&track| self.last_of_track[track]).chain(ends).collect();
            for (&block, track) in reduce.after.iter().zip(tracks) {
                let task = self.repeated * self.microbatches + self.template.operations.len() - self.repeated;
                let operation = Operation { work: Work::AllReduce, block, track, duration: reduce.time };
                self.template.operations.push(operation);
                self.dependencies.extend(before.iter().map(|&before| (before, task)));
                self.chain(track, [task].into_iter());
            }
        }
    }

    /// The tasks with all that they wait for, the template with what runs at the end, and how many of its operations
    /// are repeated.
    pub fn finish(self) -> (TaskGraph, Template, usize) {
        let (repeated, operations) = (self.repeated, &self.template.operations);
        let each = (0..self.microbatches).flat_map(|_| &operations[..repeated]).chain(&operations[repeated..]);
        let mut graph = TaskGraph::new(each.map(|operation| operation.duration).collect(), self.dependencies);
        for (track, _) in self.template.tracks.iter().enumerate().filter(|&(i, t)| t.exclusive && !self.ordered[i]) {
            let on_track = (0..repeated).filter(|&i| operations[i].track == track);
            graph.add_queue(on_track.flat_map(|i| (0..self.microbatches).map(move |k| k * repeated + i)));
        }
        (graph, self.template, repeated)
    }
}
