//! The least load of a stage between given positions.

use super::marks::Ends;
use super::measure::{Measure, Window};
use super::reach::{Block, Reach, Span, shift};
use super::steps::{Arc, Step, Steps};
use crate::search::{SearchContext, Stopped};

/// The windows in which the stages of each last state begin and end; `None` where there are none.
pub type StateWindows = Vec<Option<[Window; 2]>>;

/// The least loads of stages by where they begin and end, and by their last state.
#[derive(Debug, Clone)]
pub struct Table {
    last: Layer,
}

/// The loads of stages with one end.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// The position at which they end.
    pub end: usize,
    /// The position at which the first of them begins.
    pub begin: usize,
    /// Their least loads, by begin.
    pub least: &'a [f64],
}

impl Table {
    /// The least loads of the stages in a last state that begin and end in parts of its windows, by end.
    pub fn rows(&self, state: usize, [begin, end]: [&Window; 2]) -> impl DoubleEndedIterator<Item = Row<'_>> + use<'_> {
        let block = &self.last.blocks[state];
        let (begin, end) = (block.begin.meet(Span::of(begin)), block.end.meet(Span::of(end)));
        let row = move |end: i64| {
            let at = block.entry(begin.low, end).filter(|_| begin.len() > 0)?;
            let least = &self.last.entries[at..at + begin.len()];
            Some(Row { end: end as usize, begin: begin.low as usize, least })
        };
        (end.low..=end.high).filter_map(row)
    }
}

/// The dynamic program over the stages of one kind of device.
pub struct Program<'a> {
    steps: &'a Steps,
    measure: &'a Measure,
    reach: Reach,
}

/// What a program takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Sums of an entry and an arc.
    pub sums: usize,
    /// The most bytes of two layers.
    pub layers: usize,
    /// Bytes of tables.
    pub kept: usize,
}

impl Effort {
    /// The most bytes at a time.
    pub fn bytes(&self) -> usize {
        self.layers + self.kept
    }
}

impl<'a> Program<'a> {
    /// The stages of at most `most` load.
    pub fn new(steps: &'a Steps, measure: &'a Measure, most: f64) -> Self {
        Self { steps, measure, reach: Reach::new(steps, most) }
    }

