//! The tasks of all microbatches: a template repeated, and the schedule's order as chains of dependencies.

use super::engine::TaskGraph;
use super::rounds::Rounds;
use super::schedule::{Order, Turn};
use super::template::Template;

/// Tasks under construction. Operation o for microbatch k is task k · operations + o.
pub(super) struct Tasks {
    template: Template,
    /// How many operations each microbatch repeats.
    repeated: usize,
    microbatches: usize,
    dependencies: Vec<(usize, usize)>,
    /// The last task of each track in the schedule's order.
    last_of_track: Vec<Option<usize>>,
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
        }
        self.ordered[track] = true;
    }

    /// The tasks with all that they wait for, and the template.
    pub fn finish(self) -> (TaskGraph, Template) {
        let (repeated, operations) = (self.repeated, &self.template.operations);
        let each = (0..self.microbatches).flat_map(|_| operations);
        let mut graph = TaskGraph::new(each.map(|operation| operation.duration).collect(), self.dependencies);
        for (track, _) in self.template.tracks.iter().enumerate().filter(|&(i, t)| t.exclusive && !self.ordered[i]) {
            let on_track = (0..repeated).filter(|&i| operations[i].track == track);
            graph.add_queue(on_track.flat_map(|i| (0..self.microbatches).map(move |k| k * repeated + i)));
        }
        (graph, self.template)
    }
}
