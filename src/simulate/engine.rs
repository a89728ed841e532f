//! The event-driven core: tasks with durations, what they wait for, and resources that take one task at a time.
//!
//! It knows nothing of pipelines. Where a schedule prescribes the order of a resource's tasks, that order is a chain of
//! dependencies; a resource whose order is open serves its tasks as they become ready.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::graph::Csr;

/// The queue of a task that stands in none.
const NO_QUEUE: u32 = u32::MAX;

/// Tasks `0..n`, ready to be run.
#[derive(Debug, Clone)]
pub struct TaskGraph {
    durations: Vec<f64>,
    dependents: Csr,
    queue_of: Vec<u32>,
    queues: usize,
}

/// Some tasks wait for each other, so that they never start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{unfinished} tasks wait for each other")]
pub struct Deadlock {
    /// How many tasks never start.
    pub unfinished: usize,
}

impl TaskGraph {
    /// Tasks with these durations, finite and at least 0, of which each `(before, after)` in `dependencies` has to run
    /// in this order. O(n + m log m).
    pub fn new(durations: Vec<f64>, dependencies: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let tasks = durations.len();
        Self { dependents: Csr::new(tasks, dependencies), queue_of: vec![NO_QUEUE; tasks], queues: 0, durations }
    }

    /// Adds a resource that runs `tasks`, which no other resource runs, one after another in the order in which they
    /// become ready; those that become ready at the same moment by the end of what they waited for, then by index.
    pub fn add_queue(&mut self, tasks: impl IntoIterator<Item = usize>) {
        tasks.into_iter().for_each(|task| self.queue_of[task] = self.queues as u32);
        self.queues += 1;
    }

    /// When each task starts. O((n + m) log r), r being the most tasks that run at once; nothing is allocated on the way.
    ///
    /// # Errors
    /// [`Deadlock`] where tasks wait for each other.
    pub fn run(&self) -> Result<Vec<f64>, Deadlock> {
        let mut run = Run::new(self);
        for task in 0..self.durations.len() {
            if run.waits_for[task] == 0 {
                run.becomes_ready(task as u32, 0.0);
            }
        }
        let mut finished = 0;
        while let Some(Reverse((now, task))) = run.running.pop() {
            finished += 1;
            run.finish(task, f64::from_bits(now));
        }
        match self.durations.len() - finished {
            0 => Ok(run.starts),
            unfinished => Err(Deadlock { unfinished }),
        }
    }
}

/// A run in progress.
struct Run<'a> {
    tasks: &'a TaskGraph,
    starts: Vec<f64>,
    /// How many unfinished tasks each task waits for.
    waits_for: Vec<u32>,
    /// When each running task ends. Times are at least 0, so that their bits are ordered as they are.
    running: BinaryHeap<Reverse<(u64, u32)>>,
    queues: Vec<Queue>,
    /// The tasks that wait in each queue: the room of all queues, one behind the other.
    waiting: Vec<u32>,
}

/// A queue's part of the common room.
#[derive(Clone, Copy, Default)]
struct Queue {
    head: u32,
    tail: u32,
    busy: bool,
}

impl<'a> Run<'a> {
    fn new(tasks: &'a TaskGraph) -> Self {
        let count = tasks.durations.len();
        let mut waits_for = vec![0u32; count];
        for task in 0..count {
            tasks.dependents.row(task).iter().for_each(|&after| waits_for[after as usize] += 1);
        }
        let mut lengths = vec![0u32; tasks.queues];
        tasks.queue_of.iter().filter(|&&queue| queue != NO_QUEUE).for_each(|&queue| lengths[queue as usize] += 1);
        let mut end = 0;
        let queues = lengths.into_iter().map(|length| {
            let start = end;
            end += length;
            Queue { head: start, tail: start, busy: false }
        });
        Self {
            tasks,
            starts: vec![0.0; count],
            waits_for,
            running: BinaryHeap::with_capacity(count),
            queues: queues.collect(),
            waiting: vec![0; end as usize],
        }
    }

    fn becomes_ready(&mut self, task: u32, now: f64) {
        let queue = self.tasks.queue_of[task as usize];
        if queue == NO_QUEUE {
            return self.start(task, now);
        }
        let queue = &mut self.queues[queue as usize];
        if queue.busy {
            self.waiting[queue.tail as usize] = task;
            queue.tail += 1;
        } else {
            queue.busy = true;
            self.start(task, now);
        }
    }

    fn start(&mut self, task: u32, now: f64) {
        self.starts[task as usize] = now;
        self.running.push(Reverse(((now + self.tasks.durations[task as usize]).to_bits(), task)));
    }

    fn finish(&mut self, task: u32, now: f64) {
        let queue = self.tasks.queue_of[task as usize];
        if queue != NO_QUEUE {
            self.serve_next(queue as usize, now);
        }
        let tasks = self.tasks;
        for &after in tasks.dependents.row(task as usize) {
            self.waits_for[after as usize] -= 1;
            if self.waits_for[after as usize] == 0 {
                self.becomes_ready(after, now);
            }
        }
    }

    fn serve_next(&mut self, queue: usize, now: f64) {
        let queue = &mut self.queues[queue];
        if queue.head == queue.tail {
            queue.busy = false;
        } else {
            let next = self.waiting[queue.head as usize];
            queue.head += 1;
            self.start(next, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_starts_when_all_that_it_waits_for_has_ended() {
        let tasks = TaskGraph::new(vec![2.0, 3.0, 1.0, 0.0], [(0, 2), (1, 2), (2, 3), (0, 3)]);
        assert_eq!(tasks.run(), Ok(vec![0.0, 0.0, 3.0, 4.0]));
    }

    #[test]
    fn a_queue_serves_by_readiness() {
        let mut tasks = TaskGraph::new(vec![5.0, 1.0, 2.0, 1.0], [(0, 2), (1, 3)]);
        tasks.add_queue([1, 2, 3]);
        assert_eq!(tasks.run(), Ok(vec![0.0, 0.0, 5.0, 1.0]));
        tasks.add_queue([0]);
        assert_eq!(tasks.run(), Ok(vec![0.0, 0.0, 5.0, 1.0]), "a queue of its own changes nothing");
    }

    #[test]
    fn tasks_that_wait_for_each_other_are_counted() {
        let tasks = TaskGraph::new(vec![1.0; 4], [(1, 2), (2, 1), (2, 3)]);
        assert_eq!(tasks.run(), Err(Deadlock { unfinished: 3 }));
    }
}
