//! Atomic components (RaNNC 2021, section III-A).

use crate::preprocess::Reduced;

/// The atomic component of each unit: a task that depends on the model's input, and the constants that it consumes.
///
/// In RaNNC's task graph parameters and constants are nodes, and what cannot be reached from the model's input is
/// constant. An instance does not say which of its sources are inputs. So a unit counts as constant where it takes no
/// time on devices of `kind` and consumes nothing but constants, which holds of values that are stored, the input among
/// them. A constant that several components consume is cloned by RaNNC; here it joins the first of them in topological
/// order, which keeps the components acyclic. One that does not fit there, by `is_met`, stays by itself.
///
/// Components are numbered in topological order. O(n + m).
pub fn components(reduced: &Reduced, kind: usize, is_met: impl Fn(&[usize]) -> bool) -> Vec<usize> {
    let n = reduced.unit_count();
    let mut is_constant = vec![false; n];
    // Units are numbered in topological order.
    for u in 0..n {
        let is_free = reduced.kinds[kind].times[u].is_some_and(|time| time.total() == 0.0);
        is_constant[u] = is_free && reduced.order.predecessors(u).iter().all(|&p| is_constant[p as usize]);
    }
    let mut anchor: Vec<usize> = (0..n).collect();
    let mut members: Vec<Vec<usize>> = (0..n).map(|u| vec![u]).collect();
    for u in (0..n).rev().filter(|&u| is_constant[u]) {
        let consumers = reduced.order.successors(u).iter();
        let Some(first) = consumers.map(|&v| anchor[v as usize]).min() else { continue };
        members[first].push(u);
        if is_met(&members[first]) {
            anchor[u] = first;
        } else {
            members[first].pop();
        }
    }
    let mut number = vec![0; n];
    let mut count = 0;
    for u in 0..n {
        number[u] = count;
        count += usize::from(anchor[u] == u);
    }
    anchor.into_iter().map(|u| number[u]).collect()
}
