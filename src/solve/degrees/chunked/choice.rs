//! The best options of what a device holds in its chunks.

use crate::search::{SearchContext, Stopped};
use crate::solve::degrees::knapsack::{self, Item};
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

/// The least value of one choice of each node that fits at all moments, and the options that have it. At each moment it is a
/// knapsack, and the choice for the one that leaves the least room mostly fits at the others; where it does not, one counts that has
/// what each chunk has in flight at most.
///
/// # Errors
/// A limit came first.
pub fn best_choice(
    choices: &[Vec<Choice>],
    moments: &[Vec<usize>],
    (limit, data): (f64, usize),
    cx: &SearchContext,
) -> Result<Option<(f64, Vec<usize>)>, Stopped> {
    let bytes = |choice: &Choice, moment: &[usize]| choice.memory.lasting.of(moment[choice.chunk], data);
    let mut workings: Vec<f64> = choices.iter().flatten().map(|choice| choice.memory.working).collect();
    workings.sort_by(f64::total_cmp);
    workings.dedup();
    let most = moments
        .iter()
        .skip(1)
        .fold(moments[0].clone(), |most, moment| most.iter().zip(moment).map(|(a, b)| *a.max(b)).collect());
    let mut best: Option<(f64, Vec<usize>)> = None;
    for working in workings.into_iter().filter(|&working| working <= limit) {
        let with_less: Vec<Vec<Choice>> =
            choices.iter().map(|all| all.iter().copied().filter(|c| c.memory.working <= working).collect()).collect();
        let fits = |chosen: &[usize]| {
            let of_moment = |moment: &Vec<usize>| {
                with_less.iter().zip(chosen).map(|(all, &item)| bytes(&all[item], moment)).sum::<f64>()
            };
            moments.iter().all(|moment| of_moment(moment) <= limit - working)
        };
        let cutoff = best.as_ref().map_or(f64::INFINITY, |(value, _)| *value);
        // The first choice that fits at all of them is the least of those within the one it was made for.
        for moment in moments.iter().chain([&most]) {
            let item = |choice: &Choice| Item { value: choice.value, weight: bytes(choice, moment) };
            let classes: Vec<Vec<Item>> = with_less.iter().map(|all| all.iter().map(item).collect()).collect();
            let answer = knapsack::solve(&classes, limit - working, cutoff, true, cx)?;
            if answer.choice.is_empty() != classes.is_empty() || !answer.bounds.upper.is_finite() {
                continue;
            }
            if fits(&answer.choice) {
                if best.as_ref().is_none_or(|(value, _)| answer.bounds.upper < *value) {
                    let options = answer.choice.iter().zip(&with_less).map(|(&item, all)| all[item].index).collect();
                    best = Some((answer.bounds.upper, options));
                }
                break;
            }
        }
    }
    Ok(best)
}
