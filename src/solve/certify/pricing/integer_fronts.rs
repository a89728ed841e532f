//! The dynamic program in whole numbers: loads in cells and profits in grains.
//!
//! Sums of equal load fall together, so a front holds no more points than a device has cells.

use std::cmp::Reverse;
use std::sync::OnceLock;

use rayon::prelude::*;

use super::elimination::Plan;
use super::lagrangian::{Inward, Outward};
use super::network::INSIDE;
use crate::solve::SearchContext;

/// One way to fill part of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Load in cells.
    pub load: u32,
    /// Profit in grains.
    pub profit: i32,
}

/// What a point has to satisfy to be kept.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// The cells of a device.
    pub capacity: u32,
    /// Only sets of more grains matter.
    pub threshold: f64,
    /// Grains for each cell.
    pub price: f64,
}

/// Where points may lie when the rest of the graph adds what it can.
#[derive(Debug, Clone, Copy)]
struct Region {
    capacity: u32,
    price: f64,
    /// What profit less priced load must exceed.
    floor: f64,
}

impl Region {
    #[inline]
    fn admits(&self, point: Point) -> bool {
        point.load <= self.capacity && f64::from(point.profit) > self.floor + self.price * f64::from(point.load)
    }
}

/// A pricing problem in whole numbers, with what the Lagrangian says of it.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// Costs in cells.
    pub plan: &'a Plan<1>,
    /// Grains of each unit.
    pub grains: &'a [f64],
    /// What is kept.
    pub frame: Frame,
    /// The best of what lies below and beyond each bucket, at the frame's price.
    pub bounds: (&'a Inward, &'a Outward),
}

/// The fronts below every bucket, by the joint value of its separator: loads and profits ascend.
pub struct IntegerFronts<'a> {
    task: Task<'a>,
    fronts: Vec<Vec<Vec<Point>>>,
    /// The partial fronts at the root, which many sets are traced back through.
    root: OnceLock<Option<Vec<Vec<Point>>>>,
}

impl<'a> IntegerFronts<'a> {
    /// Runs over all buckets; `None` once there are more than `max_points`, or too many sums of them, or `cx` says to
    /// stop.
    pub fn new(task: Task<'a>, max_points: usize, cx: &SearchContext) -> Option<Self> {
        let mut all = Self { task, fronts: Vec::with_capacity(task.plan.buckets.len()), root: OnceLock::new() };
        let mut room = max_points;
        for (b, bucket) in task.plan.buckets.iter().enumerate() {
            if cx.should_stop() {
                return None;
            }
            let rows = (0..bucket.rows).into_par_iter().map(|row| all.row(b, row)).collect::<Option<Vec<_>>>()?;
            room = room.checked_sub(rows.iter().map(Vec::len).sum())?;
            all.fronts.push(rows);
        }
        Some(all)
    }

    /// The front at one row of a bucket's table.
    fn row(&self, b: usize, row: usize) -> Option<Vec<Point>> {
        let mut values = 0..self.task.plan.buckets[b].values;
        values.try_fold(Vec::new(), |front, value| {
            Some(merged(front, self.partial(b, row, value)?.pop().unwrap_or_default()))
        })
    }

    /// The point of a bucket's own variable and factors; `None` where they are forbidden.
    fn own(&self, b: usize, at: usize, value: usize) -> Option<Point> {
        let bucket = &self.task.plan.buckets[b];
        let inside = bucket.variable.filter(|&v| v < self.task.grains.len() && value == usize::from(INSIDE));
        let profit = inside.map_or(0.0, |v| self.task.grains[v]) as i32;
        bucket.base[at].map(|used| Point { load: used[0] as u32, profit })
    }

    /// The front at one entry of a bucket's table: first without children, then with each child more. `None` where it
    /// takes too many sums of points.
    fn partial(&self, b: usize, row: usize, value: usize) -> Option<Vec<Vec<Point>>> {
        let bucket = &self.task.plan.buckets[b];
        let (inward, outward) = self.task.bounds;
        let at = row * bucket.values + value;
        let Some(own) = self.own(b, at, value) else { return Some(Vec::new()) };
        let below = |i: usize| inward.best[bucket.children[i].bucket][bucket.children[i].rows[at] as usize];
        let mut rest = outward.best[b][row] + (0..bucket.children.len()).map(below).sum::<f64>();
        if rest == f64::NEG_INFINITY {
            return Some(Vec::new());
        }
        let Frame { capacity, threshold, price } = self.task.frame;
        let most = threshold - price * f64::from(capacity) - SLACK;
        let region = |rest: f64| Region { capacity, price, floor: most - rest };
        let mut partial = vec![Vec::from_iter(region(rest).admits(own).then_some(own))];
        for i in 0..bucket.children.len() {
            rest -= below(i);
            let last = &partial[partial.len() - 1];
            partial.push(sums(last, self.child(b, i, at), region(rest))?);
        }
        Some(partial)
    }

