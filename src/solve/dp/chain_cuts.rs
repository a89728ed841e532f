//! The boundary relaxation, told apart by cuts.
//!
//! The boundary relaxation ([`super::relaxation`]) cannot charge a net that may stay live across a whole stage. Here
//! boundaries have classes: how many of the cuts, units of one chain, lie below them (`ChainCuts`). A stage whose
//! boundaries are of the classes i and j holds the cuts i + 1 to j, so a net that bypasses it lies beside all of them.
//! Every other net is charged in full, and classes never decrease along a pipeline. Only a stage without a cut counts
//! as free of communication. On networks with many skip connections this gives about as much as charging all nets, which
//! is no bound: 60.58 on NASNet-A mobile over six accelerators, where the boundary relaxation gives 57.95.
//!
//! As much work lies between two cuts where units are dear as where they are cheap. ChainCuts spaced by the number of units
//! are too few where networks begin: few units make a stage there, and boundaries cut the largest tensors.
//!
//! To keep fronts few, a stage is charged by its outermost `MOST_NEAR` cuts at each boundary; to keep them short,
//! labels that are almost equal are joined to one at least as good as both.

mod chain;
mod class_fronts;

use rayon::prelude::*;

use self::chain::ChainCuts;
use self::class_fronts::class_front;
use super::Setting;
use super::frontier::Frontier;
use super::pareto_fronts::{Label, largest_x};
use super::relaxation::{ROUNDING, raise};
use super::stage::{Bounds, Potential};
use crate::graph::Precedence;
use crate::search::{SearchContext, Stopped};

/// ChainCuts that tell near a boundary which nets its stages may bypass.
const MOST_NEAR: usize = 5;

/// ChainCuts for each device: some stages would have few cuts, or none, with less.
const CUTS_PER_DEVICE: usize = 4;

/// The most cuts: fronts are quadratic in [`MOST_NEAR`] and linear in this.
const MOST_CUTS: usize = 96;

/// How a stage is charged at a boundary: a potential, charged by so many cuts next to the boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mode {
    potential: usize,
    near: usize,
}

/// The relaxation by cuts of one problem.
pub struct ChainCutRelaxation<'a> {
    setting: &'a Setting<'a>,
    /// For each stage kind its modes by the number of cuts that it holds, up to [`MOST_NEAR`], with their factors.
    modes_of: Vec<Vec<(usize, f64)>>,
    modes: Vec<Mode>,
    /// By mode: the potential of all units.
    totals: Vec<f64>,
    /// By class, mode below and mode above; empty where the class has too few cuts on a side.
    fronts: Vec<Vec<Vec<Label>>>,
}

impl<'a> ChainCutRelaxation<'a> {
    /// The relaxation with `bounds`, whose charged variants charge all nets.
    ///
    /// # Errors
    /// [`Stopped`] when the context asks to stop.
    pub fn new(
        setting: &'a Setting<'a>,
        frontier: &Frontier,
        precedence: &Precedence,
        bounds: &Bounds,
        grain: f64,
        cx: &SearchContext,
    ) -> Result<Self, Stopped> {
        let devices: usize = setting.reduced.kinds.iter().map(|kind| kind.count).sum();
        let count = devices.saturating_mul(CUTS_PER_DEVICE).min(MOST_CUTS);
        let cuts = ChainCuts::new(setting.reduced, &frontier.order, precedence, count);
        let mut modes = Vec::new();
        let modes_of = (0..setting.stages.len()).map(|stage| stage_modes(bounds, stage, &mut modes)).collect();
        let of_class = |class: usize| -> Result<Vec<Vec<Label>>, Stopped> {
            let decided = cuts.decided(class, precedence);
            let near = |mode: &Mode, range: std::ops::Range<usize>| {
                (range.len() == mode.near).then(|| {
                    let bypassed = cuts.bypassed(range, setting.reduced, precedence);
                    charged(&bounds.potentials[mode.potential], &bypassed)
                })
            };
            let last = |mode: &Mode| near(mode, class.saturating_sub(mode.near)..class);
            let first = |mode: &Mode| near(mode, class..cuts.count().min(class + mode.near));
            let below: Vec<Option<Potential>> = modes.iter().map(last).collect();
            let above: Vec<Option<Potential>> = modes.iter().map(first).collect();
            let front = |i: usize| match (&below[i / modes.len()], &above[i % modes.len()]) {
                (Some(below), Some(above)) => {
                    class_front(setting.reduced, frontier, &decided, (below, above), grain, cx)
                }
                _ => Ok(Vec::new()),
            };
            (0..modes.len().pow(2)).into_par_iter().map(front).collect()
        };
        let fronts = (0..=cuts.count()).map(of_class).collect::<Result<_, Stopped>>()?;
        let totals = modes.iter().map(|mode| bounds.potentials[mode.potential].total()).collect();
        Ok(Self { setting, modes_of, modes, totals, fronts })
    }

