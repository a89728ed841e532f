//! Profits along a line, in whole numbers.

use super::ROOM;
use super::sweep::{Arc, Sweep};

/// Profits in whole grains. No gain is negative: instead of losing inside, a unit gains outside.
pub struct Grains {
    /// How many a profit of 1 is.
    per_unit: f64,
    /// What all units together would lose inside.
    pub spared: f64,
    /// What each unit gains outside and inside.
    pub of_unit: Vec<[i32; 2]>,
    /// The same of each step's variable.
    of_step: Vec<[i32; 2]>,
}

impl Grains {
    /// Those of these profits of units; `None` where they are too many or too large to be counted.
    pub fn new(sweep: &Sweep<2>, profit: &[f64]) -> Option<Self> {
        let all = profit.iter().map(|profit| profit.abs()).sum::<f64>();
        let per_unit = (sweep.most_gain() - profit.len() as f64) / all;
        if !per_unit.is_normal() || per_unit < 0.0 {
            return None;
        }
        let grains = |profit: f64| (profit.max(0.0) * per_unit).ceil() as i32;
        let of_unit: Vec<[i32; 2]> = profit.iter().map(|&profit| [grains(-profit), grains(profit)]).collect();
        let of_variable = |v: usize| of_unit.get(v).copied().unwrap_or_default();
        let of_step = sweep.steps.iter().map(|step| of_variable(step.variable)).collect();
        let spared = profit.iter().map(|profit| (-profit).max(0.0)).sum();
        Some(Self { per_unit, spared, of_unit, of_step })
    }

    /// What an arc of a step gains.
    #[inline]
    pub fn gain(&self, step: usize, arc: &Arc<2>) -> i32 {
        self.of_step[step][usize::from(arc.is_inside())]
    }

    /// What so many are worth, with what is spared.
    pub fn profit(&self, grains: i32) -> f64 {
        f64::from(grains) / self.per_unit
    }

    /// Sets of at least this profit have so many.
    pub fn least(&self, profit: f64) -> i32 {
        ((profit + self.spared) * self.per_unit * (2.0 - ROOM)).floor().max(0.0) as i32
    }
}
