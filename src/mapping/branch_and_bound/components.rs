//! Biconnected components (Hopcroft and Tarjan 1973): what no single device holds together. Every ring lies within one.

use crate::small_set::Set;

/// A device on the path from the root of a depth-first search.
struct Visit<const W: usize> {
    device: usize,
    joined: Set<W>,
    /// The place on the path nearest to the root that the device or what was found behind it is joined to.
    low: usize,
}

/// The biconnected components of two or more devices of `all`, where `joined` says, both ways alike, which devices a device
/// is joined to. Single links that hold parts together are components, too. O(D²).
pub fn biconnected<const W: usize>(all: &Set<W>, joined: impl Fn(usize) -> Set<W>) -> Vec<Set<W>> {
    let (mut rest, mut components) = (*all, Vec::new());
    while let Some(root) = rest.first() {
        rest.remove(root);
        let mut path = vec![Visit { device: root, joined: joined(root), low: 0 }];
        let mut pending = Vec::new();
        while let Some(top) = path.last() {
            if let Some(device) = (top.joined & rest).first() {
                rest.remove(device);
                let joined = joined(device);
                let low = path.iter().position(|visit| joined.contains(visit.device)).unwrap_or(path.len() - 1);
                path.push(Visit { device, joined, low });
                pending.push(device);
                continue;
            }
            let Some((done, depth)) = path.pop().zip(path.len().checked_sub(1)) else { break };
            let parent = &mut path[depth];
            parent.low = parent.low.min(done.low);
            if done.low == depth {
                let start = pending.iter().rposition(|&device| device == done.device).unwrap_or_default();
                components.push(pending.drain(start..).chain([parent.device]).collect());
            }
        }
    }
    components
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// The devices of `all` that can be reached from `start`.
    fn reach(all: &Set<1>, joined: &[Set<1>], start: usize) -> Set<1> {
        let mut reached = Set::only(start);
        for _ in 0..joined.len() {
            reached = reached.iter().fold(reached, |reached, device| reached | (joined[device] & *all));
        }
        reached
    }

    /// Whether no device but these two is on every path between them, or they are joined.
    fn belong_together(all: &Set<1>, joined: &[Set<1>], a: usize, b: usize) -> bool {
        let holds = |device: usize| device != a && device != b;
        let is_cut = |device: usize| !reach(&all.minus(&Set::only(device)), joined, a).contains(b);
        joined[a].contains(b) || reach(all, joined, a).contains(b) && !all.iter().filter(|&d| holds(d)).any(is_cut)
    }

    #[test]
    fn devices_share_a_component_where_no_third_one_parts_them() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(0);
        for _ in 0..300 {
            let (devices, density) = (rng.random_range(1..9), rng.random_range(0.1..0.7));
            let mut joined = vec![Set::<1>::EMPTY; devices];
            for (a, b) in (0..devices).flat_map(|a| (0..a).map(move |b| (a, b))) {
                if rng.random_bool(density) {
                    joined[a].insert(b);
                    joined[b].insert(a);
                }
            }
            let all: Set<1> = (0..devices).filter(|_| rng.random_bool(0.9)).collect();
            let components = biconnected(&all, |device| joined[device] & all);
            for (a, b) in all.iter().flat_map(|a| all.iter().filter(move |&b| b < a).map(move |b| (a, b))) {
                let shared = components.iter().filter(|component| component.contains(a) && component.contains(b));
                let expected = usize::from(belong_together(&all, &joined, a, b));
                assert_eq!(shared.count(), expected, "{a} and {b} of {all:?} joined by {joined:?}");
            }
        }
    }
}
