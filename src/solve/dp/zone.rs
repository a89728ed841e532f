//! The zone of an ideal: the units that a stage which begins there may hold, and what is left of them where some are barred.

use super::chain::Bits;
use super::loads::{contains, ones, zeros};
use crate::graph::{Graph, reachability};

/// Which units come after and before which, and what each of them counts.
pub struct Zones<'a> {
    order: &'a Graph,
    words: usize,
    /// For each unit a row of bits: itself and what comes after it, and itself and what comes before it.
    after: Vec<u64>,
    before: Vec<u64>,
    shares: Vec<f64>,
}

impl<'a> Zones<'a> {
    /// The tables on `order`, each unit with its share of the work. O(n·m/64 + n²) time, n²/4 bytes.
    pub fn new(order: &'a Graph, shares: Vec<f64>) -> Self {
        let n = order.node_count();
        let words = n.div_ceil(64).max(1);
        let (mut after, mut before) = (vec![0; n * words], vec![0; n * words]);
        for (u, reached) in reachability::descendants(order).iter().enumerate() {
            for v in reached.iter() {
                after[u * words + v / 64] |= 1 << (v % 64);
                before[v * words + u / 64] |= 1 << (u % 64);
            }
        }
        Self { order, words, after, before, shares }
    }

    /// Counts each unit by other shares.
    pub fn count_by(&mut self, shares: Vec<f64>) {
        self.shares = shares;
    }

    /// What a unit counts.
    pub fn share(&self, u: usize) -> f64 {
        self.shares[u]
    }

    /// What the units above an ideal count.
    pub fn above(&self, ideal: &[u64]) -> f64 {
        zeros(ideal, self.shares.len()).map(|u| self.shares[u]).sum()
    }

    /// What the units of an ideal count.
    pub fn below(&self, ideal: &[u64]) -> f64 {
        ones(ideal).map(|u| self.shares[u]).sum()
    }

    /// The zone of the ideal `from`, which the units `ready` may join: each unit that fits into `most` of `time` together with
    /// all that comes before it. Returns it with what it counts.
    pub fn of(
        &self,
        from: &[u64],
        ready: impl Iterator<Item = usize>,
        time: impl Fn(usize) -> Option<f64>,
        most: f64,
    ) -> (Bits, f64) {
        let mut zone: Bits = vec![0; self.words].into();
        let mut next: Vec<usize> = ready.collect();
        let mut work = 0.0;
        while let Some(u) = next.pop() {
            let before = self.before[u * self.words..].iter().zip(&zone[..]).map(|(before, zone)| before & zone);
            let below: Option<f64> = crate::graph::ones(before).map(&time).sum();
            let fits = below.zip(time(u)).is_some_and(|(below, own)| below + own <= most);
            if contains(&zone, u) || !fits {
                continue;
            }
            zone[u / 64] |= 1 << (u % 64);
            work += self.shares[u];
            let is_in = |p: u32| contains(from, p as usize) || contains(&zone, p as usize);
            let successors = self.order.successors(u).iter().map(|&v| v as usize);
            next.extend(successors.filter(|&v| self.order.predecessors(v).iter().all(|&p| is_in(p))));
        }
        (zone, work)
    }

    /// A unit and what comes after it, as words of a bit set.
    pub fn after(&self, u: usize) -> &[u64] {
        &self.after[u * self.words..][..self.words]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_holds_what_fits_with_all_before_it() {
        // 0 → 1 → 3 and 0 → 2 → 3, then 4.
        let order = Graph::new(5, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]).unwrap();
        let zones = Zones::new(&order, vec![1.0, 2.0, 3.0, 4.0, 5.0]);
        let zone = |from: u64, ready: &[usize], most| {
            let (zone, work) = zones.of(&[from], ready.iter().copied(), |u| (u != 4).then_some(1.0), most);
            (zone[0], work)
        };
        assert_eq!(zone(0, &[0], 2.0), (0b111, 6.0));
        assert_eq!(zone(0b1, &[1, 2], 2.0), (0b110, 5.0));
        assert_eq!(zone(0b1, &[1, 2], 9.0), (0b1110, 9.0), "4 cannot run");
        assert_eq!(zones.above(&[0b111]), 9.0);
        assert_eq!(zones.after(1), [0b11010]);
    }
}
