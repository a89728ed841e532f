//! The least load of a set that holds some units and not others: a minimum cut.

use super::flow::{Network, UNBOUNDED};
use super::linear::{LinearLoad, most_replicas};
use crate::preprocess::Reduced;
use crate::problem::Problem;

/// Who can hold a set of units: one device of a kind, or several as replicas, with the least loads of such sets.
#[derive(Debug, Clone)]
pub struct Holder {
    /// Index into [`Reduced::kinds`].
    pub kind: usize,
    /// How many devices share the set.
    pub replicas: usize,
    /// The least loads by each linear bound of a load: all hold at once.
    pub cuts: Vec<LoadCuts>,
}

impl Holder {
    /// All holders of the units of `reduced`: each device kind, with each admissible number of replicas.
    pub fn all(problem: &Problem, reduced: &Reduced) -> Vec<Self> {
        let kinds = reduced.kinds.iter().enumerate().filter(|(_, costs)| costs.count > 0);
        kinds
            .flat_map(|(kind, costs)| (1..=most_replicas(problem, costs)).map(move |replicas| (kind, replicas)))
            .map(|(kind, replicas)| {
                let loads = LinearLoad::all(problem, reduced, kind, replicas);
                Self { kind, replicas, cuts: loads.into_iter().map(|load| LoadCuts::new(reduced, load)).collect() }
            })
            .collect()
    }

    /// Keeps unit `u` out of all sets from now on.
    pub fn forbid(&mut self, u: usize) {
        self.cuts.iter_mut().for_each(|cuts| cuts.forbid(u));
    }
}

/// Steps of the bisection on a price.
const PRICE_STEPS: usize = 24;

/// Minimum cuts for one linear bound of a load.
///
/// A vertex for each unit drains the unit's weight. A net of two pins is an arc each way. A larger one has two vertices
/// of its own: one that the source feeds by the outward price and that feeds all pins, one that all pins feed and that
/// feeds the source by the inward price.
#[derive(Debug, Clone)]
pub struct LoadCuts {
    load: LinearLoad,
    network: Network,
    units: usize,
}

impl LoadCuts {
    /// The cuts of `load` on the units of `reduced`. O(n + pins).
    pub(super) fn new(reduced: &Reduced, load: LinearLoad) -> Self {
        let units = reduced.unit_count();
        let mut drain: Vec<u64> = load.weight.iter().map(|weight| weight.unwrap_or(UNBOUNDED)).collect();
        let mut connections = Vec::new();
        for (e, net) in reduced.nets.iter().enumerate() {
            let source = net.source as usize;
            let (outward, inward) = (load.outward[e], load.inward[e]);
            let others = || net.pins.iter().map(|&u| u as usize).filter(|&u| u != source);
            if net.pins.len() == 2 {
                connections.extend(others().map(|u| (source, u, outward, inward)));
                continue;
            }
            if outward > 0 {
                connections.push((source, drain.len(), outward, 0));
                connections.extend(others().map(|u| (drain.len(), u, UNBOUNDED, 0)));
                drain.push(0);
            }
            if inward > 0 {
                connections.push((drain.len(), source, inward, 0));
                connections.extend(others().map(|u| (u, drain.len(), UNBOUNDED, 0)));
                drain.push(0);
            }
        }
        Self { load, network: Network::new(drain, &connections), units }
    }

    /// Keeps unit `u` out of all sets from now on.
    pub fn forbid(&mut self, u: usize) {
        self.network.set_drain(u, UNBOUNDED);
    }

    /// Lets sets hold unit `u` again, if a device can.
    pub fn allow(&mut self, u: usize) {
        self.network.set_drain(u, self.load.weight[u].unwrap_or(UNBOUNDED));
    }

    /// The least load of a set that holds the units `inside`, which are distinct; `None` when there is no such set.
    pub fn least(&mut self, inside: &[usize]) -> Option<f64> {
        let flow = self.cut(inside, UNBOUNDED);
        (flow < UNBOUNDED).then(|| self.load.time(flow))
    }

    /// Whether every set that holds the units `inside`, which are distinct, loads its device more than `target`, by more
    /// than rounding. Costs less than [`Self::least`] where it is so.
    pub fn exceeds(&mut self, inside: &[usize], target: f64) -> bool {
        let limit = self.load.steps_in(target);
        self.cut(inside, limit) > limit
    }

    /// Whether every set that holds at least `count` of the units `among`, which are distinct, loads its device more than
    /// `target`. `Some(false)` where [`Self::set`] does not; `None` where a Lagrangian price shows neither.
    ///
    /// With a price for each of these units left out, a minimum cut bounds load + price · (units left out) of all sets,
    /// and so the load of those that leave few out. Bisects on the price.
    pub fn crowds(&mut self, among: &[usize], count: usize, target: f64) -> Option<bool> {
        let limit = self.load.steps_in(target);
        let left_out = (among.len() - count) as u64;
        let (mut low, mut high) = (0, limit.saturating_add(1).min(UNBOUNDED));
        for _ in 0..PRICE_STEPS {
            let price = low + (high - low) / 2;
            let supplies: Vec<(usize, u64)> = among.iter().map(|&u| (u, price)).collect();
            let cut = self.network.cut(&supplies, u64::MAX);
            if cut > limit.saturating_add(price.saturating_mul(left_out)) {
                return Some(true);
            }
            let held = self.set().filter(|u| among.contains(u)).count();
            if held >= count && cut - price * (among.len() - held) as u64 <= limit {
                return Some(false);
            }
            if held == count || high - low <= 1 {
                return None;
            }
            if held < count { low = price } else { high = price }
        }
        None
    }

    fn cut(&mut self, inside: &[usize], limit: u64) -> u64 {
        let supplies: Vec<(usize, u64)> = inside.iter().map(|&u| (u, UNBOUNDED)).collect();
        self.network.cut(&supplies, limit)
    }

    /// The smallest set of the least load, if the last call found one that does not exceed its target.
    pub fn set(&self) -> impl Iterator<Item = usize> + '_ {
        self.network.side().filter(|&u| u < self.units)
    }
}
