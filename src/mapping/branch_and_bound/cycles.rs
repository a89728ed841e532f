//! Cycles of a given length: depth-first search.
//!
//! A ring whose links are few is hard to come upon by chance and soon found by looking: where a graph is so sparse that it
//! has hardly a cycle of some length, it has few paths as well.

use super::set::Set;

/// What a search for a cycle found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cycle {
    /// There is this one.
    Through(Vec<usize>),
    /// There is none.
    None,
    /// A limit came first.
    Unknown,
}

/// Steps of the first try from each device, and how many times as many each later one takes: devices differ much in how
/// soon a cycle is found from them.
const FIRST_TRY: u64 = 256;
const GROWTH: u64 = 8;

/// A cycle through `length` different devices of `all`, where `joined` says which devices a device has a link to, found in
/// at most about `effort` steps. Exponential in `length` at worst.
pub fn cycle<const W: usize>(all: &Set<W>, length: usize, joined: impl Fn(usize) -> Set<W>, mut effort: u64) -> Cycle {
    let mut graph = Graph::new(all, joined);
    let mut steps = FIRST_TRY;
    while graph.rest.len() >= length {
        for start in graph.rest.iter() {
            // Telling what is near takes a step for each device.
            effort = effort.saturating_sub(graph.rest.len() as u64);
            let mut left = steps.min(effort);
            effort -= left;
            match graph.through(start, length, &mut left) {
                Cycle::None => graph.rest.remove(start),
                Cycle::Unknown if effort == 0 => return Cycle::Unknown,
                Cycle::Unknown => (),
                found @ Cycle::Through(_) => return found,
            }
            effort += left;
        }
        steps *= GROWTH;
    }
    Cycle::None
}

/// Links between devices.
struct Graph<const W: usize> {
    /// The devices that may yet be in a cycle.
    rest: Set<W>,
    /// By device: those it has a link to, and those that have one to it.
    to: Vec<Set<W>>,
    from: Vec<Set<W>>,
}

impl<const W: usize> Graph<W> {
    fn new(all: &Set<W>, joined: impl Fn(usize) -> Set<W>) -> Self {
        let mut graph = Self { rest: *all, to: vec![Set::EMPTY; 64 * W], from: vec![Set::EMPTY; 64 * W] };
        for device in all.iter() {
            graph.to[device] = joined(device) & *all;
            graph.to[device].remove(device);
            graph.to[device].iter().for_each(|other| graph.from[other].insert(device));
        }
        graph
    }

    /// By number of links: the devices from which `end` is reached over at most so many.
    fn near(&self, end: usize, links: usize) -> Vec<Set<W>> {
        let mut near = vec![Set::EMPTY, self.from[end] & self.rest];
        while near.len() <= links {
            let (before, last) = (near[near.len() - 2], near[near.len() - 1]);
            let new = last.minus(&before).iter().fold(Set::EMPTY, |new, device| new | self.from[device]);
            near.push(last | (new & self.rest));
        }
        near
    }

    /// A cycle of `length` devices through `start`.
    fn through(&self, start: usize, length: usize, steps: &mut u64) -> Cycle {
        let near = self.near(start, length);
        let (mut path, mut used) = (Vec::with_capacity(length), Set::only(start));
        path.push((start, self.to[start] & near[length - 1]));
        while let Some((device, open)) = path.last_mut() {
            let Some(next) = open.first() else {
                used.remove(*device);
                path.pop();
                continue;
            };
            open.remove(next);
            let Some(left) = steps.checked_sub(1) else { return Cycle::Unknown };
            *steps = left;
            used.insert(next);
            path.push((next, (self.to[next] & near[length - path.len() - 1]).minus(&used)));
            if path.len() == length {
                return Cycle::Through(path.into_iter().map(|(device, _)| device).collect());
            }
        }
        Cycle::None
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Whether a path that ends in `path` can be closed to a cycle of `length` devices.
    fn closes(joined: &[Set<1>], path: &mut Vec<usize>, length: usize) -> bool {
        let (first, last) = (path[0], path[path.len() - 1]);
        if path.len() == length {
            return joined[last].contains(first);
        }
        joined[last].iter().any(|next| {
            !path.contains(&next) && {
                path.push(next);
                let closes = closes(joined, path, length);
                path.pop();
                closes
            }
        })
    }

    #[test]
    fn cycles_are_found_where_there_are_any() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(0);
        let (mut found, mut none) = (0, 0);
        for _ in 0..400 {
            let (devices, density) = (rng.random_range(2..9), rng.random_range(0.1..0.6));
            let length = rng.random_range(2..=devices);
            let mut joined = vec![Set::<1>::EMPTY; devices];
            for (a, b) in (0..devices).flat_map(|a| (0..devices).map(move |b| (a, b))) {
                if a != b && rng.random_bool(density) {
                    joined[a].insert(b);
                }
            }
            let expected = (0..devices).any(|first| closes(&joined, &mut vec![first], length));
            match cycle(&Set::below(devices), length, |device| joined[device], 1 << 20) {
                Cycle::Through(ring) => {
                    let next = ring.iter().cycle().skip(1);
                    assert!(ring.iter().zip(next).all(|(&a, &b)| joined[a].contains(b)), "{ring:?} in {joined:?}");
                    assert_eq!(ring.iter().copied().collect::<Set<1>>().len(), length);
                    assert_eq!(ring.len(), length);
                    found += 1;
                }
                Cycle::None => {
                    assert!(!expected, "a cycle of {length} in {joined:?}");
                    none += 1;
                }
                Cycle::Unknown => panic!("{joined:?} took too long"),
            }
        }
        assert!(found > 80 && none > 80, "{found} found, {none} not");
    }

    #[test]
    fn little_effort_claims_nothing() {
        let is_joined = |device: usize| Set::<1>::below(30).minus(&Set::only(device));
        assert_eq!(cycle(&Set::below(30), 25, is_joined, 20), Cycle::Unknown);
    }
}
