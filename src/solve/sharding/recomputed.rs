//! The flat search as the authors of Chen 2024 run it: every move is judged by the cost from scratch.
//!
//! Units lie in components, one for each part and none empty. A move of a unit to another component is tried by giving
//! the components to parts anew, greedily, and computing the cost of all that: O(k · p + m · d) for a move, where
//! [`Placement`](super::Placement) has O(1). A sweep goes through the ordered pairs of components, and makes for each the
//! first move that lowers the cost; *it ends after the first component that gave a unit away*. The paper's pseudocode
//! (section 2.3) has no such end, but the program behind its figures has, so that N sweeps change N components at most.

use rand::RngExt;
use rand::seq::SliceRandom;

use super::Model;
use super::descent::random_placement;
use crate::problem::fits;
use crate::solve::SearchContext;

/// The placement that at most `sweeps` sweeps from a random one lead to; `None` where no placement that fits was found.
pub fn search(model: &Model, sweeps: usize, rng: &mut impl RngExt, cx: &SearchContext) -> Option<Vec<u32>> {
    let mut search = Sweeps { model, component_of: components(model, rng), best: None };
    search.best = search.placed();
    if search.best.is_none() {
        // Components that fit where they are.
        search.component_of = random_placement(model, rng)?;
        search.best = Some((model.cost(&search.component_of), search.component_of.clone()));
    }
    for _ in 0..sweeps {
        if cx.should_stop() || !search.sweep(cx) {
            break;
        }
    }
    search.best.map(|(_, part_of)| part_of)
}

/// A random component for each unit: every component gets one, the others go anywhere.
fn components(model: &Model, rng: &mut impl RngExt) -> Vec<u32> {
    let k = model.part_count();
    let mut order: Vec<usize> = (0..model.unit_count()).collect();
    order.shuffle(rng);
    let mut component_of = vec![0; order.len()];
    for (i, u) in order.into_iter().enumerate() {
        component_of[u] = if i < k { i } else { rng.random_range(0..k) } as u32;
    }
    component_of
}

struct Sweeps<'a> {
    model: &'a Model,
    component_of: Vec<u32>,
    /// The least cost so far, and the part of each unit.
    best: Option<(f64, Vec<u32>)>,
}

impl Sweeps<'_> {
    /// Goes through the components until one has given units away; whether one has.
    fn sweep(&mut self, cx: &SearchContext) -> bool {
        let k = self.model.part_count() as u32;
        for from in 0..k {
            let mut has_given = false;
            for to in (0..k).filter(|&to| to != from) {
                has_given |= self.try_pair(from, to);
                if cx.should_stop() {
                    return false;
                }
            }
            if has_given {
                return true;
            }
        }
        false
    }

    /// Makes the first move from one component to another that lowers the cost; whether there is one.
    fn try_pair(&mut self, from: u32, to: u32) -> bool {
        let units: Vec<usize> = (0..self.component_of.len()).filter(|&u| self.component_of[u] == from).collect();
        if units.len() < 2 {
            // No component may be empty.
            return false;
        }
        for u in units {
            self.component_of[u] = to;
            let placed = self.placed();
            let is_better = |(cost, _): &(f64, _)| self.best.as_ref().is_none_or(|(best, _)| cost < best);
            if placed.as_ref().is_some_and(is_better) {
                self.best = placed;
                return true;
            }
            self.component_of[u] = from;
        }
        false
    }

    /// The components given to parts, with the cost of that; `None` where that does not fit.
    fn placed(&self) -> Option<(f64, Vec<u32>)> {
        let part_of_component = self.assigned()?;
        let part_of: Vec<u32> = self.component_of.iter().map(|&c| part_of_component[c as usize]).collect();
        Some((self.model.cost(&part_of), part_of))
    }

    /// A part for each component: those with most edges to others choose first, each the free part where its edges to
    /// those before it cost least. `None` where one fits no free part.
    fn assigned(&self) -> Option<Vec<u32>> {
        let k = self.model.part_count();
        let edges = self.edges();
        let mut order: Vec<usize> = (0..k).collect();
        let total = |c: usize| edges[c].iter().map(|&(_, count)| count).sum::<f64>();
        order.sort_by(|&a, &b| total(b).total_cmp(&total(a)));
        let needs = self.needs();
        let mut part_of: Vec<Option<usize>> = vec![None; k];
        let mut is_free = vec![true; k];
        for c in order {
            let cost = |part: usize| -> f64 {
                let placed = edges[c].iter().filter_map(|&(other, count)| Some((part_of[other]?, count)));
                placed.map(|(other, count)| count * self.model.price(part, other)).sum()
            };
            let admits = |part: usize| {
                let part = self.model.parts[part];
                needs[part.kind][c].is_some_and(|need| fits(need, part.limit))
            };
            let costs = (0..k).filter(|&part| is_free[part] && admits(part)).map(|part| (cost(part), part));
            let (_, part) = costs.min_by(|a, b| a.0.total_cmp(&b.0))?;
            is_free[part] = false;
            part_of[c] = Some(part);
        }
        part_of.into_iter().map(|part| part.map(|part| part as u32)).collect()
    }

    /// For each component the other ones it shares edges with, and how many.
    fn edges(&self) -> Vec<Vec<(usize, f64)>> {
        let k = self.model.part_count();
        let mut edges: Vec<Vec<(usize, f64)>> = vec![Vec::new(); k];
        for (u, links) in self.model.links.iter().enumerate() {
            let own = self.component_of[u] as usize;
            for &(v, count) in links {
                let other = self.component_of[v as usize] as usize;
                match edges[own].iter_mut().find(|(c, _)| *c == other) {
                    _ if other == own => {}
                    Some((_, sum)) => *sum += count,
                    None => edges[own].push((other, count)),
                }
            }
        }
        edges
    }

    /// By kind of part: the bytes that each component needs there, `None` where it cannot run.
    fn needs(&self) -> Vec<Vec<Option<f64>>> {
        let of_kind = |needs: &Vec<Option<f64>>| {
            let mut sums = vec![Some(0.0); self.model.part_count()];
            for (&c, need) in self.component_of.iter().zip(needs) {
                let sum = &mut sums[c as usize];
                *sum = sum.zip(*need).map(|(sum, need)| sum + need);
            }
            sums
        };
        self.model.needs.iter().map(of_kind).collect()
    }
}
