//! How many of the heaviest units fit on the devices at a target.

use super::linear::ROUNDING;
use super::shares::Shares;

/// More units than this are not counted: the heaviest ones matter.
const MOST_COUNTED: usize = 2000;

/// Larger groups are counted by compute alone.
const MOST_CUT: usize = 64;

/// Whether, for some h, the devices cannot hold the h heaviest units between them at `target`.
///
/// A device holds at most as many of them as fit when the lightest come first. `crowds(kind, units, count)` may tell
/// that no device of a kind can hold `count` of some units though they fit by compute: it is asked of one kind at a
/// time, for up to 64 units that are heavier than all others. Takes no replication. O(h²) for the 2000 heaviest units, besides what is asked.
pub fn overcrowds(shares: &Shares, target: f64, mut crowds: impl FnMut(usize, &[usize], usize) -> bool) -> bool {
    let units = shares.heaviest_first();
    let mut ascending: Vec<Vec<f64>> = vec![Vec::new(); shares.kinds.len()];
    for h in 1..=units.len().min(MOST_COUNTED) {
        let heaviest = &units[..h];
        let mut most = Vec::with_capacity(ascending.len());
        for (kind, ascending) in shares.kinds.iter().zip(&mut ascending) {
            if let Some(share) = kind.of[heaviest[h - 1]] {
                ascending.insert(ascending.partition_point(|&other| other <= share), share);
            }
            most.push(fitting(ascending, target));
        }
        let room: usize = shares.kinds.iter().zip(&most).map(|(kind, most)| kind.count * most).sum();
        if room < h {
            return true;
        }
        let is_apart = units.get(h).is_none_or(|&next| shares.least(next) < shares.least(heaviest[h - 1]));
        if h > MOST_CUT || !is_apart {
            continue;
        }
        for (kind, (count, most)) in shares.kinds.iter().map(|kind| kind.count).zip(most).enumerate() {
            let elsewhere = room - count * most;
            // With so many on each device of the kind, one of the units is left over.
            if count > 0 && elsewhere < h && crowds(kind, heaviest, (h - 1 - elsewhere) / count + 1) {
                return true;
            }
        }
    }
    false
}

/// How many of these ascending shares, from the first, add up to at most `target`.
fn fitting(ascending: &[f64], target: f64) -> usize {
    let limit = target * (1.0 + ROUNDING);
    let sums = ascending.iter().scan(0.0, |sum, share| {
        *sum += share;
        Some(*sum)
    });
    sums.take_while(|&sum| sum <= limit).count()
}