    fn child(&self, b: usize, i: usize, at: usize) -> &[Point] {
        let child = &self.task.plan.buckets[b].children[i];
        &self.fronts[child.bucket][child.rows[at] as usize]
    }

    /// The points of whole sets, profits ascending.
    pub fn complete(&self) -> &[Point] {
        self.fronts.last().map_or(&[], |root| &root[0])
    }

    /// The entry of each bucket's table that makes up a point of [`complete`](Self::complete).
    pub fn entries(&self, point: Point) -> Option<Vec<usize>> {
        let buckets = &self.task.plan.buckets;
        let mut wanted = vec![None; buckets.len()];
        *wanted.last_mut()? = Some((0, point));
        let mut entries = vec![0; buckets.len()];
        for (b, bucket) in buckets.iter().enumerate().rev() {
            let (row, point) = wanted[b]?;
            let (value, parts) =
                (0..bucket.values).find_map(|value| Some((value, self.parts(b, row, value, point)?)))?;
            entries[b] = row * bucket.values + value;
            for (child, part) in bucket.children.iter().zip(parts) {
                wanted[child.bucket] = Some((child.rows[entries[b]] as usize, part));
            }
        }
        Some(entries)
    }

    /// The points of a bucket's children that make up `point` at this entry of its table.
    fn parts(&self, b: usize, row: usize, value: usize, point: Point) -> Option<Vec<Point>> {
        let bucket = &self.task.plan.buckets[b];
        let at = row * bucket.values + value;
        let own = self.own(b, at, value)?;
        let rest = minus(point, own)?;
        match bucket.children.len() {
            0 => (rest == Point { load: 0, profit: 0 }).then(Vec::new),
            1 => find(self.child(b, 0, at), rest).map(|part| vec![part]),
            2 => pair(self.child(b, 0, at), self.child(b, 1, at), rest).map(|(x, y)| vec![x, y]),
            count => {
                let is_root = bucket.variable.is_none();
                let anew = if is_root { None } else { self.partial(b, row, value) };
                let partial = if is_root { self.root.get_or_init(|| self.partial(b, row, value)) } else { &anew };
                let partial = partial.as_ref()?;
                let mut parts = vec![own; count];
                let mut point = point;
                for i in (0..count).rev() {
                    (point, parts[i]) = pair(partial.get(i)?, self.child(b, i, at), point)?;
                }
                (point == own).then_some(parts)
            }
        }
    }
}

/// Room for the rounding of Lagrangian values, in grains: half a one, as whole ones count.
const SLACK: f64 = 0.5;

/// The point of this load and profit.
fn find(front: &[Point], wanted: Point) -> Option<Point> {
    let i = front.partition_point(|point| point.load < wanted.load);
    front.get(i).copied().filter(|point| *point == wanted)
}

/// A point of each front that sum up to `sum`.
fn pair(a: &[Point], b: &[Point], sum: Point) -> Option<(Point, Point)> {
    if a.len() > b.len() {
        return pair(b, a, sum).map(|(x, y)| (y, x));
    }
    a.iter().find_map(|&x| Some((x, find(b, minus(sum, x)?)?)))
}

fn minus(a: Point, b: Point) -> Option<Point> {
    Some(Point { load: a.load.checked_sub(b.load)?, profit: a.profit - b.profit })
}

/// The points of either front that none of the other beats.
fn merged(a: Vec<Point>, b: Vec<Point>) -> Vec<Point> {
    if a.is_empty() || b.is_empty() {
        return if a.is_empty() { b } else { a };
    }
    let mut all = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    let mut most = i32::MIN;
    while i < a.len() || j < b.len() {
        let is_first =
            j == b.len() || i < a.len() && (a[i].load, -i64::from(a[i].profit)) <= (b[j].load, -i64::from(b[j].profit));
        let point = if is_first { a[i] } else { b[j] };
        if is_first {
            i += 1
        } else {
            j += 1
        }
        if point.profit > most {
            most = point.profit;
            all.push(point);
        }
    }
    all
}

/// All sums of a point of `a` and one of `b` that lie in the region, as a front; `None` where there are too many.
fn sums(a: &[Point], b: &[Point], region: Region) -> Option<Vec<Point>> {
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let ends = few.first().zip(few.last()).zip(many.first().zip(many.last()));
    let Some(((first, last), (low, high))) = ends else { return Some(Vec::new()) };
    let start = first.load + low.load;
    let end = (last.load + high.load).min(region.capacity);
    let count = few.len().saturating_mul(many.len());
    if few.len() == 1 || count.saturating_mul(SPARSE) < end.saturating_sub(start) as usize {
        let mut all: Vec<Point> = few.iter().flat_map(|&x| many.iter().map(move |&y| plus(x, y))).collect();
        if few.len() > 1 {
            all.sort_unstable_by_key(|sum| (sum.load, Reverse(sum.profit)));
        }
        return Some(front(all.into_iter(), region));
    }
    // The largest profit by load.
    let mut best = vec![NONE; (end.saturating_sub(start) + 1) as usize];
    if few.len() < FEW {
        add_all(few, many, &mut best);
    } else {
        add_valuable(few, many, region, &mut best)?;
    }
    Some(front((start..).zip(best).map(|(load, profit)| Point { load, profit }), region))
}

