//! Graphs that branch as deep networks do.

use rand::RngExt;
use serde::Serialize;

use super::dag::Dag;
use super::{Checks, Rng, Shape};

/// A stem, then cells one after another, then a head. In a cell, several branches leave the output of the cell before
/// and meet in one node; a branch is a chain, and there may be a shortcut beside them. Some cells also read the output
/// of a cell long before. Successive cells share their structure, as in the stages of a network.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct Dnn {
    /// How many nodes there are.
    #[arg(long, default_value_t = Self::default().nodes)]
    pub nodes: usize,
    /// The most branches of a cell; each cell structure has two at least where this allows.
    #[arg(long, default_value_t = Self::default().branches)]
    pub branches: usize,
    /// The most nodes of a branch.
    #[arg(long, default_value_t = Self::default().branch_length)]
    pub branch_length: usize,
    /// How many cells in a row share one structure.
    #[arg(long, default_value_t = Self::default().repeats)]
    pub repeats: usize,
    /// The probability that a cell reads an earlier cell than the one before it.
    #[arg(long, default_value_t = Self::default().skip)]
    pub skip: f64,
    /// How many cells such a skip passes over at most.
    #[arg(long, default_value_t = Self::default().skip_length)]
    pub skip_length: usize,
}

impl Default for Dnn {
    fn default() -> Self {
        Self { nodes: 1000, branches: 4, branch_length: 4, repeats: 4, skip: 0.1, skip_length: 8 }
    }
}

/// The probability that a cell structure has a shortcut from its input to its output.
const SHORTCUT: f64 = 0.5;

/// How many nodes the stem has.
const STEM: usize = 3;

/// The structure that the cells of one stage share.
struct Cell {
    branch_lengths: Vec<usize>,
    shortcut: bool,
}

impl Cell {
    /// All branches and the node in which they meet.
    fn node_count(&self) -> usize {
        self.branch_lengths.iter().sum::<usize>() + 1
    }
}

/// A graph under construction; nodes are added in topological order.
#[derive(Default)]
struct Growth {
    edges: Vec<(u32, u32)>,
    layer: Vec<u64>,
    /// The last node of the stem and of each cell.
    outputs: Vec<u32>,
}

impl Growth {
    /// Adds a chain behind `start` and returns its last node.
    fn chain(&mut self, start: Option<u32>, length: usize) -> Option<u32> {
        let mut last = start;
        for _ in 0..length {
            let v = self.layer.len() as u32;
            self.layer.push(self.outputs.len() as u64);
            self.edges.extend(last.map(|u| (u, v)));
            last = Some(v);
        }
        last
    }

    fn cell(&mut self, cell: &Cell, input: u32, skip: Option<u32>) -> u32 {
        let ends: Vec<u32> = cell.branch_lengths.iter().filter_map(|&l| self.chain(Some(input), l)).collect();
        let output = self.layer.len() as u32;
        self.layer.push(self.outputs.len() as u64);
        let shortcut = cell.shortcut.then_some(input);
        self.edges.extend(ends.into_iter().chain(shortcut).chain(skip).map(|u| (u, output)));
        output
    }
}

impl Dnn {
    fn draw_cell(&self, rng: &mut Rng) -> Cell {
        let branches = rng.random_range(self.branches.min(2)..=self.branches);
        let branch_lengths = (0..branches).map(|_| rng.random_range(1..=self.branch_length)).collect();
        Cell { branch_lengths, shortcut: rng.random_bool(SHORTCUT) }
    }

    /// The earlier output that the next cell reads, if it reads one.
    fn draw_skip(&self, outputs: &[u32], rng: &mut Rng) -> Option<u32> {
        let longest = self.skip_length.min(outputs.len() - 1);
        if longest == 0 || !rng.random_bool(self.skip) {
            return None;
        }
        Some(outputs[outputs.len() - 1 - rng.random_range(1..=longest)])
    }
}

impl Shape for Dnn {
    fn name(&self) -> &'static str {
        "dnn"
    }

    fn check(&self, checks: &mut Checks) {
        checks.count("nodes", self.nodes as u64);
        checks.within("branches", self.branches as u64, 1, 1000);
        checks.within("branch-length", self.branch_length as u64, 1, 1000);
        checks.count("repeats", self.repeats as u64);
        checks.probability("skip", self.skip);
    }

    fn size(&self) -> (f64, f64) {
        (self.nodes as f64, 2.5 * self.nodes as f64)
    }

    fn draw(&self, rng: &mut Rng) -> Dag {
        let mut growth = Growth::default();
        let mut last = growth.chain(None, STEM.min(self.nodes));
        growth.outputs.extend(last);
        'stages: while let Some(mut input) = last {
            let cell = self.draw_cell(rng);
            for _ in 0..self.repeats {
                if growth.layer.len() + cell.node_count() > self.nodes {
                    break 'stages;
                }
                let skip = self.draw_skip(&growth.outputs, rng);
                input = growth.cell(&cell, input, skip);
                growth.outputs.push(input);
            }
            last = Some(input);
        }
        let head = self.nodes - growth.layer.len();
        growth.chain(growth.outputs.last().copied(), head);
        Dag::new(self.nodes, growth.edges, growth.layer)
    }
}
