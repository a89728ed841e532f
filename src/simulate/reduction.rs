//! The all-reduces at the end of a step.
//!
//! Nothing waits for them, so that they are put behind a run that is known.

use super::pipeline::{AllReduce, Pipeline};
use super::template::{Operation, Template, Work, all_reduce_track};

/// A run, to which all-reduces are added.
pub(super) struct Ending<'a> {
    pub pipeline: &'a Pipeline,
    /// The operation that computes each block.
    pub computes: &'a [Option<usize>],
    pub template: &'a mut Template,
    /// When each operation of each microbatch starts; operation o of microbatch k at k · operations + o.
    pub starts: &'a mut Vec<f64>,
    /// When each track has nothing more to do.
    free: Vec<f64>,
    /// When each operation starts for the last time.
    last: Vec<f64>,
}

impl<'a> Ending<'a> {
    /// The end of a run of some microbatches. O(tasks).
    pub fn of(
        pipeline: &'a Pipeline,
        computes: &'a [Option<usize>],
        template: &'a mut Template,
        starts: &'a mut Vec<f64>,
    ) -> Self {
        let (mut free, mut last) = (vec![0.0_f64; template.tracks.len()], vec![0.0_f64; template.operations.len()]);
        let operations = || template.operations.iter().enumerate().cycle();
        for ((i, operation), &start) in operations().zip(starts.iter()) {
            free[operation.track] = free[operation.track].max(start + operation.duration);
            last[i] = last[i].max(start);
        }
        Self { pipeline, computes, template, starts, free, last }
    }

    /// Adds the all-reduces of a step, each once the last microbatch of all copies of its stage has left its gradients; the
    /// copies begin it at once. On each device that of its last stage goes first, whose gradients are complete first. In parts,
    /// a part of the gradients is there for each equal part of the last pass, the next part of the all-reduce after it.
    pub fn add_all_reduces(mut self) {
        let (pipeline, parts) = (self.pipeline, self.pipeline.parts());
        for reduce in pipeline.all_reduces.iter().rev() {
            let gradients = reduce.after.iter().map(|&block| self.computes[block]);
            let Some(gradients) = gradients.collect::<Option<Vec<usize>>>() else { continue };
            let tracks: Vec<usize> =
                reduce.after.iter().map(|&block| all_reduce_track(self.template, pipeline, block)).collect();
            self.free.resize(self.template.tracks.len(), 0.0);
            for part in 1..=parts {
                self.add(reduce, &gradients, &tracks, part as f64 / parts as f64);
            }
        }
    }

    /// Adds the part of an all-reduce for which so much of the last pass has to be computed.
    fn add(&mut self, reduce: &AllReduce, gradients: &[usize], tracks: &[usize], share: f64) {
        let computed = |&i: &usize| self.last[i] + share * self.template.operations[i].duration;
        let begins = gradients.iter().map(computed).chain(tracks.iter().map(|&track| self.free[track]));
        let (begins, duration) = (begins.fold(0.0, f64::max), reduce.time(self.pipeline.parts()));
        for (&block, &track) in reduce.after.iter().zip(tracks) {
            let start = self.free[track].max(begins);
            self.free[track] = start + duration;
            self.starts.push(start);
            self.template.operations.push(Operation { work: Work::AllReduce, block, track, duration });
        }
    }
}
