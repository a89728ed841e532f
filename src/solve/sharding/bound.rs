//! What the units still to be placed cost at least.
//!
//! Two things cost: squares of weights and edges. To the squares the bound is water: the weight that is left fills up
//! the lightest parts to one level, save that its heaviest unit stays whole. Edges keep it from spreading freely. Take
//! the graph of unplaced units with the parts that hold their placed neighbours, one vertex for each part: where the
//! units of one of its components end up on t parts, those parts included, at least t − 1 of its edges are cut. So
//! water fills the parts that the components hang on for nothing, and each further one costs an edge.

use super::Model;

/// The units from some position of the order on.
struct Suffix {
    weight: f64,
    heaviest: f64,
    /// How many components with weight they have.
    components: usize,
    /// The placed neighbours of each component that has some, and whether it has weight.
    hangs_on: Vec<(Vec<u32>, bool)>,
    /// The units with placed neighbours: these, and the edges to them.
    bordering: Vec<Vec<(u32, f64)>>,
}

/// Bounds on completions of placements of the first units of an order.
pub(super) struct Completion<'a> {
    model: &'a Model,
    suffixes: Vec<Suffix>,
    /// The mean weight of the parts. All filling is off it: squares of whole weights would round by more than an edge.
    mean: f64,
    /// The least cost of an edge between two parts.
    near: f64,
    /// The least cost of an edge between two sites.
    far: f64,
    /// The most parts of one site.
    site_size: usize,
}

/// Parts as they are filled so far.
#[derive(Default)]
pub(super) struct Filling {
    /// Weights off the mean of the parts that water may fill, ascending.
    wet: Vec<f64>,
    /// Those of the others, descending.
    dry: Vec<f64>,
}

impl<'a> Completion<'a> {
    /// Prepares `order` for parts at `sites`. O(n · (n + m) + k²).
    pub fn new(model: &'a Model, order: &[usize], sites: &[usize]) -> Self {
        let suffixes = (0..=order.len()).map(|i| Suffix::new(model, &order[..i], &order[i..])).collect();
        Self::with_suffixes(model, suffixes, sites)
    }

    fn with_suffixes(model: &'a Model, suffixes: Vec<Suffix>, sites: &[usize]) -> Self {
        let k = model.part_count();
        let pairs = || (0..k).flat_map(|a| (0..a).map(move |b| (a, b)));
        let least = |far: bool| {
            let pairs = pairs().filter(|&(a, b)| !far || sites[a] != sites[b]);
            pairs.map(|(a, b)| model.price(a, b)).min_by(f64::total_cmp)
        };
        let near = least(false).unwrap_or(0.0);
        let size = |site: usize| sites.iter().filter(|&&other| other == site).count();
        let site_size = sites.iter().map(|&site| size(site)).max().unwrap_or(1);
        Self { model, suffixes, mean: model.mean(), near, far: least(true).unwrap_or(near), site_size }
    }

    /// A lower bound on the sharding cost of any placement. O(n + m + k²).
    pub fn of_all(model: &'a Model, sites: &[usize]) -> f64 {
        let k = model.part_count();
        let all: Vec<usize> = (0..model.unit_count()).collect();
        let none_placed = Self::with_suffixes(model, vec![Suffix::new(model, &[], &all)], sites);
        let least = none_placed.least(0, &[], &vec![0.0; k], &mut Filling::default());
        (least - model.rounding(least)).max(0.0)
    }

    /// What variance · Σ (W − W̄)² of all parts and the edges of unplaced units are at least, once the units before
    /// position `depth` are placed as `part_of` says, so that the parts weigh `weights`.
    pub fn least(&self, depth: usize, part_of: &[u32], weights: &[f64], filling: &mut Filling) -> f64 {
        let suffix = &self.suffixes[depth];
        let mut is_hung_on = vec![false; weights.len()];
        let (mut hung, mut conflicts, mut weightless) = (0, 0, 0);
        for (placed, has_weight) in &suffix.hangs_on {
            let mut parts: Vec<u32> = placed.iter().map(|&u| part_of[u as usize]).collect();
            parts.sort_unstable();
            parts.dedup();
            conflicts += parts.len() - 1;
            if *has_weight {
                for d in parts {
                    hung += usize::from(!std::mem::replace(&mut is_hung_on[d as usize], true));
                }
            } else {
                weightless += parts.len() - 1;
            }
        }
        let forced = self.pulls(suffix, part_of).max(self.near * conflicts as f64);
        if suffix.weight <= 0.0 {
            let squares: f64 = weights.iter().map(|weight| (weight - self.mean).powi(2)).sum();
            return self.model.variance * squares + forced;
        }
        filling.start(weights, self.mean, &is_hung_on);
        let mut least = f64::INFINITY;
        for parts in hung.. {
            if let Some(squares) = filling.squares(suffix.weight, suffix.heaviest) {
                let cut = (parts + weightless).saturating_sub(suffix.components) as f64;
                let sites_cut = parts.div_ceil(self.site_size).saturating_sub(suffix.components) as f64;
                let edges = (self.near * cut + (self.far - self.near) * sites_cut).max(forced);
                least = least.min(self.model.variance * squares + edges);
            }
            if !filling.wet_another() {
                break;
            }
        }
        least
    }

