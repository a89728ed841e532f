//! Marked units: those of which a chain has to say whether they are in an ideal.
//!
//! An ideal is told by its position alone, so that the ideal at which a stage ends may be another one than that at which the next stage
//! begins. Units that are in one of the two alone are marked, and from then on are in both or in neither: the decremental state-space
//! relaxation of Boland, Dethridge and Dumitrescu (2006) and of Righini and Salani (2008).

use std::collections::BTreeSet;

use super::sides::{EARLIER, INSIDE};
use crate::preprocess::Reduced;

/// Which marked units are in an ideal: a bit for each.
pub type Trace = u128;

/// Which marked units are in the ideals at which a stage begins and ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ends(pub [Trace; 2]);

impl Ends {
    /// As far as these units go.
    pub fn of(self, marked: Trace) -> Self {
        Self(self.0.map(|trace| trace & marked))
    }

    /// With one more unit, of this bit, that lies on this side.
    pub fn with(self, bit: Trace, side: u8) -> Self {
        let [begin, end] = self.0;
        match side {
            EARLIER => Self([begin | bit, end | bit]),
            INSIDE => Self([begin, end | bit]),
            _ => self,
        }
    }
}

/// What stages can have of some marked units.
#[derive(Debug, Clone)]
pub struct Open {
    marked: Trace,
    ends: BTreeSet<Ends>,
}

impl Open {
    /// These, with so many units marked.
    pub fn new(marked: Trace, ends: impl IntoIterator<Item = Ends>) -> Self {
        Self { marked, ends: ends.into_iter().map(|ends| ends.of(marked)).collect() }
    }

    /// The same of some units alone.
    pub fn as_far_as(&self, units: Trace) -> Self {
        Self::new(self.marked & units, self.ends.iter().copied())
    }

    /// Whether stages can have these ends.
    pub fn contains(&self, ends: Ends) -> bool {
        self.ends.contains(&ends.of(self.marked))
    }
}

/// Units that are marked, in the order in which they were.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    units: Vec<usize>,
}

impl Marks {
    /// The bit of a unit in a trace, none where it is not marked.
    pub fn bit(&self, unit: usize) -> Trace {
        self.units.iter().position(|&marked| marked == unit).map_or(0, |mark| 1 << mark)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.units.len()
    }

    /// The trace of the ideal of all units.
    pub fn all(&self) -> Trace {
        Trace::MAX.checked_shr(Trace::BITS - self.units.len() as u32).unwrap_or(0)
    }

    /// Takes back the last ones.
    pub fn take_back(&mut self, count: usize) {
        self.units.truncate(self.units.len() - count);
    }

    /// Marks these, as far as there are bits for them; how many were.
    pub fn extend(&mut self, units: impl IntoIterator<Item = usize>) -> usize {
        let before = self.units.len();
        for unit in units {
            if self.units.len() < Trace::BITS as usize && !self.units.contains(&unit) {
                self.units.push(unit);
            }
        }
        self.units.len() - before
    }
}

/// Units to mark, given where the units lie beside each stage of a chain: for the places where a stage does not begin at the ideal at which
/// the one before it ends, one in the middle of the heaviest path of units that are counted twice there, or never. Empty where the chain
/// is one of ideals. O(stages · edges).
pub fn between(stages: &[Vec<u8>], units: &Reduced, work: &[f64]) -> Vec<usize> {
    let mut edges: Vec<(usize, usize)> = units.order.edges().collect();
    edges.sort_unstable();
    let (before, after) = (vec![INSIDE + 1; work.len()], vec![EARLIER; work.len()]);
    let stages: Vec<&Vec<u8>> = [&before].into_iter().chain(stages).chain([&after]).collect();
    let middle = |pair: &[&Vec<u8>]| {
        // 1 where a unit is counted twice, -1 where it is not counted at all.
        let wrong = |u: usize| i8::from(pair[0][u] <= INSIDE) - i8::from(pair[1][u] == EARLIER);
        let wrong: Vec<i8> = (0..work.len()).map(wrong).collect();
        let (mut to, mut from) = (work.to_vec(), work.to_vec());
        let is_alike = |&&(a, b): &&(usize, usize)| wrong[a] == wrong[b];
        edges.iter().filter(is_alike).for_each(|&(a, b)| to[b] = to[b].max(to[a] + work[b]));
        edges.iter().rev().filter(is_alike).for_each(|&(a, b)| from[a] = from[a].max(from[b] + work[a]));
        let beside = |u: usize| (to[u].min(from[u]), u);
        let heavier = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1));
        (0..work.len()).filter(|&u| wrong[u] != 0).map(beside).max_by(heavier)
    };
    let mut found: Vec<(f64, usize)> = stages.windows(2).filter_map(middle).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().take(MOST_AT_ONCE).map(|(_, u)| u).collect()
}

/// How many units are marked at once: each mark tells apart more stages than the next one needs.
const MOST_AT_ONCE: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{Edge, Instance, Node, Platform};
    use crate::problem::{Problem, ProblemSpec, Scope};

    /// Two chains of five nodes each between a source and a sink: 0, then 1 to 5 and 6 to 10, then 11.
    fn two_chains() -> Reduced {
        let node = |id| Node { accelerator_times: vec![Some(1.0)], transfer_time: 0.1, ..Node::new(id) };
        let chain =
            |first: u64| [(0, first), (first + 4, 11)].into_iter().chain((first..first + 4).map(|u| (u, u + 1)));
        let edges = chain(1).chain(chain(6)).map(|(source, target)| Edge { source, target }).collect();
        let nodes = (0..12).map(node).collect();
        let instance = Instance { nodes, edges, platform: Platform::uniform(2, None, 0), ..Instance::default() };
        let spec = ProblemSpec { scope: Scope::Acyclic, ..ProblemSpec::of(&instance) };
        Reduced::new(&Problem::new(&instance, spec).unwrap())
    }

    /// Where the units of two stages lie, the first of which ends before, and the second begins after these.
    fn two_stages(units: usize, ends: impl Fn(usize) -> bool, begins: impl Fn(usize) -> bool) -> Vec<Vec<u8>> {
        let first = (0..units).map(|u| if ends(u) { INSIDE } else { INSIDE + 1 }).collect();
        let second = (0..units).map(|u| if begins(u) { EARLIER } else { INSIDE }).collect();
        vec![first, second]
    }

    #[test]
    fn units_in_the_middle_of_what_does_not_fit_are_marked() {
        let units = two_chains();
        let n = units.unit_count();
        assert_eq!(n, 12, "no unit was joined to another");
        let of: Vec<usize> = (0..n).map(|u| units.members[u][0]).collect();
        // The first stage has the first chain, and the second one begins after the second chain and its first two nodes.
        let stages = two_stages(n, |u| of[u] <= 5, |u| of[u] <= 2 || (6..=10).contains(&of[u]));
        let marked: Vec<usize> = between(&stages, &units, &vec![1.0; n]).into_iter().map(|u| of[u]).collect();
        assert_eq!(marked, [8], "6 to 10 are in no stage, 3 to 5 in both");
        let fitting = two_stages(n, |u| of[u] <= 5, |u| of[u] <= 5);
        assert!(between(&fitting, &units, &vec![1.0; n]).is_empty());
        let unfinished = &fitting[..1];
        assert_eq!(between(unfinished, &units, &vec![1.0; n]).len(), 1, "units after the last stage are in none");
    }
}
