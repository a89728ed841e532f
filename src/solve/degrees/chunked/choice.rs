//! The best options of what a device holds in its chunks.

use crate::search::{SearchContext, Stopped};
use crate::solve::degrees::knapsack::{self, Answer, Item};
use crate::solve::degrees::shape::Memory;

/// An option of a node on a device.
#[derive(Clone, Copy)]
pub struct Choice {
    pub chunk: usize,
    /// Its index among those of the node.
    pub index: usize,
    pub value: f64,
    pub memory: Memory,
}

/// One option for each node.
pub struct Best {
    pub value: f64,
    /// Bytes of the device at its peak.
    pub bytes: f64,
    /// The options, by their indices.
    pub options: Vec<usize>,
}

/// The least value of one choice of each node that fits at all moments: microbatches in flight of each chunk. At each moment it is a
/// knapsack, and the choice for one of them mostly fits at the others; where none does, one counts that has what each chunk has in flight
/// at most. Of each working memory that nodes may have, those with less are looked at.
///
/// # Errors
/// A limit came first.
pub fn best_choice(
    choices: &[Vec<Choice>],
    moments: &[Vec<usize>],
    (limit, data): (f64, usize),
    cx: &SearchContext,
) -> Result<Option<Best>, Stopped> {
    let workings = |all: &[Choice]| all.iter().map(|choice| choice.memory.working).collect::<Vec<f64>>();
    let needed = choices.iter().map(|all| workings(all).into_iter().fold(f64::INFINITY, f64::min)).fold(0.0, f64::max);
    let mut all: Vec<f64> = choices.iter().flat_map(|all| workings(all)).collect();
    all.retain(|&working| needed <= working && working <= limit);
    all.sort_by(f64::total_cmp);
    all.dedup();
    let mut best: Option<Best> = None;
    for working in all {
        let with_less = |all: &Vec<Choice>| all.iter().copied().filter(|c| c.memory.working <= working).collect();
        let choices: Vec<Vec<Choice>> = choices.iter().map(with_less).collect();
        let cutoff = best.as_ref().map_or(f64::INFINITY, |best| best.value);
        best = within(&choices, moments, (limit - working, data), cutoff, cx)?
            .filter(|found| found.value < cutoff)
            .map(|found| Best { bytes: found.bytes + working, ..found })
            .or(best);
    }
    Ok(best)
}

/// The same of what lasts and is kept alone.
fn within(
    choices: &[Vec<Choice>],
    moments: &[Vec<usize>],
    (limit, data): (f64, usize),
    cutoff: f64,
    cx: &SearchContext,
) -> Result<Option<Best>, Stopped> {
    let bytes = |choice: &Choice, moment: &[usize]| choice.memory.lasting.of(moment[choice.chunk], data);
    let most_of = |a: Vec<usize>, b: &Vec<usize>| a.iter().zip(b).map(|(a, b)| *a.max(b)).collect();
    let most = moments.iter().skip(1).fold(moments[0].clone(), most_of);
    for moment in moments.iter().chain([&most]) {
        let item = |choice: &Choice| Item { value: choice.value, weight: bytes(choice, moment) };
        let classes: Vec<Vec<Item>> = choices.iter().map(|all| all.iter().map(item).collect()).collect();
        let Answer { bounds, choice } = knapsack::solve(&classes, limit, cutoff, true, cx)?;
        if !bounds.upper.is_finite() || choice.len() != choices.len() {
            continue;
        }
        let chosen = || choices.iter().zip(&choice).map(|(all, &item)| &all[item]);
        let needed = |moment: &Vec<usize>| chosen().map(|choice| bytes(choice, moment)).sum::<f64>();
        let peak = moments.iter().map(needed).fold(0.0, f64::max);
        if peak <= limit {
            let options = chosen().map(|choice| choice.index).collect();
            return Ok(Some(Best { value: bounds.upper, bytes: peak, options }));
        }
    }
    Ok(None)
}
