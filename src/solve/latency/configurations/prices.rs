//! A dual solution: a flow along the paths of the graph, and prices.

use super::items::Items;
use crate::graph::NodeSet;

/// A set that an accelerator of a class can run as a block.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Column {
    pub class: usize,
    pub set: NodeSet,
}

/// Weights of paths that add up to 1, what it costs to take an item into a block, and what an accelerator costs.
#[derive(Debug, Clone)]
pub struct Prices {
    /// Weight of the paths along each edge.
    pub flow: Vec<f64>,
    /// Weight of the paths that begin at each item.
    pub entry: Vec<f64>,
    /// Weight of the paths through each item.
    pub through: Vec<f64>,
    /// The price of each item.
    pub item: Vec<f64>,
    /// The price of an accelerator of each class.
    pub accelerator: Vec<f64>,
}

impl Prices {
    /// The flow that begins where `begin` says and leaves each item as `share` tells of its edges, with these prices.
    pub fn new(items: &Items, begin: &[f64], share: &[f64], item: Vec<f64>, accelerator: Vec<f64>) -> Self {
        let total: f64 = begin.iter().sum();
        let mut prices = Self {
            flow: vec![0.0; items.edge_count()],
            entry: begin.iter().map(|weight| weight / total).collect(),
            through: vec![0.0; items.len()],
            item,
            accelerator,
        };
        for &v in &items.order {
            prices.through[v] = prices.arriving(items, v);
            let shares: f64 = items.after[v].iter().map(|&(_, e)| share[e]).sum();
            let even = 1.0 / items.after[v].len() as f64;
            for &(_, e) in &items.after[v] {
                prices.flow[e] = prices.through[v] * if shares > 0.0 { share[e] / shares } else { even };
            }
        }
        prices
    }

    /// These prices, and `part` of the way from them to others.
    pub fn towards(&self, items: &Items, other: &Self, part: f64) -> Self {
        let mix = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + part * (b - a)).collect();
        let mut prices = Self {
            flow: mix(&self.flow, &other.flow),
            entry: mix(&self.entry, &other.entry),
            through: Vec::new(),
            item: mix(&self.item, &other.item),
            accelerator: mix(&self.accelerator, &other.accelerator),
        };
        prices.through = (0..items.len()).map(|v| prices.arriving(items, v)).collect();
        prices
    }

    fn arriving(&self, items: &Items, v: usize) -> f64 {
        self.entry[v] + items.before[v].iter().map(|&(_, e)| self.flow[e]).sum::<f64>()
    }

    /// What an item adds to the mean of the paths while no block takes it, less its price.
    #[inline]
    pub fn worth(&self, items: &Items, v: usize) -> f64 {
        self.through[v] * items.outside[v] - self.item[v]
    }

    /// What all items are worth: no split ends before this, less what its accelerators gain.
    pub fn value(&self, items: &Items) -> f64 {
        (0..items.len()).map(|v| self.worth(items, v)).sum()
    }

    /// The weight of the paths that enter the set, each as often as it does.
    pub fn entering(&self, items: &Items, set: &NodeSet) -> f64 {
        let entering = |v: usize| {
            let from_outside = items.before[v].iter().filter(|&&(u, _)| !set.contains(u));
            self.entry[v] + from_outside.map(|&(_, e)| self.flow[e]).sum::<f64>()
        };
        set.iter().map(entering).sum()
    }

    /// What a block gains: what its items are worth, less what it takes on the mean of the paths.
    pub fn gain(&self, items: &Items, column: &Column) -> f64 {
        let worth: f64 = column.set.iter().map(|v| self.worth(items, v)).sum();
        worth - self.entering(items, &column.set) * items.duration(column.class, &column.set)
    }
}
