//! Orders of a network's variables that leave few of them tied to later ones: path decompositions.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::network::Network;

/// A narrow order of the variables: from each of some starts the next one is always a neighbour that widens the frontier
/// least, and the order of the fewest joint values in all is kept.
///
/// O(starts · (variables + pairs of neighbours) · log variables), with fewer starts where that is much.
pub fn narrow<const D: usize>(network: &Network<D>) -> Vec<usize> {
    narrowest(network).1
}

/// The same with how many joint values its frontiers have in all.
pub fn narrowest<const D: usize>(network: &Network<D>) -> (f64, Vec<usize>) {
    let neighbours = neighbours(network);
    let widths = widths(network);
    let n = widths.len();
    let pairs: usize = neighbours.iter().map(Vec::len).sum();
    let starts = (MOST_VISITS / (n + pairs).max(1)).clamp(1, STARTS);
    let mut best: Option<(f64, Vec<usize>)> = None;
    for start in (0..n).step_by(n.div_ceil(starts).max(1)) {
        let least = best.as_ref().map(|(total, _)| *total);
        best = Walk::new(&neighbours, &widths).run(start, least).or(best);
    }
    best.unwrap_or_default()
}

/// An order of so many units that leaves few `ties` between them open, which have units on both sides: the next one is always
/// a neighbour that opens fewest and closes most.
///
/// O(units · neighbours of those before · ties of a unit).
pub fn closing(units: usize, ties: &[Vec<usize>]) -> Vec<usize> {
    let mut ties_of = vec![Vec::new(); units];
    ties.iter().enumerate().for_each(|(e, tie)| tie.iter().for_each(|&u| ties_of[u].push(e)));
    let mut left: Vec<usize> = ties.iter().map(Vec::len).collect();
    let mut rest: BTreeSet<usize> = (0..units).collect();
    let mut frontier = BTreeSet::new();
    let mut order = Vec::with_capacity(units);
    while let Some(&first) = rest.first() {
        let is_new = |e: usize| left[e] == ties[e].len();
        let growth =
            |u: &usize| ties_of[*u].iter().map(|&e| i64::from(is_new(e)) - i64::from(left[e] == 1)).sum::<i64>();
        let next = frontier.iter().copied().min_by_key(growth).unwrap_or(first);
        let opened = ties_of[next].iter().filter(|e| is_new(**e)).flat_map(|&e| &ties[e]);
        rest.remove(&next);
        frontier.extend(opened.filter(|u| rest.contains(u)));
        frontier.remove(&next);
        ties_of[next].iter().for_each(|&e| left[e] -= 1);
        order.push(next);
    }
    order
}

/// How wide an order is: the sum over its steps of two to the number of facts about what is placed that matter later, each
/// a unit that has open ties of its own, or an open tie of several placed ones. O(units · open ties).
pub fn width(order: &[usize], ties: &[Vec<usize>]) -> f64 {
    let mut at = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, &u)| at[u] = i);
    let steps = |tie: &Vec<usize>| {
        let mut steps: Vec<usize> = tie.iter().map(|&u| at[u]).collect();
        steps.sort_unstable();
        steps
    };
    let ties: Vec<Vec<usize>> = ties.iter().map(steps).filter(|steps| steps.len() > 1).collect();
    let (mut alone, mut shared) = (vec![0; order.len()], vec![0i32; order.len() + 1]);
    for steps in &ties {
        // The first unit alone stands for the tie up to the second one, the tie for itself up to the last one.
        alone[steps[0]] = alone[steps[0]].max(steps[1]);
        shared[steps[1]] += 1;
        shared[steps[steps.len() - 1]] -= 1;
    }
    for (i, &end) in alone.iter().enumerate().filter(|&(i, &end)| end > i) {
        shared[i] += 1;
        shared[end] -= 1;
    }
    let facts = shared.iter().take(order.len()).scan(0, |open, change| {
        *open += change;
        Some(*open)
    });
    facts.map(|open| f64::from(open).exp2()).sum()
}

