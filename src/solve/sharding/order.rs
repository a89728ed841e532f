//! In which order units are placed: one that few placed units with unplaced neighbours go with.

use super::Model;

/// The order that always takes the unit which leaves the fewest placed units with unplaced neighbours, the heaviest
/// among equals. O(n · (n + m)).
pub(super) fn narrow(model: &Model) -> Vec<usize> {
    let n = model.unit_count();
    // For each unit how many of its neighbours are not placed.
    let mut open: Vec<usize> = model.links.iter().map(Vec::len).collect();
    let mut is_placed = vec![false; n];
    let mut order = Vec::with_capacity(n);
    for _ in 0..n {
        let growth = |u: usize| {
            let closed = model.links[u].iter().filter(|&&(v, _)| is_placed[v as usize] && open[v as usize] == 1);
            i64::from(open[u] > 0) - closed.count() as i64
        };
        let rank = |&u: &usize| (growth(u), open[u]);
        let left = (0..n).filter(|&u| !is_placed[u]);
        let best = left.min_by(|a, b| rank(a).cmp(&rank(b)).then(model.weights[*b].total_cmp(&model.weights[*a])));
        let Some(u) = best else { break };
        is_placed[u] = true;
        order.push(u);
        model.links[u].iter().for_each(|&(v, _)| open[v as usize] -= 1);
    }
    order
}
