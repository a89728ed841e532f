//! Bounds and splits by configurations, where there are too many ideals: fractions of blocks, and prices.
//!
//! As many fractions of sets as there are accelerators, each item in one at most, and the latest path: the least end is a
//! linear program over all sets that an accelerator can run (`master.rs`), and a bound that knows memory, how many
//! accelerators there are, and that a block runs what is parallel one after another. Its columns come from pricing
//! (`pricing.rs`, `generation.rs`). Splits come of deciding the blocks of most weight (`dive.rs`), and then of deciding some
//! of their blocks anew, those beside each other first.

mod cut;
mod dive;
mod generation;
mod items;
mod master;
mod prices;
mod pricing;
mod region;

use super::trace::NodeBlock;
use crate::graph::NodeSet;
use crate::search::SearchContext;
use dive::Decided;
use generation::Generation;
pub use items::Items;
use prices::Column;

/// Regions that a round looks at, at first, for anchors under which there may be more than was found.
const EFFORT: usize = 500;

/// Rounds of a turn, and turns from one pass to the next while rounds may raise the bound.
const ROUNDS: usize = 4;
const TURNS_PER_PASS: usize = 2;

/// The fewest blocks that are decided anew.
const FEW_BLOCKS: usize = 2;

/// What the search finds.
pub(super) enum Found<'a> {
    /// No split ends earlier.
    Bound(f64),
    /// Blocks whose rest is on the CPU.
    Split(&'a [NodeBlock]),
}

/// Hears what is found, and says below what a split has to end to be of use.
pub(super) type Tell<'a> = dyn FnMut(Found) -> f64 + 'a;

/// A search by configurations.
pub(super) struct Configurations<'a> {
    generation: Generation<'a>,
    /// Whether rounds may raise the bound further.
    goes_on: bool,
    turns: usize,
    /// How many blocks the next pass decides anew.
    size: usize,
    /// Passes in a row that brought nothing.
    idle: usize,
}

impl<'a> Configurations<'a> {
    /// Knows the blocks of a split.
    pub fn new(items: &'a Items, known: &[NodeBlock], cx: &SearchContext) -> Self {
        let columns = known.iter().map(|block| column(items, block));
        let columns = columns.filter(|column| items.can_hold(column.class, &column.set));
        let generation = Generation::new(items, columns.collect(), EFFORT, cx);
        Self { generation, goes_on: true, turns: 0, size: usize::MAX, idle: 0 }
    }

    /// Some rounds, and now and then a pass over the best split's `blocks`. Whether more may come of the next turn.
    pub fn turn(&mut self, mut blocks: Vec<NodeBlock>, tell: &mut Tell, cx: &SearchContext) -> bool {
        let mut upper = tell(Found::Bound(self.generation.bound()));
        for _ in 0..ROUNDS {
            self.goes_on = self.goes_on && self.generation.bound() < upper && self.generation.round(cx);
            upper = tell(Found::Bound(self.generation.bound()));
        }
        self.turns += 1;
        if !self.goes_on || self.turns.is_multiple_of(TURNS_PER_PASS) {
            self.pass(&mut blocks, upper, tell, cx);
        }
        self.generation.bound() < upper && !cx.should_stop() && (self.goes_on || self.idle <= blocks.len())
    }

    /// Decides all blocks anew at first, and later so many that lie beside each other.
    fn pass(&mut self, blocks: &mut Vec<NodeBlock>, mut upper: f64, tell: &mut Tell, cx: &SearchContext) {
        let size = self.size.min(blocks.len());
        let mut has_improved = false;
        sort(self.generation.items, blocks);
        for first in 0..=blocks.len() - size {
            if let Some(split) = decide_anew(&self.generation, blocks, first..first + size, upper, cx) {
                let ends = tell(Found::Split(&split));
                // What has no room for colours, or takes longer by another piece of the load, is told for nothing.
                if ends < upper {
                    (upper, *blocks, has_improved) = (ends, split, true);
                    sort(self.generation.items, blocks);
                }
            }
        }
        self.idle = if has_improved { 0 } else { self.idle + 1 };
        self.size = match has_improved {
            _ if size >= blocks.len() => FEW_BLOCKS,
            true => size,
            false => size + 1,
        };
    }
}