/// The points in the region that have more profit than all before them.
fn front(ascending: impl Iterator<Item = Point>, region: Region) -> Vec<Point> {
    let mut most = NONE;
    let mut front = Vec::new();
    for point in ascending {
        if point.profit > most {
            most = point.profit;
            front.extend(Some(point).filter(|&point| region.admits(point)));
        }
    }
    front
}

/// Raises `best`, by load beyond that of the first sum, to all sums.
fn add_all(few: &[Point], many: &[Point], best: &mut [i32]) {
    let steps = filled(many);
    for x in few {
        let best = best.get_mut((x.load - few[0].load) as usize..).unwrap_or_default();
        best.iter_mut().zip(&steps).for_each(|(best, step)| *best = (*best).max(step + x.profit));
    }
}

/// Raises `best` to the sums that lie in the region: the points of most profit less priced load come first, so that the
/// others are not even looked at. `None` where there are too many sums.
fn add_valuable(few: &[Point], many: &[Point], region: Region, best: &mut [i32]) -> Option<()> {
    let value = |point: &Point| f64::from(point.profit) - region.price * f64::from(point.load);
    let mut valued: Vec<(f64, Point)> = many.iter().map(|point| (value(point), *point)).collect();
    valued.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let start = few[0].load + many[0].load;
    let mut room = MAX_SUMS;
    for x in few {
        let least = region.floor - value(x) - SLACK;
        let count = valued.partition_point(|(value, _)| *value > least);
        room = room.checked_sub(count)?;
        for (_, y) in &valued[..count] {
            if let Some(best) = best.get_mut((x.load + y.load - start) as usize) {
                *best = (*best).max(x.profit + y.profit);
            }
        }
    }
    Some(())
}

/// Up to so many points are added to a front without a look at their values.
const FEW: usize = 12;

/// The most profit up to each load, from that of the first point to that of the last.
fn filled(front: &[Point]) -> Vec<i32> {
    let mut steps = Vec::new();
    for pair in front.windows(2) {
        steps.resize(steps.len() + (pair[1].load - pair[0].load) as usize, pair[0].profit);
    }
    steps.extend(front.last().map(|last| last.profit));
    steps
}

fn plus(a: Point, b: Point) -> Point {
    Point { load: a.load + b.load, profit: a.profit + b.profit }
}

/// Less than any profit.
const NONE: i32 = i32::MIN;

/// Sums that are fewer than one in so many cells are sorted instead.
const SPARSE: usize = 8;

/// The most sums of the points of two fronts.
const MAX_SUMS: usize = 1 << 28;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A front of up to so many points.
    fn fronts(most: usize) -> impl Strategy<Value = Vec<Point>> {
        prop::collection::vec((0..60u32, 0..200i32), 1..most).prop_map(|steps| {
            let climb = |last: &mut (u32, i32), (load, profit): (u32, i32)| {
                *last = (last.0 + load + 1, last.1 + profit + 1);
                Some(Point { load: last.0, profit: last.1 })
            };
            steps.into_iter().scan((0, 0), climb).collect()
        })
    }

    /// What no other of these points beats, of those in the region.
    fn unbeaten(all: &[Point], region: Region) -> Vec<Point> {
        let beats = |a: &Point, b: &Point| a != b && a.load <= b.load && a.profit >= b.profit;
        let is_kept = |point: &&Point| region.admits(**point) && !all.iter().any(|other| beats(other, point));
        let mut kept: Vec<Point> = all.iter().filter(is_kept).copied().collect();
        kept.sort_unstable_by_key(|point| point.load);
        kept.dedup();
        kept
    }

    proptest! {
        /// Few points and many, close together and far apart, with a region that leaves some out.
        #[test]
        fn sums_are_those_of_all_pairs(
            a in fronts(40), b in fronts(40), stretch in 1..9u32, capacity in 0..4000u32, slope in 0..4u32, floor in -2000..2000i32
        ) {
            let a: Vec<Point> = a.into_iter().map(|point| Point { load: point.load * stretch, ..point }).collect();
            let region = Region { capacity, price: f64::from(slope), floor: f64::from(floor) };
            let all: Vec<Point> = a.iter().flat_map(|&x| b.iter().map(move |&y| plus(x, y))).collect();
            prop_assert_eq!(sums(&a, &b, region).unwrap(), unbeaten(&all, region));
        }

        #[test]
        fn merging_keeps_what_is_unbeaten(a in fronts(20), b in fronts(20)) {
            let everywhere = Region { capacity: u32::MAX, price: 0.0, floor: -1.0 };
            let all: Vec<Point> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(merged(a, b), unbeaten(&all, everywhere));
        }
    }
}
