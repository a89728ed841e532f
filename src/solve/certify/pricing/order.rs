//! Orders of a network's variables that leave few of them tied to later ones: path decompositions.

use super::network::Network;

/// A narrow order of the variables: from each of some starts the next one is always a neighbour that widens the frontier
/// least, and the order of the fewest joint values in all is kept.
///
/// O(starts · variables · degree · frontier).
pub fn narrow<const D: usize>(network: &Network<D>) -> Vec<usize> {
    let neighbours = neighbours(network);
    let n = network.domains.len();
    let step = n.div_ceil(STARTS).max(1);
    let orders = (0..n).step_by(step).map(|start| from(start, &neighbours, network));
    orders.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, order)| order).unwrap_or_default()
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

/// The order from `start`, and how many joint values its frontiers have in all.
fn from<const D: usize>(start: usize, neighbours: &[Vec<usize>], network: &Network<D>) -> (f64, Vec<usize>) {
    let n = neighbours.len();
    let width = |v: usize| f64::from(network.domains[v]).ln();
    // How many neighbours are still to come, and when a neighbour came last.
    let mut left: Vec<usize> = neighbours.iter().map(Vec::len).collect();
    let mut touched = vec![0; n];
    let mut is_placed = vec![false; n];
    let (mut order, mut candidates) = (Vec::with_capacity(n), vec![start]);
    let (mut frontier, mut total) = (0.0, 0.0);
    while order.len() < n {
        if candidates.is_empty() {
            candidates.extend((0..n).find(|&v| !is_placed[v]));
        }
        let growth = |v: usize| {
            let closed = neighbours[v].iter().filter(|&&u| is_placed[u] && left[u] == 1).map(|&u| width(u));
            let own = if left[v] > 0 { width(v) } else { 0.0 };
            own - closed.sum::<f64>()
        };
        let key = |&v: &usize| (growth(v), -(touched[v] as f64), v as f64);
        let better = |a: &usize, b: &usize| {
            let (a, b) = (key(a), key(b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2))
        };
        let Some(next) = candidates.iter().copied().min_by(better) else { break };
        frontier += growth(next);
        total += frontier.exp();
        candidates.retain(|&v| v != next);
        is_placed[next] = true;
        order.push(next);
        for &u in &neighbours[next] {
            left[u] -= 1;
            touched[u] = order.len();
            if !is_placed[u] && !candidates.contains(&u) {
                candidates.push(u);
            }
        }
    }
    (total, order)
}

/// From how many variables an order is tried.
const STARTS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_followed_from_one_end() {
        let mut network = Network::<1> { domains: vec![2; 5], factors: Vec::new(), units: 5 };
        for (u, v) in [(3, 1), (1, 4), (4, 0), (0, 2)] {
            network.add(vec![u, v], |_| Some([0.0]));
        }
        let order = narrow(&network);
        assert!(order == [3, 1, 4, 0, 2] || order == [2, 0, 4, 1, 3], "{order:?}");
    }
}
