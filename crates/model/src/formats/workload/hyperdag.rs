//! HyperDAG files (version 1), the format of the graphs of HyperDAG_DB.
//!
//! ```text
//! % comments
//! 2 3 5
//! 0 4
//! 1 2
//! 0 10
//! 1 30
//! 2 20
//! 0 0
//! 0 1
//! 0 2
//! 1 1
//! 1 2
//! ```
//!
//! The first line counts hyperedges, nodes and pins; then each of them has a line. A hyperedge is an output: its first pin
//! is the node that gives it, the others are those that read it. What follows the number of a hyperedge is what it takes to
//! move it, what follows that of a node is what it takes to run and what it holds; all of these are taken as
//! milliseconds and bytes. Absent costs are 1, absent memory 0.

use super::pipedream::PipeDreamOptions;
use super::unplaced;
use crate::instance::validate::shorten;
use crate::instance::{Edge, Instance, Node, Problems};

/// Whether `text` begins as such a file does: three counts after comments.
pub(super) fn is_one(text: &str) -> bool {
    let first = text.lines().find(|line| !is_comment(line)).unwrap_or_default();
    first.split_whitespace().take(3).filter(|word| word.parse::<u64>().is_ok()).count() == 3
}

fn is_comment(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('%')
}

/// The lines that are no comments, with their numbers.
struct Lines<'a, I: Iterator<Item = (usize, &'a str)>> {
    lines: I,
    /// The number of the last line that was read.
    last: usize,
    /// That lines are missing is told once.
    ended: bool,
}

impl<'a, I: Iterator<Item = (usize, &'a str)>> Lines<'a, I> {
    /// The next line's numbers, of which there must be `least`; what follows `most` of them is not read.
    fn numbers(
        &mut self,
        what: &str,
        (least, most): (usize, usize),
        problems: &mut Problems,
    ) -> Option<(usize, Vec<f64>)> {
        let Some((at, line)) = self.lines.next() else {
            if !self.ended {
                let cause = format!("the file ends where {what} should follow");
                problems.add(format!("line {}", self.last), cause, "correct the counts");
            }
            self.ended = true;
            return None;
        };
        self.last = at;
        let words = line.split('%').next().unwrap_or_default().split_whitespace();
        let read = |word: &str| word.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        let numbers: Vec<f64> = words.take(most).map(read).collect::<Option<_>>().unwrap_or_default();
        if numbers.len() < least {
            let cause = format!("{:?} is not {what}", shorten(line.trim(), 40));
            problems.add(format!("line {at}"), cause, format!("give {least} or more numbers that are at least 0"));
            return None;
        }
        Some((at, numbers))
    }

    /// A number below `count` that the line begins with, and the costs behind it.
    fn row(&mut self, what: &str, count: usize, problems: &mut Problems) -> Option<(usize, Vec<f64>)> {
        let (at, numbers) = self.numbers(what, (1, usize::MAX), problems)?;
        let index = index(numbers[0], at, what, count, problems)?;
        Some((index, numbers[1..].to_vec()))
    }
}

fn index(number: f64, line: usize, what: &str, count: usize, problems: &mut Problems) -> Option<usize> {
    let index = Some(number).filter(|number| number.fract() == 0.0 && *number < count as f64);
    if index.is_none() {
        problems.add(
            format!("line {line}"),
            format!("{number} is no number of {what}"),
            format!("give one below {count}"),
        );
    }
    index.map(|index| index as usize)
}

pub(super) fn parse(text: &str, options: &PipeDreamOptions, problems: &mut Problems) -> Instance {
    let mut lines =
        Lines { lines: (1..).zip(text.lines()).filter(|(_, line)| !is_comment(line)), last: 1, ended: false };
    let Some((at, counts)) = lines.numbers("the counts of hyperedges, nodes and pins", (3, 3), problems) else {
        return Instance::default();
    };
    // Each of them has a line, of two bytes at least.
    if counts[..3].iter().sum::<f64>() > text.len() as f64 {
        problems.add(format!("line {at}"), "it counts more than the file has lines", "correct the counts");
        return Instance::default();
    }
    let [hyperedges, nodes, pins] = [counts[0] as usize, counts[1] as usize, counts[2] as usize];
    let mut transfers = vec![1.0; hyperedges];
    for _ in 0..hyperedges {
        let Some((hyperedge, costs)) = lines.row("a hyperedge", hyperedges, problems) else { continue };
        transfers[hyperedge] = costs.first().copied().unwrap_or(1.0);
    }
    let mut listed = vec![None; nodes];
    for _ in 0..nodes {
        let Some((node, costs)) = lines.row("a node", nodes, problems) else { continue };
        if listed[node].is_some() {
            problems.add(
                format!("line {}", lines.last),
                format!("node {node} has a line before it"),
                "keep one of them",
            );
        }
        listed[node] = Some((costs.first().copied().unwrap_or(1.0), costs.get(1).copied().unwrap_or(0.0)));
    }
    let mut sources = vec![None; hyperedges];
    let mut edges = Vec::new();
    for _ in 0..pins {
        let Some((at, pin)) = lines.numbers("a pin", (2, usize::MAX), problems) else { continue };
        let hyperedge = index(pin[0], at, "a hyperedge", hyperedges, problems);
        let node = index(pin[1], at, "a node", nodes, problems);
        let (Some(hyperedge), Some(node)) = (hyperedge, node) else { continue };
        match sources[hyperedge] {
            None => sources[hyperedge] = Some(node),
            Some(source) => edges.push(Edge { source: source as u64, target: node as u64 }),
        }
    }
    let mut sent = vec![0.0; nodes];
    sources.into_iter().zip(transfers).for_each(|(node, transfer)| {
        if let Some(node) = node {
            sent[node] += transfer;
        }
    });
    let node = |(id, (listed, transfer_time)): (usize, (Option<(f64, f64)>, f64))| {
        let (time, memory) = listed.unwrap_or((1.0, 0.0));
        let times = (vec![Some(time)], Some(time * options.cpu_factor));
        Node { accelerator_times: times.0, cpu_time: times.1, memory, transfer_time, ..Node::new(id as u64) }
    };
    let nodes = listed.into_iter().zip(sent).enumerate().map(node).collect();
    unplaced::instance("HyperDAG file", nodes, edges, options, problems)
}