    /// What stages in each last state have of the marked units.
    pub fn ends(&self) -> &'a [Ends] {
        &self.steps.ends
    }

    /// What the table within these windows takes.
    ///
    /// # Errors
    /// `cx` says to stop.
    pub fn effort(&self, windows: &StateWindows, cx: &SearchContext) -> Result<Effort, Stopped> {
        let mut effort = Effort::default();
        let blocks = self.blocks(windows, cx)?;
        for (step, blocks) in self.steps.steps.iter().zip(&blocks[1..]) {
            effort.sums += step.states().zip(blocks).map(|(arcs, block)| arcs.len() * block.area()).sum::<usize>();
            let entries = blocks.iter().map(Block::area).sum::<usize>();
            effort.layers = effort.layers.max(BYTES * entries);
            effort.kept = size_of::<f64>() * entries;
        }
        Ok(effort)
    }

    fn blocks(&self, windows: &StateWindows, cx: &SearchContext) -> Result<Vec<Vec<Block>>, Stopped> {
        let arcs: usize = self.steps.steps.iter().map(Step::arc_count).sum();
        if cx.is_over_after(1 + arcs * SUMS_PER_ARC / SUMS_PER_STEP) {
            return Err(Stopped);
        }
        Ok(self.reach.blocks(self.steps, self.measure, windows))
    }

    /// The least loads of the stages that begin and end within the windows of their last state.
    ///
    /// # Errors
    /// `cx` says to stop.
    pub fn table(&self, windows: &StateWindows, cx: &SearchContext) -> Result<Table, Stopped> {
        Ok(Table { last: self.fill(windows, cx, &mut |_| {})? })
    }

    /// Where each unit lies beside a stage of least load in a last state between two positions; `None` where there is no stage.
    ///
    /// # Errors
    /// `cx` says to stop.
    pub fn sides(
        &self,
        state: usize,
        [begin, end]: [usize; 2],
        cx: &SearchContext,
    ) -> Result<Option<Vec<u8>>, Stopped> {
        let mut layers = vec![Layer::first()];
        let mut windows = vec![None; self.steps.ends.len()];
        windows[state] = Some([begin..=begin, end..=end]);
        self.fill(&windows, cx, &mut |layer| layers.push(layer.clone()))?;
        let mut sides = vec![0; self.measure.of.len()];
        let (mut state, mut begin, mut end) = (state, begin as i64, end as i64);
        for (at, step) in self.steps.steps.iter().enumerate().rev() {
            let least = layers[at + 1].least(state, begin, end);
            let source = |arc: &Arc| {
                let [first, last] = shift(step, arc.side, self.measure);
                let before = (arc.from as usize, begin - first, end - last);
                let known = layers[at].least(before.0, before.1, before.2);
                (known.is_finite() && known + arc.load == least).then_some((before, arc.side))
            };
            let Some((before, side)) = step.arcs_into(state).iter().find_map(source) else { return Ok(None) };
            if let Some(u) = step.unit {
                sides[u] = side;
            }
            (state, begin, end) = before;
        }
        Ok(Some(sides))
    }

    /// Fills one layer after another; `seen` sees each, and the last one is returned.
    fn fill(&self, windows: &StateWindows, cx: &SearchContext, seen: &mut dyn FnMut(&Layer)) -> Result<Layer, Stopped> {
        let (mut before, mut layer) = (Layer::first(), Layer::first());
        let blocks = self.blocks(windows, cx)?;
        for (step, blocks) in self.steps.steps.iter().zip(blocks.into_iter().skip(1)) {
            std::mem::swap(&mut before, &mut layer);
            layer.clear(blocks);
            let sums = self.lower_all(step, &before, &mut layer, cx);
            seen(&layer);
            if cx.is_over_after(1 + (sums + SUMS_PER_STATE * layer.blocks.len()) / SUMS_PER_STEP) {
                return Err(Stopped);
            }
        }
        Ok(layer)
    }

    /// Lowers the entries after a step to what its arcs lead to, on the threads that are free where they are many; how many sums that
    /// takes.
    fn lower_all(&self, step: &Step, before: &Layer, after: &mut Layer, cx: &SearchContext) -> usize {
        let lower_state = |(state, block, entries): (usize, &Block, &mut [f64])| {
            let lower_by = |arc: &Arc| {
                let source = (&before.blocks[arc.from as usize], &before.entries[..]);
                lower((block, &mut *entries), source, (shift(step, arc.side, self.measure), arc.load))
            };
            step.arcs_into(state).iter().map(lower_by).sum::<usize>()
        };
        if after.entries.len() < MANY_ENTRIES {
            return after.states().map(lower_state).sum();
        }
        let lanes = cx.free_lanes();
        let mut shares: Vec<Vec<_>> = (0..lanes).map(|_| Vec::new()).collect();
        after.states().enumerate().for_each(|(number, state)| shares[number % lanes].push(state));
        let sums = cx.map(shares, |share| share.into_iter().map(lower_state).sum::<usize>());
        sums.into_iter().sum()
    }
}

/// The least loads in all states after a step.
#[derive(Debug, Clone)]
struct Layer {
    blocks: Vec<Block>,
    entries: Vec<f64>,
}

impl Layer {
    /// Before the first step there is one state, and nothing in it.
    fn first() -> Self {
        Self { blocks: vec![Block::START], entries: vec![0.0] }
    }

    /// No loads in these blocks.
    fn clear(&mut self, blocks: Vec<Block>) {
        self.entries.clear();
        self.entries.resize(blocks.iter().map(Block::area).sum(), f64::INFINITY);
        self.blocks = blocks;
    }

    /// The states that have entries, each by number, with its block and its own entries.
    fn states(&mut self) -> impl Iterator<Item = (usize, &Block, &mut [f64])> {
        let mut rest = &mut self.entries[..];
        self.blocks.iter().enumerate().filter(|(_, block)| block.area() > 0).map(move |(state, block)| {
            let own;
            (own, rest) = std::mem::take(&mut rest).split_at_mut(block.area());
            (state, block, own)
        })
    }

    /// The least load in a state where the stage begins and ends here.
    fn least(&self, state: usize, begin: i64, end: i64) -> f64 {
        self.blocks[state].entry(begin, end).map_or(f64::INFINITY, |at| self.entries[at])
    }
}