/// The split with these of its blocks decided anew, where that ends before `upper`.
fn decide_anew(
    generation: &Generation,
    blocks: &[NodeBlock],
    range: std::ops::Range<usize>,
    upper: f64,
    cx: &SearchContext,
) -> Option<Vec<NodeBlock>> {
    let items = generation.items;
    let (mut decided, mut columns) = (Decided::none(items.clone()), generation.columns().to_vec());
    columns.extend(blocks[range.clone()].iter().map(|block| column(items, block)));
    for (_, block) in blocks.iter().enumerate().filter(|(i, _)| !range.contains(i)) {
        let block = column(&decided.items, block);
        (decided, columns) = decided.decide(&block, &columns)?;
    }
    let (_, split) = decided.dive(columns, upper, cx).filter(|&(end, _)| end < upper)?;
    Some(split.blocks)
}

/// Sorts blocks by their first nodes in the order of the items.
fn sort(items: &Items, blocks: &mut [NodeBlock]) {
    let mut place = vec![0; items.len()];
    items.order.iter().enumerate().for_each(|(i, &v)| place[v] = i);
    blocks.sort_by_key(|(_, nodes)| nodes.iter().map(|&v| place[v]).min());
}

/// The column of a block.
fn column(items: &Items, (class, nodes): &NodeBlock) -> Column {
    let holds = |v: &usize| items.members[*v].iter().any(|node| nodes.contains(node));
    Column { class: *class, set: NodeSet::from_nodes(items.len(), (0..items.len()).filter(holds)) }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::super::model::Model;
    use super::super::{LatencyDp, generated, trace};
    use super::*;
    use crate::problem::Problem;
    use crate::solve::Solver;

    /// The best bound and the best split that turns bring.
    fn searched(problem: &Problem) -> (f64, f64) {
        let cx = SearchContext::new();
        let model = Model::new(problem);
        let items = Items::new(&model);
        let (mut bound, mut least, mut blocks) = (0.0f64, f64::MAX, Vec::new());
        let mut configurations = Configurations::new(&items, &[], &cx);
        let mut goes_on = true;
        while goes_on {
            let known = blocks.clone();
            let mut tell = |found: Found| {
                match found {
                    Found::Bound(value) => bound = bound.max(value),
                    Found::Split(split) => {
                        let end = trace::of_nodes(&model, split).and_then(|split| split.objective);
                        if let Some(end) = end.filter(|&end| end < least) {
                            (least, blocks) = (end, split.to_vec());
                        }
                    }
                }
                least
            };
            goes_on = configurations.turn(known, &mut tell, &cx);
        }
        (bound, least)
    }

    #[test]
    fn bounds_are_below_the_optimum_and_splits_above_it() {
        let small = generated::problems(1000).map(|(_, problem)| (generated::least_latency(&problem), problem));
        let wide = (0..300).map(|seed| {
            let problem = generated::wide(&mut SmallRng::seed_from_u64(seed), 10 + seed % 5);
            let run = LatencyDp::default().solve(&problem, &mut SearchContext::new()).unwrap();
            (run.outcome.solution().and_then(|split| split.objective), problem)
        });
        let (mut tight, mut as_good, mut count) = (0, 0, 0);
        for (i, (best, problem)) in small.chain(wide).enumerate() {
            let Some(best) = best else { continue };
            let (bound, least) = searched(&problem);
            assert!(bound <= best + 1e-6, "{i}: the bound {bound} is above {best}");
            assert!(least >= best - 1e-9, "{i}: {least} is below {best}");
            count += 1;
            tight += usize::from(bound > best - 1e-3 * best);
            as_good += usize::from(least < best + 1e-9);
        }
        assert!(5 * tight > 2 * count && 5 * as_good > 3 * count, "{tight} and {as_good} of {count}");
    }
}
