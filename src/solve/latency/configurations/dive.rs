//! From fractions to splits: blocks are decided one by one (diving, Sadykov et al. 2019).

use super::super::trace::NodeBlock;
use super::generation::{Generation, QUICK_EFFORT};
use super::items::Items;
use super::master::weights;
use super::prices::Column;
use crate::graph::{NodeSet, paths, topological};
use crate::search::SearchContext;

/// Rounds of a dive after each decision.
const ROUNDS: usize = 12;

/// The blocks decided so far, and what is left of the problem.
#[derive(Clone)]
pub struct Decided {
    pub items: Items,
    pub blocks: Vec<NodeBlock>,
}

impl Decided {
    /// Nothing is decided.
    pub fn none(items: Items) -> Self {
        Self { items, blocks: Vec::new() }
    }

    /// When all ends if no more blocks are made; `None` where an item needs one.
    pub fn end(&self) -> Option<f64> {
        let Items { graph, outside, needs_block, .. } = &self.items;
        let ends = paths::longest_from(graph, &topological::smallest_first(graph), outside);
        (!needs_block.contains(&true)).then(|| ends.into_iter().fold(0.0, f64::max))
    }

    /// The same with one more block, and the columns that are still possible.
    pub fn decide(&self, block: &Column, columns: &[Column]) -> Option<(Self, Vec<Column>)> {
        let (items, item) = self.items.decide(block.class, &block.set)?;
        let has_device = |column: &&Column| items.classes[column.class].count > 0;
        let left = columns.iter().filter(has_device).filter(|column| column.set.iter().all(|v| !block.set.contains(v)));
        let left = left.map(|column| Column {
            class: column.class,
            set: NodeSet::from_nodes(items.len(), column.set.iter().map(|v| item[v])),
        });
        let left = left.filter(|column| items.hull(&column.set) == column.set).collect();
        let nodes = items.members.last().cloned().unwrap_or_default();
        let blocks = self.blocks.iter().cloned().chain([(block.class, nodes)]).collect();
        Some((Self { items, blocks }, left))
    }

    /// Decides blocks one by one, always the one of most weight, until no more is gained or it is known that no split that
    /// ends before `upper` comes of it. `columns` are blocks to begin with. The best split on the way and when it ends; `None`
    /// where there is none.
    pub fn dive(mut self, mut columns: Vec<Column>, upper: f64, cx: &SearchContext) -> Option<(f64, Self)> {
        let mut best = self.end().map(|end| (end, self.clone()));
        while let Some((next, left)) = self.heaviest(columns, upper, cx) {
            if let Some(end) = next.end().filter(|&end| best.as_ref().is_none_or(|&(least, _)| end < least)) {
                best = Some((end, next.clone()));
            }
            (self, columns) = (next, left);
        }
        best
    }

    /// The same with the block decided that has most weight in the program, and the columns that are then known.
    fn heaviest(&self, columns: Vec<Column>, upper: f64, cx: &SearchContext) -> Option<(Self, Vec<Column>)> {
        if self.items.classes.iter().all(|class| class.count == 0) {
            return None;
        }
        let mut generation = Generation::new(&self.items, columns, QUICK_EFFORT, cx);
        let mut rounds = 0;
        while rounds < ROUNDS && generation.bound() < upper && generation.round(cx) {
            rounds += 1;
        }
        if cx.should_stop() || generation.bound() >= upper {
            return None;
        }
        let tight = generation.tight_columns();
        let weights = weights(&self.items, &tight, cx)?;
        let most = (0..tight.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b]))?;
        if weights[most] > 0.0 { self.decide(tight[most], generation.columns()) } else { None }
    }
}