/// Lowers a block's own entries to those of another one of all that are known, moved by so many cells and with so much more load;
/// how many.
fn lower(
    (block, entries): (&Block, &mut [f64]),
    (source, known): (&Block, &[f64]),
    ([first, last], load): ([i64; 2], f64),
) -> usize {
    let begin = block.begin.meet(source.begin.moved(first));
    let end = block.end.meet(source.end.moved(last));
    let columns = begin.len();
    for row in end.low..=end.high {
        let (Some(to), Some(from)) = (block.entry(begin.low, row), source.entry(begin.low - first, row - last)) else {
            return 0;
        };
        let to = to - block.at;
        for (entry, &known) in entries[to..to + columns].iter_mut().zip(&known[from..from + columns]) {
            // No entry is NaN, and this is one instruction where `min` takes several.
            *entry = if known + load < *entry { known + load } else { *entry };
        }
    }
    columns * end.len()
}

/// Bytes of an entry, before a step and after it.
const BYTES: usize = 2 * size_of::<f64>();

/// A layer of so many entries is worth several threads.
const MANY_ENTRIES: usize = 1 << 16;

/// Sums that count as a step of the run's turn, and as the work for a state.
const SUMS_PER_STEP: usize = 128;
const SUMS_PER_STATE: usize = 16;

