//! The sets of devices that the neighbours of a copy may have.

use super::super::set::Set;

/// The sets of devices that the neighbours of one copy may have.
pub struct Enumeration<'e, const W: usize> {
    /// What the costs of the copy's links are multiplied by, from the largest on.
    pub scales: &'e [f64],
    /// The other devices with their costs, from the least on.
    pub nearest: &'e [(f64, usize)],
    /// The copy may take no longer.
    pub limit: f64,
    /// Those found.
    pub sets: Vec<Set<W>>,
    /// How many more sets there may be.
    pub left: usize,
}

impl<const W: usize> Enumeration<'_, W> {
    /// Chooses the devices of the links from `link` on among those from `first` on: the links with the most bytes have the
    /// cheapest of a set. `None` where there are too many sets.
    pub fn extend(&mut self, link: usize, first: usize, time: f64, set: Set<W>) -> Option<()> {
        let rest = &self.scales[link..];
        if rest.is_empty() {
            self.left = self.left.checked_sub(1)?;
            self.sets.push(set);
            return Some(());
        }
        for place in first..=self.nearest.len().saturating_sub(rest.len()) {
            let next = &self.nearest[place..];
            let least: f64 = rest.iter().zip(next).map(|(scale, (cost, _))| scale * cost).sum();
            if next.len() < rest.len() || time + least > self.limit {
                break;
            }
            let (cost, device) = next[0];
            self.extend(link + 1, place + 1, time + rest[0] * cost, set | Set::only(device))?;
        }
        Some(())
    }
}
