//! What loads devices can have: sums of what single stages take.

use super::pipeline::Pipeline;

/// For each device the sums of loads of one stage for each of its visits, ascending, wherever these lie: all that it can have
/// are among them.
pub struct Sums(Vec<Vec<f64>>);

/// More sums than these tell no more than a continuum does.
const MOST_SUMS: usize = 1 << 13;

/// Sums of the same numbers in another order differ by less than this part of themselves.
pub const ROUNDING: f64 = 1e-12;

impl Sums {
    /// The sums up to `most`; `None` where they are too many.
    fn new(pipeline: &Pipeline, most: f64) -> Option<Self> {
        let mut sums = vec![vec![0.0]; pipeline.devices];
        let mut begins = vec![false; pipeline.family.count()];
        begins[0] = true;
        for (visit, &held) in pipeline.visits.iter().enumerate() {
            let mut ends = vec![false; begins.len()];
            let mut loads = Vec::new();
            for begin in (0..begins.len()).filter(|&begin| begins[begin]) {
                for stage in pipeline.stages(visit, begin) {
                    if stage.load <= most && pipeline.rest[visit + 1][stage.end].is_finite() {
                        ends[stage.end] = true;
                        loads.push(stage.load);
                    }
                }
            }
            distinct(&mut loads);
            sums[held.device] = added(&sums[held.device], &loads, most)?;
            begins = ends;
        }
        Some(Self(sums))
    }

    /// The sums that steps below `upper` can have. They raise the pipeline's bound, to `upper` at most.
    pub fn within(pipeline: &mut Pipeline, upper: f64) -> Option<Self> {
        let (step, sum) = (pipeline.step, pipeline.rest[0][0]);
        let sums = Self::new(pipeline, step.most_load(upper, sum))?;
        let largest = sums.least_largest(sum).unwrap_or(f64::INFINITY);
        pipeline.bound = pipeline.bound.max(step.time(sum, largest).min(upper));
        Some(sums)
    }

    /// The largest load of a device up to `most`; none where every one is larger.
    pub fn largest_within(&self, device: usize, most: f64) -> Option<f64> {
        let sums = &self.0[device];
        let within = sums.partition_point(|&sum| sum <= most * (1.0 + ROUNDING));
        within.checked_sub(1).map(|last| sums[last])
    }

    /// The least load that devices have to be allowed whose loads are to add up to `sum`.
    pub fn least_largest(&self, sum: f64) -> Option<f64> {
        let mut all = self.0.concat();
        distinct(&mut all);
        let is_enough = |most: f64| {
            let loads = (0..self.0.len()).map(|device| self.largest_within(device, most));
            loads.sum::<Option<f64>>().is_some_and(|room| room >= sum * (1.0 - ROUNDING))
        };
        let first = all.partition_point(|&most| !is_enough(most));
        all.get(first).copied()
    }
}

/// The distinct sums of one of each up to `most`, if they are not too many.
fn added(sums: &[f64], loads: &[f64], most: f64) -> Option<Vec<f64>> {
    let is_within = |&sum: &f64| sum <= most * (1.0 + ROUNDING);
    let mut added = Vec::new();
    for &sum in sums {
        added.extend(loads.iter().map(|load| sum + load).take_while(is_within));
        if added.len() > 4 * MOST_SUMS {
            distinct(&mut added);
            if added.len() > 2 * MOST_SUMS {
                return None;
            }
        }
    }
    distinct(&mut added);
    (added.len() <= MOST_SUMS).then_some(added)
}

/// Sorts numbers and keeps the largest of those that only rounding tells apart.
fn distinct(numbers: &mut Vec<f64>) {
    numbers.sort_by(|a, b| b.total_cmp(a));
    numbers.dedup_by(|next, kept| *next >= *kept * (1.0 - ROUNDING));
    numbers.reverse();
}