/// Sums that count as the search for the blocks of an arc.
const SUMS_PER_ARC: usize = 8;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::marks::{Marks, Open, Trace};
    use super::super::sides::{EARLIER, INSIDE};
    use super::super::steps::leading_load;
    use super::*;
    use crate::preprocess::{Reduced, Unordered};
    use crate::problem::{Problem, ProblemSpec, Scope};
    use crate::solve::certify::pricing::Resource;
    use crate::solve::certify::samples::instances;

    /// A kind's program on a small graph.
    struct Small {
        units: Reduced,
        load: Resource,
        steps: Steps,
        measure: Measure,
    }

    impl Small {
        fn new(problem: &Problem, kind: usize, cells: usize) -> Self {
            let units = Reduced::new(problem);
            let load = leading_load(&units, kind);
            let steps = Steps::new(&Unordered::in_order(units.clone()), kind, &SearchContext::new()).unwrap();
            let work: Vec<f64> = (0..units.unit_count()).map(|u| load.unit[u].min(9.0) + 0.25).collect();
            let measure = Measure::new(&work, &steps, cells);
            for ideal in ideals(&units) {
                let [low, high] = measure.work(&(measure.position(&ideal)..=measure.position(&ideal)));
                let exact: f64 = ideal.iter().map(|&u| work[u]).sum();
                assert!(low <= exact + 1e-9 && exact <= high + 1e-9, "{low}, {exact}, {high}");
                let window = measure.window([exact, exact]).unwrap();
                assert!(window.contains(&measure.position(&ideal)), "{window:?}");
            }
            Self { units, load, steps, measure }
        }

        /// The load of a set; `None` where the kind cannot hold it.
        fn load(&self, kind: usize, set: &[usize]) -> Option<f64> {
            let times = &self.units.kinds[kind].times;
            let mut sum = set.iter().try_fold(0.0, |sum, &u| times[u].map(|_| sum + self.load.unit[u]))?;
            for (e, net) in self.units.nets.iter().enumerate() {
                let inside = net.pins.iter().filter(|&&u| set.contains(&(u as usize))).count();
                if 0 < inside && inside < net.pins.len() {
                    let has_source = set.contains(&(net.source as usize));
                    sum += if has_source { self.load.net_out[e] } else { self.load.net_in[e] };
                }
            }
            Some(sum)
        }
    }

    impl Measure {
        fn position(&self, ideal: &[usize]) -> usize {
            ideal.iter().map(|&u| self.of[u] as usize).sum()
        }
    }

    fn ideals(units: &Reduced) -> Vec<Vec<usize>> {
        let n = units.unit_count();
        let sets = (0..1u32 << n).map(|bits| (0..n).filter(|u| bits >> u & 1 == 1).collect::<Vec<usize>>());
        sets.filter(|set| units.order.edges().all(|(a, b)| set.contains(&a) || !set.contains(&b))).collect()
    }

    /// The units of an ideal that are marked.
    fn trace(ideal: &[usize], marks: &Marks) -> Trace {
        ideal.iter().fold(0, |trace, &u| trace | marks.bit(u))
    }

    proptest! {
        #[test]
        fn loads_are_the_least_of_all_pairs_of_ideals(
            instance in instances(),
            cells in 1..40usize,
            (first, second) in ((0..30usize, 0..20usize), (0..30usize, 0..20usize)),
            most in prop_oneof![Just(1e30), (3..30u32).prop_map(f64::from)],
            marked in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
            known in 0..4usize,
        ) {
            let spec = ProblemSpec { scope: Scope::Acyclic, ..ProblemSpec::of(&instance) };
            let problem = Problem::new(&instance, spec).unwrap();
            let cx = SearchContext::new();
            for kind in 0..Reduced::new(&problem).kinds.len() {
                let small = Small::new(&problem, kind, cells);
                let total = small.measure.total;
                let window = |(start, more): (usize, usize)| start.min(total)..=(start + more).min(total);
                let windows = [window(first), window(second)];
                let ideals = ideals(&small.units);
                let mut marks = Marks::default();
                marks.extend(marked.iter().map(|index| index.index(small.measure.of.len())));
                let stages: Vec<_> = ideals.iter().flat_map(|from| ideals.iter().map(move |to| (from, to)))
                    .filter(|(from, to)| from.iter().all(|u| to.contains(u)))
                    .map(|(from, to)| {
                        let set: Vec<usize> = to.iter().copied().filter(|u| !from.contains(u)).collect();
                        let positions = [small.measure.position(from), small.measure.position(to)];
                        (positions, Ends([trace(from, &marks), trace(to, &marks)]), small.load(kind, &set))
                    })
                    .collect();
                // What is known of the first marks is what stages within the windows and the load have of them.
                let is_within = |ends: &[usize; 2]| ends.iter().zip(&windows).all(|(end, window)| window.contains(end));
                let is_open = |(ends, _, load): &&([usize; 2], Ends, Option<f64>)| {
                    is_within(ends) && load.is_some_and(|load| load <= most)
                };
                let open = Open::new(((1 << known) - 1) & marks.all(), stages.iter().filter(is_open).map(|stage| stage.1));
                let steps = small.steps.marked(&marks, &open, &cx).unwrap().unwrap();
                let program = Program::new(&steps, &small.measure, most);
                let table = program.table(&vec![Some(windows.clone()); steps.ends.len()], &cx).unwrap();
                let pairs = windows[0].clone().flat_map(|begin| windows[1].clone().map(move |end| [begin, end]));
                let all: BTreeSet<Ends> = stages.iter().map(|stage| stage.1).collect();
                for (ends, at) in pairs.flat_map(|at| all.iter().map(move |&ends| (ends, at))) {
                    let loads = stages.iter().filter(|stage| (stage.0, stage.1) == (at, ends)).filter_map(|stage| stage.2);
                    let exact = loads.fold(f64::INFINITY, f64::min);
                    let state = steps.ends.iter().position(|&known| known == ends);
                    let row = state.and_then(|state| table.rows(state, [&(at[0]..=at[0]), &(at[1]..=at[1])]).next());
                    let found = row.map_or(f64::INFINITY, |row| row.least[0]);
                    // What is above the most load need not be found.
                    let is_same = found == exact || (found - exact).abs() <= 1e-9 * exact;
                    prop_assert!(is_same || exact > most && found >= exact, "{found} for {exact} at {at:?}, {ends:?}");
                    if found <= most {
                        let sides = program.sides(state.unwrap(), at, &cx).unwrap().expect("there is a stage");
                        let those = |side: &[u8]| {
                            (0..sides.len()).filter(|&u| side.contains(&sides[u])).collect::<Vec<usize>>()
                        };
                        let load = small.load(kind, &those(&[INSIDE])).unwrap();
                        prop_assert!((load - found).abs() <= 1e-9 * found, "{sides:?}: {load}, not {found}");
                        let both = [those(&[EARLIER]), those(&[EARLIER, INSIDE])];
                        prop_assert_eq!(both.clone().map(|ideal| small.measure.position(&ideal)), at);
                        prop_assert_eq!(Ends(both.clone().map(|ideal| trace(&ideal, &marks))), ends);
                        prop_assert!(both.iter().all(|ideal| ideals.contains(ideal)));
                    }
                }
            }
        }
    }
}