/// The logarithm of how many values each variable has.
fn widths<const D: usize>(network: &Network<D>) -> Vec<i64> {
    network.domains.iter().map(|&values| (f64::from(values).ln() * WIDTH_UNIT).round() as i64).collect()
}

/// The other variables with which each variable shares a factor.
fn neighbours<const D: usize>(network: &Network<D>) -> Vec<Vec<usize>> {
    let mut neighbours = vec![Vec::new(); network.domains.len()];
    for factor in &network.factors {
        for &v in &factor.scope {
            neighbours[v].extend(factor.scope.iter().copied().filter(|&u| u != v));
        }
    }
    for around in &mut neighbours {
        around.sort_unstable();
        around.dedup();
    }
    neighbours
}

/// How good a candidate is, the least one being the best: by how much it widens the frontier, then how recently a
/// neighbour came, then its number.
type Key = (i64, Reverse<usize>, usize);

/// An order on its way.
struct Walk<'a> {
    neighbours: &'a [Vec<usize>],
    widths: &'a [i64],
    /// How many neighbours of each variable are still to come.
    left: Vec<usize>,
    /// The width of the placed variables for each one that is the last neighbour to come.
    closes: Vec<i64>,
    /// When a neighbour came last.
    touched: Vec<usize>,
    is_placed: Vec<bool>,
    candidates: BTreeSet<Key>,
    order: Vec<usize>,
}

impl<'a> Walk<'a> {
    fn new(neighbours: &'a [Vec<usize>], widths: &'a [i64]) -> Self {
        let n = widths.len();
        Self {
            neighbours,
            widths,
            left: neighbours.iter().map(Vec::len).collect(),
            closes: vec![0; n],
            touched: vec![0; n],
            is_placed: vec![false; n],
            candidates: BTreeSet::new(),
            order: Vec::with_capacity(n),
        }
    }

    /// The order from `start`, and how many joint values its frontiers have in all; `None` once those are no fewer than
    /// `least`.
    fn run(mut self, start: usize, least: Option<f64>) -> Option<(f64, Vec<usize>)> {
        let n = self.widths.len();
        let (mut frontier, mut total) = (0, 0.0);
        // Each component that does not hold the start begins at its first variable.
        for first in std::iter::once(start).chain(0..n) {
            if !self.is_placed[first] {
                self.candidates.insert(self.key(first));
            }
            while let Some((growth, _, next)) = self.candidates.pop_first() {
                frontier += growth;
                total += (frontier as f64 / WIDTH_UNIT).exp();
                if least.is_some_and(|least| total >= least) {
                    return None;
                }
                self.place(next);
            }
        }
        Some((total, self.order))
    }

    fn key(&self, v: usize) -> Key {
        let own = if self.left[v] > 0 { self.widths[v] } else { 0 };
        (own - self.closes[v], Reverse(self.touched[v]), v)
    }

    fn place(&mut self, next: usize) {
        self.is_placed[next] = true;
        self.order.push(next);
        for &u in &self.neighbours[next] {
            if !self.is_placed[u] {
                self.candidates.remove(&self.key(u));
            }
            self.left[u] -= 1;
            self.touched[u] = self.order.len();
            if !self.is_placed[u] {
                self.candidates.insert(self.key(u));
            }
        }
        self.note_last_of(next);
        for &u in &self.neighbours[next] {
            self.note_last_of(u);
        }
    }

    /// Where one neighbour alone of a placed variable is still to come, that one closes it.
    fn note_last_of(&mut self, u: usize) {
        if !self.is_placed[u] || self.left[u] != 1 {
            return;
        }
        if let Some(&last) = self.neighbours[u].iter().find(|&&v| !self.is_placed[v]) {
            self.candidates.remove(&self.key(last));
            self.closes[last] += self.widths[u];
            self.candidates.insert(self.key(last));
        }
    }
}

/// From how many variables an order is tried.
const STARTS: usize = 64;

/// The most visits to variables and pairs of neighbours from all starts.
const MOST_VISITS: usize = 2_000_000;

