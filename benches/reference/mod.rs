//! The ideal DP as published (Tarnawski 2020, section 5.1.1): a table over all ideals, filled from all pairs of them.
//!
//! The rival of the benchmarks and a check on their answers. It is written to be fast as it stands: the load of a
//! pair follows from that of a neighbouring pair, so a pair costs the degree of one unit.

#![allow(dead_code, reason = "one benchmark only enumerates")]

use dagsplit::cost::{Terms, max_of_pieces};
use dagsplit::internals::dp::loads::contains;
use dagsplit::internals::preprocess::{Reduced, joint};
use dagsplit::problem::fits;
use rustc_hash::FxHashMap;

/// All ideals of a graph by ascending size, as bit sets over its units.
pub struct Ideals {
    sets: Vec<Box<[u64]>>,
    /// For each ideal the units whose removal leaves an ideal, with that ideal.
    smaller: Vec<Vec<(usize, usize)>>,
}

impl Ideals {
    /// Every ideal, or `None` where there are more than `limit`. O(ideals · (n + m)).
    pub fn new(reduced: &Reduced, limit: usize) -> Option<Self> {
        let n = reduced.unit_count();
        let empty: Box<[u64]> = vec![0; n.div_ceil(64)].into();
        let mut number = FxHashMap::from_iter([(empty.clone(), 0)]);
        let mut all = Self { sets: vec![empty], smaller: vec![Vec::new()] };
        let mut i = 0;
        while i < all.sets.len() {
            for u in 0..n {
                let set = &all.sets[i];
                let ready = || reduced.order.predecessors(u).iter().all(|&p| contains(set, p as usize));
                if contains(set, u) || !ready() {
                    continue;
                }
                let mut larger = set.clone();
                larger[u / 64] |= 1 << (u % 64);
                let j = *number.entry(larger).or_insert_with_key(|larger| {
                    all.sets.push(larger.clone());
                    all.smaller.push(Vec::new());
                    all.sets.len() - 1
                });
                all.smaller[j].push((u, i));
                if all.sets.len() > limit {
                    return None;
                }
            }
            i += 1;
        }
        Some(all)
    }

    /// How many ideals there are.
    pub fn len(&self) -> usize {
        self.sets.len()
    }
}

/// What a set of units needs on one kind of device.
#[derive(Clone, Copy, Default)]
struct Sum {
    terms: Terms,
    memory: f64,
    unsupported: usize,
}

/// The least maximal load of a split into successive ideals, or `None` where no split fits.
///
/// O(ideals² · (degree + devices)). For the largest load, without replication and servers.
pub fn optimum(reduced: &Reduced, ideals: &Ideals) -> Option<f64> {
    let kinds = reduced.kinds.len();
    let steps = Steps::new(reduced);
    let mut best = vec![f64::INFINITY; ideals.len() * steps.uses];
    best[0] = 0.0;
    // The set that leads from ideal j to the current one: valid where `reached` names the current one.
    let mut sums = vec![Sum::default(); ideals.len() * kinds];
    let mut reached = vec![0; ideals.len()];
    for i in 1..ideals.len() {
        let (before, rest) = best.split_at_mut(i * steps.uses);
        sums[i * kinds..][..kinds].fill(Sum::default());
        reached[i] = i;
        for j in (0..=i).rev() {
            if reached[j] != i {
                continue;
            }
            if j < i {
                steps.extend(&before[j * steps.uses..], &sums[j * kinds..], rest);
            }
            for &(u, smaller) in &ideals.smaller[j] {
                if reached[smaller] != i {
                    reached[smaller] = i;
                    sums.copy_within(j * kinds..(j + 1) * kinds, smaller * kinds);
                    let inside =
                        |v: u32| contains(&ideals.sets[i], v as usize) && !contains(&ideals.sets[j], v as usize);
                    add(reduced, &mut sums[smaller * kinds..][..kinds], u, inside);
                }
            }
        }
    }
    let last = best[(ideals.len() - 1) * steps.uses..].iter().copied().fold(f64::INFINITY, f64::min);
    last.is_finite().then_some(last)
}

/// Adds unit `u` to the set that `inside` describes, whose needs are `sums`.
fn add(reduced: &Reduced, sums: &mut [Sum], u: usize, inside: impl Fn(u32) -> bool) {
    for (sum, kind) in sums.iter_mut().zip(&reduced.kinds) {
        match kind.terms(u) {
            Some(terms) => sum.terms.add(&joint(&terms)),
            None => sum.unsupported += 1,
        }
        sum.memory += kind.memory[u];
    }
    for &e in reduced.nets_of.row(u) {
        let net = &reduced.nets[e as usize];
        let pins = net.pins.iter().filter(|&&pin| inside(pin)).count();
        let (was_cut, is_cut) = (pins > 0, pins + 1 < net.pins.len());
        let made_inside = inside(net.source);
        let side = |cut: bool, made: bool| [f64::from(cut && !made), f64::from(cut && made)];
        let before = side(was_cut, made_inside);
        let after = side(is_cut, made_inside || net.source as usize == u);
        for (sum, kind) in sums.iter_mut().zip(&reduced.kinds) {
            sum.terms.comm_in += (after[0] - before[0]) * kind.transfers[e as usize];
            sum.terms.comm_out += (after[1] - before[1]) * kind.transfers[e as usize];
        }
    }
}

/// The ways to spend one more device, over the uses of devices as mixed-radix numbers.
struct Steps<'a> {
    reduced: &'a Reduced,
    uses: usize,
    /// For each kind the pairs (use before, use after).
    pairs: Vec<Vec<(usize, usize)>>,
}

impl<'a> Steps<'a> {
    fn new(reduced: &'a Reduced) -> Self {
        let mut uses = 1;
        let mut strides = Vec::new();
        for kind in &reduced.kinds {
            strides.push(uses);
            uses *= kind.count + 1;
        }
        let of_kind = |(stride, count): (&usize, usize)| {
            let free = |used: &usize| used / stride % (count + 1) < count;
            (0..uses).filter(free).map(|used| (used, used + stride)).collect()
        };
        let pairs = strides.iter().zip(reduced.kinds.iter().map(|k| k.count)).map(of_kind).collect();
        Self { reduced, uses, pairs }
    }

    /// Improves `after` by one more device of each kind that holds the set with these `sums`.
    fn extend(&self, before: &[f64], sums: &[Sum], after: &mut [f64]) {
        for ((kind, sum), pairs) in self.reduced.kinds.iter().zip(sums).zip(&self.pairs) {
            if sum.unsupported > 0 || !fits(sum.memory, kind.memory_limit) {
                continue;
            }
            let load = max_of_pieces(&kind.pieces, &sum.terms);
            for &(from, to) in pairs {
                after[to] = after[to].min(before[from].max(load));
            }
        }
    }
}