    /// What the edges between unplaced and placed units cost if each unplaced one goes where that is least.
    fn pulls(&self, suffix: &Suffix, part_of: &[u32]) -> f64 {
        let least = |placed: &Vec<(u32, f64)>| {
            let on = |d: usize| -> f64 {
                placed.iter().map(|&(v, edges)| edges * self.model.price(d, part_of[v as usize] as usize)).sum()
            };
            if placed.len() < 2 {
                return 0.0;
            }
            (0..self.model.part_count()).map(on).min_by(f64::total_cmp).unwrap_or(0.0)
        };
        suffix.bordering.iter().map(least).sum()
    }
}

impl Suffix {
    fn new(model: &Model, placed: &[usize], left: &[usize]) -> Self {
        let mut is_left = vec![false; placed.len() + left.len()];
        left.iter().for_each(|&u| is_left[u] = true);
        let mut suffix = Self {
            weight: left.iter().map(|&u| model.weights[u]).sum(),
            heaviest: left.iter().map(|&u| model.weights[u]).fold(0.0, f64::max),
            components: 0,
            hangs_on: Vec::new(),
            bordering: Vec::new(),
        };
        let mut is_seen = vec![false; is_left.len()];
        for &root in left {
            if std::mem::replace(&mut is_seen[root], true) {
                continue;
            }
            let (mut weight, mut neighbours, mut stack) = (0.0, Vec::new(), vec![root]);
            while let Some(u) = stack.pop() {
                weight += model.weights[u];
                let to_placed = model.links[u].iter().copied().filter(|&(v, _)| !is_left[v as usize]);
                let bordering: Vec<(u32, f64)> = to_placed.collect();
                neighbours.extend(bordering.iter().map(|&(v, _)| v));
                suffix.bordering.extend(Some(bordering).filter(|bordering| !bordering.is_empty()));
                for &(v, _) in &model.links[u] {
                    if is_left[v as usize] && !std::mem::replace(&mut is_seen[v as usize], true) {
                        stack.push(v as usize);
                    }
                }
            }
            neighbours.sort_unstable();
            neighbours.dedup();
            suffix.components += usize::from(weight > 0.0);
            suffix.hangs_on.extend(Some((neighbours, weight > 0.0)).filter(|(neighbours, _)| !neighbours.is_empty()));
        }
        suffix
    }
}

impl Filling {
    /// Lets water fill the parts that something hangs on.
    fn start(&mut self, weights: &[f64], mean: f64, is_hung_on: &[bool]) {
        self.wet.clear();
        self.dry.clear();
        for (&weight, &is_hung_on) in weights.iter().zip(is_hung_on) {
            if is_hung_on { self.wet.push(weight - mean) } else { self.dry.push(weight - mean) }
        }
        self.wet.sort_unstable_by(f64::total_cmp);
        self.dry.sort_unstable_by(|a, b| b.total_cmp(a));
    }

    /// Lets water fill the lightest of the other parts too; `false` where there is none.
    fn wet_another(&mut self) -> bool {
        let Some(weight) = self.dry.pop() else { return false };
        let at = self.wet.partition_point(|&other| other <= weight);
        self.wet.insert(at, weight);
        true
    }

    /// What Σ (W − W̄)² of all parts is at least once this weight fills the wet ones, `heaviest` of it on one of them;
    /// `None` where there are none.
    fn squares(&self, weight: f64, heaviest: f64) -> Option<f64> {
        let (&lightest, others) = self.wet.split_first()?;
        let dry: f64 = self.dry.iter().map(|part| part * part).sum();
        if level(&self.wet, weight) >= lightest + heaviest || others.is_empty() {
            return Some(dry + filled(&self.wet, weight));
        }
        Some(dry + (lightest + heaviest).powi(2) + filled(others, weight - heaviest))
    }
}

/// The level to which `weight` fills parts of ascending weights, at least one.
fn level(parts: &[f64], weight: f64) -> f64 {
    let mut sum = weight;
    let mut level = f64::INFINITY;
    for (i, &part) in parts.iter().enumerate() {
        if level <= part {
            break;
        }
        sum += part;
        level = sum / (i + 1) as f64;
    }
    level
}

/// The sum of squares once `weight` fills parts of ascending weights.
fn filled(parts: &[f64], weight: f64) -> f64 {
    let level = level(parts, weight);
    parts.iter().map(|&part| part.max(level).powi(2)).sum()
}
