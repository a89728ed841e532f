//! Bare graphs, and sampling of their edges.

use rand::RngExt;

use super::Rng;

/// Nodes `0..node_count`, edges from lower to higher ones without repeats.
pub(super) struct Dag {
    pub node_count: usize,
    pub edges: Vec<(u32, u32)>,
    /// The layer of each node; empty where the family has none.
    pub layer: Vec<u64>,
}

impl Dag {
    pub fn new(node_count: usize, mut edges: Vec<(u32, u32)>, layer: Vec<u64>) -> Self {
        edges.sort_unstable();
        edges.dedup();
        Self { node_count, edges, layer }
    }

    /// Every node with its layer.
    pub fn layers(&self) -> impl Iterator<Item = (u64, Option<u64>)> + '_ {
        (0..self.node_count).map(|v| (v as u64, self.layer.get(v).copied()))
    }
}

/// The members of `0..n` that independent trials of probability `p` pick, ascending, in time proportional to their
/// number: the gaps between them are geometric (Batagelj & Brandes, Phys. Rev. E 71, 2005).
pub(super) fn sample(n: usize, p: f64, rng: &mut Rng) -> Vec<usize> {
    if p <= 0.0 {
        return Vec::new();
    }
    if p >= 1.0 {
        return (0..n).collect();
    }
    let log_q = (-p).ln_1p();
    let mut picked = Vec::new();
    let mut next = 0;
    loop {
        let miss: f64 = 1.0 - rng.random::<f64>();
        let gap = miss.ln() / log_q;
        if gap >= (n - next) as f64 {
            return picked;
        }
        next += gap as usize;
        picked.push(next);
        next += 1;
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn sample_picks_each_member_with_the_given_probability() {
        let mut rng = Rng::seed_from_u64(1);
        let mut hits = [0u32; 10];
        for _ in 0..20_000 {
            for i in sample(10, 0.3, &mut rng) {
                hits[i] += 1;
            }
        }
        // Six standard deviations of a binomial with n = 20,000 and p = 0.3.
        assert!(hits.iter().all(|&h| h.abs_diff(6_000) < 390), "{hits:?}");
        assert_eq!(sample(4, 1.0, &mut rng), [0, 1, 2, 3]);
        assert!(sample(4, 0.0, &mut rng).is_empty());
        assert!(sample(0, 0.5, &mut rng).is_empty());
    }
}
