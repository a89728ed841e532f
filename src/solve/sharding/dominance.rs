//! Partial placements of the same units, one of which is at least as good as the other however they go on.
//!
//! Where the placed units with unplaced neighbours share parts in the same way, whatever completes one placement
//! completes the other at the same price in edges. Parts then differ in weight alone. With W and W′ their weights and R
//! the weight still to come, W′ ends up worse by at least Σ (W′² − W²) + 2 R · min_d (W′_d − W_d), times the variance.

use rustc_hash::FxHashMap;

use super::Model;

/// The placements kept, by position and by how they share parts.
pub(super) struct Dominance<'a> {
    model: &'a Model,
    sites: &'a [usize],
    /// By position: the placed units with unplaced neighbours; `None` where there are too many.
    frontiers: Vec<Option<Vec<usize>>>,
    /// By position: the weight of the units from there on.
    to_come: Vec<f64>,
    kept: FxHashMap<(usize, Pattern), Vec<Label>>,
    numbers: usize,
}

/// For each site its parts in a canonical order, each with its kind and the frontier units it holds.
type Pattern = Vec<Vec<(usize, u64)>>;

/// A placement: what its edges cost, and weight and memory of each part in canonical order.
struct Label {
    edges: f64,
    weights: Vec<f64>,
    memory: Vec<f64>,
}

/// Numbers kept at most, about 256 MB; further placements are not compared with.
const MAX_NUMBERS: usize = 1 << 25;

/// Placements of one pattern compared with.
const MAX_COMPARED: usize = 512;

impl<'a> Dominance<'a> {
    pub fn new(model: &'a Model, order: &[usize], sites: &'a [usize]) -> Self {
        let mut position = vec![0; order.len()];
        order.iter().enumerate().for_each(|(i, &u)| position[u] = i);
        let frontier = |i: usize| {
            let is_open = |&u: &usize| model.links[u].iter().any(|&(v, _)| position[v as usize] >= i);
            let open: Vec<usize> = order[..i].iter().copied().filter(is_open).collect();
            (open.len() <= u64::BITS as usize).then_some(open)
        };
        let to_come = |i: usize| order[i..].iter().map(|&u| model.weights[u]).sum();
        Self {
            model,
            sites,
            frontiers: (0..=order.len()).map(frontier).collect(),
            to_come: (0..=order.len()).map(to_come).collect(),
            kept: FxHashMap::default(),
            numbers: 0,
        }
    }

    /// Whether a placement of the first `depth` units seen before is at least as good as this one, which costs `edges`
    /// so far. If not it is kept.
    pub fn is_dominated(
        &mut self,
        depth: usize,
        part_of: &[u32],
        (weights, memory): (&[f64], &[f64]),
        edges: f64,
    ) -> bool {
        let Some(frontier) = &self.frontiers[depth] else { return false };
        let mut held = vec![0u64; weights.len()];
        frontier.iter().enumerate().for_each(|(i, &u)| held[part_of[u] as usize] |= 1 << i);
        let (pattern, parts) = self.canonical(&held, weights, memory);
        let label = Label {
            edges,
            weights: parts.iter().map(|&d| weights[d]).collect(),
            memory: if self.model.is_free { Vec::new() } else { parts.iter().map(|&d| memory[d]).collect() },
        };
        let (variance, to_come) = (self.model.variance, self.to_come[depth]);
        let key = (depth, pattern);
        let is_better = |other: &Label| other.is_as_good_as(&label, variance, to_come);
        if self.kept.get(&key).is_some_and(|kept| kept.iter().rev().take(MAX_COMPARED).any(is_better)) {
            return true;
        }
        if self.numbers < MAX_NUMBERS {
            // A label may come with a pattern of its own, which holds two numbers for each part.
            self.numbers += 3 * weights.len() + label.memory.len() + 3 * self.sites.len() + 16;
            self.kept.entry(key).or_default().push(label);
        }
        false
    }

    /// The pattern, and the parts in its order: interchangeable parts and sites are sorted by what they hold.
    fn canonical(&self, held: &[u64], weights: &[f64], memory: &[f64]) -> (Pattern, Vec<usize>) {
        let site_count = self.sites.iter().max().map_or(0, |last| last + 1);
        let mut sites: Vec<Vec<usize>> = vec![Vec::new(); site_count];
        self.sites.iter().enumerate().for_each(|(d, &site)| sites[site].push(d));
        let key = |d: usize| (self.model.parts[d].kind, held[d]);
        let by_content = |a: &usize, b: &usize| {
            let numbers = weights[*a].total_cmp(&weights[*b]).then(memory[*a].total_cmp(&memory[*b]));
            key(*a).cmp(&key(*b)).then(numbers)
        };
        sites.iter_mut().for_each(|site| site.sort_by(by_content));
        sites.sort_by(|a, b| {
            let keys = a.iter().map(|&d| key(d)).cmp(b.iter().map(|&d| key(d)));
            let numbers = a.iter().zip(b).map(|(a, b)| by_content(a, b)).find(|order| order.is_ne());
            keys.then(numbers.unwrap_or(std::cmp::Ordering::Equal))
        });
        let pattern = sites.iter().map(|site| site.iter().map(|&d| key(d)).collect()).collect();
        (pattern, sites.into_iter().flatten().collect())
    }
}

impl Label {
    /// Whether every completion of this placement costs at most as much as the same completion of `other`.
    fn is_as_good_as(&self, other: &Label, variance: f64, to_come: f64) -> bool {
        let (mut squares, mut sizes, mut least) = (0.0, 0.0, 0.0f64);
        for (own, other) in self.weights.iter().zip(&other.weights) {
            let difference = (other - own) * (other + own);
            squares += difference;
            sizes += difference.abs();
            least = least.min(other - own);
        }
        let worst = 2.0 * to_come * least;
        let rounding = 4.0 * (self.weights.len() + 2) as f64 * f64::EPSILON * (sizes - worst);
        let needs_no_more = self.memory.iter().zip(&other.memory).all(|(own, other)| own <= other);
        needs_no_more && other.edges - self.edges + variance * (squares + worst - rounding) >= 0.0
    }
}