    /// How many labels the fronts hold.
    pub fn label_count(&self) -> usize {
        self.fronts.iter().flatten().map(Vec::len).sum()
    }

    /// The least feasible target between `low` and `high`, to one part in 10⁶, from below. `high` is feasible.
    pub fn least_target(&self, low: f64, high: f64) -> f64 {
        let (mut low, mut high) = (low, high);
        while high - low > 1e-6 * high {
            let middle = 0.5 * (low + high);
            if self.is_feasible(middle) { high = middle } else { low = middle }
        }
        low
    }

    /// Whether some relaxed pipeline meets `target`.
    pub fn is_feasible(&self, target: f64) -> bool {
        let consumption = &self.setting.consumption;
        let (stages, classes) = (self.setting.stages.len(), self.fronts.len());
        let width = MOST_NEAR + 1;
        let index = |used: usize, class: usize, stage: usize, near: usize| {
            ((used * classes + class) * stages + stage) * width + near
        };
        // The largest lower value of a boundary for a next stage that holds so many cuts next to it.
        let mut reach: Vec<Option<f64>> = vec![None; index(consumption.count(), 0, 0, 0)];
        reach[..index(0, 1, 0, 0)].fill(Some(0.0));
        for used in consumption.all() {
            for (s, &stage) in self.setting.stages.iter().enumerate() {
                let Some(next) = consumption.add(used, stage) else { continue };
                for from in 0..classes {
                    for to in from..classes {
                        let near = (to - from).min(MOST_NEAR);
                        let Some(x) = reach[index(used, from, s, near)] else { continue };
                        let (mode, factor) = self.modes_of[s][near];
                        let most = x + target / factor + ROUNDING * self.totals[mode];
                        if to + 1 == classes && self.totals[mode] <= most {
                            return true;
                        }
                        for (above, _) in self.setting.stages.iter().enumerate().filter(|(_, k)| stage.meets(k)) {
                            for near in 0..width {
                                let front = self.front(to, mode, self.modes_of[above][near].0);
                                raise(&mut reach[index(next, to, above, near)], largest_x(front, most));
                            }
                        }
                    }
                }
            }
        }
        false
    }

    fn front(&self, class: usize, below: usize, above: usize) -> &[Label] {
        &self.fronts[class][below * self.modes.len() + above]
    }
}

/// The modes of a stage kind by the number of its cuts, each with the factor of its potential; new ones join `modes`.
fn stage_modes(bounds: &Bounds, stage: usize, modes: &mut Vec<Mode>) -> Vec<(usize, f64)> {
    let own = || bounds.variants.iter().filter(|v| v.stage == stage);
    let mut number = |mode: Mode| {
        modes.iter().position(|&known| known == mode).unwrap_or_else(|| {
            modes.push(mode);
            modes.len() - 1
        })
    };
    let of_near = |near: usize| {
        // The first variant of a stage kind is its charged one, if it has one; the last is free of communication.
        let variant = if near > 0 { own().next() } else { own().next_back() }?;
        let near = if bounds.potentials[variant.potential].is_charged() { near } else { 0 };
        Some((number(Mode { potential: variant.potential, near }), variant.factor))
    };
    (0..=MOST_NEAR).filter_map(of_near).collect()
}

/// `potential` without the charges of bypassed nets.
fn charged(potential: &Potential, bypassed: &[bool]) -> Potential {
    let mask = |charges: &[f64]| {
        charges.iter().zip(bypassed).map(|(&charge, &skip)| if skip { 0.0 } else { charge }).collect()
    };
    Potential { weight: potential.weight.clone(), upper: mask(&potential.upper), lower: mask(&potential.lower) }
}
