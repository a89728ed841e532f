//! How many of the heaviest units fit on the devices at a target.

use super::linear::ROUNDING;
use super::shares::Shares;

/// More units than this are not counted: the heaviest ones matter.
const MOST_COUNTED: usize = 2000;

/// Whether, for some h, the devices cannot hold the h heaviest units between them at `target`.
///
/// A device holds at most as many of them as fit when the lightest come first. Takes no replication. O(h²) for the
/// 2000 heaviest units.
pub fn overcrowds(shares: &Shares, target: f64) -> bool {
    let mut ascending: Vec<Vec<f64>> = vec![Vec::new(); shares.kinds.len()];
    for (before, u) in shares.heaviest_first().into_iter().take(MOST_COUNTED).enumerate() {
        let mut room = 0;
        for (kind, ascending) in shares.kinds.iter().zip(&mut ascending) {
            if let Some(share) = kind.of[u] {
                ascending.insert(ascending.partition_point(|&other| other <= share), share);
            }
            room += kind.count * fitting(ascending, target);
        }
        if room <= before {
            return true;
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
