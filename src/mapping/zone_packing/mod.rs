//! Fractions of pipelines in zones of devices, each with room for so many: column generation over pipelines that somebody
//! else finds.

mod master;

use std::ops::Range;

use super::ROUNDING;
use master::{Master, Row, Use, weights};

/// Room for rounding in comparisons of values.
const MARGIN: f64 = 1e-9;

/// A pipeline: the time of its slowest copy, and the zone of each stage.
pub type Found = (f64, Vec<usize>);

/// Fractions contradict a cut by more than this.
const LEAST_EXCESS: f64 = 1e-3;

/// The most cuts, and the most of those that are worth something: pricing asks once for each set of these.
const MOST_CUTS: usize = 16;
const MOST_PRICED: usize = 8;

/// What a pipeline is asked for that is worth little.
pub struct Wanted<'r> {
    /// By zone: what each of its devices is worth.
    pub values: &'r [f64],
    /// What its devices may be worth together.
    pub most: f64,
    /// Zones in a row with how many of their devices it may have.
    pub caps: Vec<(Range<usize>, usize)>,
}

/// How many pipelines find room in zones at once, in fractions.
///
/// Of whole pipelines no more than m have more than one of m + 1 parts of some zones. Such rows are added where fractions
/// contradict them (Chvátal 1973).
pub struct ZonePacking {
    zones: usize,
    /// Zones' rooms, and then cuts.
    rows: Vec<Row>,
    /// The pipelines known so far, each with the time of its slowest copy.
    pool: Vec<Found>,
}

impl ZonePacking {
    /// Zones of so many devices each; no pipeline is known.
    pub fn new(sizes: &[usize]) -> Self {
        let rows = sizes.iter().copied().enumerate().map(|(block, most)| Row { what: Use::Room(block), most });
        Self { zones: sizes.len(), rows: rows.collect(), pool: Vec::new() }
    }

    /// Takes up a pipeline.
    pub fn learn(&mut self, pipeline: Found) {
        self.pool.push(pipeline);
    }

    /// Whether no fractions of pipelines within a target, `count` in all, find room; `None` where that stays open. `cheap`
    /// says which pipeline is as it is wanted, or that there is none, and nothing where it does not know.
    pub fn refutes(
        &mut self,
        target: f64,
        count: usize,
        mut cheap: impl FnMut(&Wanted) -> Option<Option<Found>>,
    ) -> Option<bool> {
        loop {
            let mut master = Master::new(&self.rows, within(&self.pool, target))?;
            while master.count() < count as f64 * (1.0 - MARGIN) {
                let Some((time, zones)) = self.price(&master.values(), count, &mut cheap)? else { return Some(true) };
                master = master.add(&zones)?;
                self.pool.push((time, zones));
            }
            let Some(cut) = self.cut(target, count) else { return Some(false) };
            self.rows.push(cut);
        }
    }

    /// A pipeline that is worth less than such as refute the target, if there is one.
    fn price(
        &self,
        values: &[f64],
        count: usize,
        cheap: &mut impl FnMut(&Wanted) -> Option<Option<Found>>,
    ) -> Option<Option<Found>> {
        let worth: f64 = values.iter().zip(&self.rows).map(|(value, row)| value * row.most as f64).sum();
        let most = worth / count as f64 * (1.0 + 2.0 * MARGIN);
        let cuts: Vec<(f64, Range<usize>, usize)> = values
            .iter()
            .zip(&self.rows)
            .filter_map(|(&value, row)| match row.what {
                Use::AtLeast(first, end, least) if value > 0.0 => Some((value, first..end, least)),
                Use::AtLeast(..) | Use::Room(_) => None,
            })
            .collect();
        if cuts.len() > MOST_PRICED {
            return None;
        }
        // Either a pipeline has what a cut counts, and pays for it, or it has less.
        for paid in 0..1_usize << cuts.len() {
            let is_paid = |index: usize| paid >> index & 1 == 1;
            let (mut left, mut caps) = (most, Vec::new());
            for (index, (value, zones, least)) in cuts.iter().enumerate() {
                match is_paid(index) {
                    true => left -= value,
                    false => caps.push((zones.clone(), least - 1)),
                }
            }
            if left < 0.0 {
                continue;
            }
            let found = cheap(&Wanted { values: &values[..self.zones], most: left, caps })?;
            if found.is_some() {
                return Some(found);
            }
        }
        Some(None)
    }

    /// A cut that the fractions packed contradict, the one that they do most.
    fn cut(&self, target: f64, count: usize) -> Option<Row> {
        if self.rows.len() >= self.zones + MOST_CUTS {
            return None;
        }
        let pool: Vec<&[usize]> = within(&self.pool, target).collect();
        let weights = weights(&self.rows, count, &pool)?;
        let excess = |row: &Row| {
            let uses: f64 = pool.iter().zip(&weights).map(|(zones, weight)| row.uses(zones) as f64 * weight).sum();
            uses - row.most as f64
        };
        let ranges = (0..self.zones).flat_map(|first| (first + 1..=self.zones).map(move |end| (first, end)));
        let cuts = ranges.flat_map(|(first, end)| {
            let size: usize = self.rows[first..end].iter().map(|room| room.most).sum();
            (1..count).map(move |most| Row { what: Use::AtLeast(first, end, size / (most + 1) + 1), most })
        });
        let cuts = cuts.map(|row| (excess(&row), row)).filter(|(excess, _)| *excess > LEAST_EXCESS);
        cuts.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, row)| row)
    }
}

/// The pipelines of a pool within a target.
fn within(pool: &[Found], target: f64) -> impl Iterator<Item = &[usize]> {
    pool.iter().filter(move |(time, _)| *time <= target * (1.0 + ROUNDING)).map(|(_, zones)| &zones[..])
}
