//! The configuration of a block that is worth the most, where a stage has but so many copies.
//!
//! What a block holds is a part of every pipeline: groups that are disjoint. At a price for each device the best part of a
//! pipeline is found by dynamic programming over the stages that are left. So many pipelines, and what the block's devices
//! are worth at the price, are a bound on all configurations; the parts themselves, as far as they find room, make a good one.

use std::collections::BTreeMap;

use super::groups::bits;

/// The most sets of stages that are told apart.
const MOST_RESTS: usize = 2000;

/// How many prices are tried.
const PRICES: usize = 10;

/// A group that a block may hold.
#[derive(Debug, Clone, Copy)]
pub struct Offer {
    /// Its number.
    pub group: usize,
    /// Its stages, as bits.
    pub members: u64,
    /// What it is worth.
    pub worth: f64,
}

impl Offer {
    fn size(&self) -> usize {
        self.members.count_ones() as usize
    }
}

/// The groups that a block may hold.
pub struct Offers {
    /// By stage: how many copies are left.
    left: Vec<usize>,
    /// By first stage.
    offers: Vec<Vec<Offer>>,
}

/// By stages that are left: what the best part of a pipeline among them is worth, and its group with the first of them.
type Parts = BTreeMap<u64, (f64, Option<Offer>)>;

impl Offers {
    /// Those of these groups of which a copy of each stage is left.
    pub fn new(left: Vec<usize>, offers: impl Iterator<Item = Offer>) -> Self {
        let mut by_first = vec![Vec::new(); left.len()];
        for offer in offers.filter(|offer| bits(offer.members).all(|stage| left[stage] > 0)) {
            by_first[offer.members.trailing_zeros() as usize].push(offer);
        }
        Self { left, offers: by_first }
    }

    /// What a block of `size` devices can hold at most, if of all stages equally many copies are left, and groups that it
    /// may hold.
    pub fn best(&self, size: usize) -> (f64, Vec<Offer>) {
        let sum = |offers: &[Offer]| offers.iter().map(|offer| offer.worth).sum::<f64>();
        let best = self.knapsack(size, |_| true);
        let most = sum(&best);
        if self.allows(best.iter().copied()) {
            return (most, best);
        }
        let best = self.knapsack(size, |way| self.allows(way.iter().copied()));
        match self.of_pipelines(size) {
            Some((bound, other)) if sum(&other) > sum(&best) => (most.min(bound), other),
            Some((bound, _)) => (most.min(bound), best),
            None => (most, best),
        }
    }

    /// Whether enough copies are left for these groups together.
    fn allows(&self, offers: impl Iterator<Item = Offer>) -> bool {
        let mut left = self.left.clone();
        offers.flat_map(|offer| bits(offer.members)).all(|stage| {
            let is_left = left[stage] > 0;
            left[stage] = left[stage].saturating_sub(1);
            is_left
        })
    }

    /// The bound, and the groups, of parts of pipelines at the best price; `None` where there are too many sets of stages.
    fn of_pipelines(&self, size: usize) -> Option<(f64, Vec<Offer>)> {
        let (mut most, mut best, mut best_worth) = (f64::INFINITY, Vec::new(), 0.0);
        let worth = |offer: &Offer| offer.worth / offer.size() as f64;
        let (mut low, mut high, mut price) = (0.0, self.offers.iter().flatten().map(worth).fold(0.0, f64::max), 0.0);
        for _ in 0..PRICES {
            let (bound, wanted, configuration) = self.at_price(price, size)?;
            most = most.min(bound);
            let worth: f64 = configuration.iter().map(|offer| offer.worth).sum();
            if worth > best_worth {
                (best, best_worth) = (configuration, worth);
            }
            // What pipelines would take of the block says on which side the least bound is.
            *(if wanted > size { &mut low } else { &mut high }) = price;
            if low >= high {
                break;
            }
            price = f64::midpoint(low, high);
        }
        Some((most, best))
    }

    /// The bound at this price, how many devices all pipelines would take, and what of that finds room.
    fn at_price(&self, price: f64, size: usize) -> Option<(f64, usize, Vec<Offer>)> {
        let (mut left, mut parts) = (self.left.clone(), Parts::new());
        let (mut bound, mut wanted, mut room, mut configuration) = (price * size as f64, 0, size, Vec::new());
        loop {
            let mut rest = (0..left.len()).filter(|&stage| left[stage] > 0).fold(0, |rest, stage| rest | 1 << stage);
            let (value, _) = self.part(rest, price, &mut parts)?;
            if value <= 0.0 {
                return Some((bound, wanted, configuration));
            }
            bound += value;
            bits(rest).for_each(|stage| left[stage] -= 1);
            while let Some(&(_, next)) = parts.get(&rest) {
                let Some(offer) = next else {
                    rest &= rest - 1;
                    continue;
                };
                rest &= !offer.members;
                wanted += offer.size();
                if offer.size() <= room {
                    room -= offer.size();
                    configuration.push(offer);
                }
            }
        }
    }

    /// What the best part of a pipeline with stages of `rest` is worth beyond its devices' price.
    fn part(&self, rest: u64, price: f64, parts: &mut Parts) -> Option<(f64, Option<Offer>)> {
        if rest == 0 {
            return Some((0.0, None));
        }
        if let Some(&known) = parts.get(&rest) {
            return Some(known);
        }
        let mut best = (self.part(rest & (rest - 1), price, parts)?.0, None);
        for &offer in &self.offers[rest.trailing_zeros() as usize] {
            let gain = offer.worth - price * offer.size() as f64;
            if gain > 0.0 && offer.members & !rest == 0 {
                let value = gain + self.part(rest & !offer.members, price, parts)?.0;
                if value > best.0 {
                    best = (value, Some(offer));
                }
            }
        }
        if parts.len() >= MOST_RESTS {
            return None;
        }
        parts.insert(rest, best);
        Some(best)
    }

    /// The groups that are worth the most on so many devices, of each size the one worth the most, as far as they are
    /// allowed together on the way.
    fn knapsack(&self, size: usize, is_allowed: impl Fn(&[Offer]) -> bool) -> Vec<Offer> {
        let mut by_size: BTreeMap<usize, Offer> = BTreeMap::new();
        for offer in self.offers.iter().flatten().filter(|offer| offer.size() <= size) {
            let best = by_size.entry(offer.size()).or_insert(*offer);
            if offer.worth > best.worth {
                *best = *offer;
            }
        }
        // By number of devices: what they hold at best, and the group among it that was put there last.
        let mut held: Vec<(f64, Option<Offer>)> = vec![(0.0, None)];
        for devices in 1..=size {
            let mut best = (held[devices - 1].0, None);
            for offer in by_size.range(..=devices).map(|(_, &offer)| offer) {
                let before = devices - offer.size();
                let value = held[before].0 + offer.worth;
                if value > best.0 && is_allowed(&way(&held, before).chain([offer]).collect::<Vec<_>>()) {
                    best = (value, Some(offer));
                }
            }
            held.push(best);
        }
        way(&held, size).collect()
    }
}

/// The groups that make up the most that so many devices hold.
fn way(held: &[(f64, Option<Offer>)], mut devices: usize) -> impl Iterator<Item = Offer> {
    std::iter::from_fn(move || {
        while devices > 0 {
            match held[devices].1 {
                Some(offer) => {
                    devices -= offer.size();
                    return Some(offer);
                }
                None => devices -= 1,
            }
        }
        None
    })
}