/// Widths are logarithms in whole numbers of this part of one, so that equal ones are told.
const WIDTH_UNIT: f64 = 1e9;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_is_followed_from_one_end() {
        let mut network = Network::<1> { domains: vec![2; 5], factors: Vec::new(), units: 5 };
        for (u, v) in [(3, 1), (1, 4), (4, 0), (0, 2)] {
            network.add(vec![u, v], |_| Some([0.0]));
        }
        let order = narrow(&network);
        // Beside an end is as good a start as the end.
        let narrowest = [[3, 1, 4, 0, 2], [1, 3, 4, 0, 2], [2, 0, 4, 1, 3], [0, 2, 4, 1, 3]];
        assert!(narrowest.iter().any(|known| order == known), "{order:?}");
    }

    proptest! {
        #[test]
        fn the_frontier_is_widened_least(pairs in vec((0..9usize, 0..9usize), 0..20), domains in vec(2..=3u8, 9), start in 0..9usize) {
            let mut network = Network::<1> { domains, factors: Vec::new(), units: 9 };
            for (u, v) in pairs.into_iter().filter(|(u, v)| u != v) {
                network.add(vec![u, v], |_| Some([0.0]));
            }
            let neighbours = neighbours(&network);
            let widths = widths(&network);
            let (total, order) = Walk::new(&neighbours, &widths).run(start, None).unwrap();
            // The width of the frontier of these variables.
            let width = |placed: &[usize]| {
                let is_open = |v: &&usize| neighbours[**v].iter().any(|u| !placed.contains(u));
                placed.iter().filter(is_open).map(|&v| widths[v]).sum::<i64>()
            };
            let mut sum = 0.0;
            for i in 0..order.len() {
                let placed = &order[..=i];
                sum += (width(placed) as f64 / WIDTH_UNIT).exp();
                let is_candidate = |v: &usize| {
                    !order[..i].contains(v) && neighbours[*v].iter().any(|u| order[..i].contains(u))
                };
                for other in (0..9).filter(is_candidate) {
                    let instead: Vec<usize> = order[..i].iter().copied().chain([other]).collect();
                    prop_assert!(width(placed) <= width(&instead), "{order:?}: {other} instead at {i}");
                }
            }
            prop_assert!((total - sum).abs() <= 1e-9 * sum, "{total} is not {sum}");
            prop_assert_eq!(Walk::new(&neighbours, &widths).run(start, Some(sum * 0.999)), None);
            let mut sorted = order;
            sorted.sort_unstable();
            prop_assert!(sorted.into_iter().eq(0..9));
        }
    }

    proptest! {
        #[test]
        fn ties_are_closed_greedily(ties in vec(vec(0..8usize, 2..4), 0..12)) {
            let ties: Vec<Vec<usize>> = ties.into_iter().map(|mut tie| { tie.sort_unstable(); tie.dedup(); tie }).collect();
            let order = closing(8, &ties);
            let is_open = |tie: &Vec<usize>, placed: &[usize]| {
                let count = tie.iter().filter(|u| placed.contains(u)).count();
                (0 < count && count < tie.len()).then_some(count)
            };
            let mut wide = 0.0;
            for i in 0..8 {
                let (before, placed) = (&order[..i], &order[..=i]);
                let open = |placed: &[usize]| ties.iter().filter(|tie| is_open(tie, placed).is_some()).count();
                let is_neighbour = |u: &usize| {
                    !before.contains(u) && ties.iter().any(|tie| tie.contains(u) && is_open(tie, before).is_some())
                };
                for other in (0..8).filter(is_neighbour) {
                    let instead = [before, &[other]].concat();
                    prop_assert!(open(placed) <= open(&instead) && is_neighbour(&order[i]), "{order:?}: {other} instead at {i}");
                }
                let of_several = ties.iter().filter(|tie| is_open(tie, placed).is_some_and(|count| count > 1)).count();
                let is_alone = |u: &&usize| ties.iter().any(|tie| tie.contains(u) && is_open(tie, placed) == Some(1));
                wide += ((of_several + placed.iter().filter(is_alone).count()) as f64).exp2();
            }
            prop_assert_eq!(width(&order, &ties), wide);
            let mut sorted = order;
            sorted.sort_unstable();
            prop_assert!(sorted.into_iter().eq(0..8));
        }
    }
}
