//! Figures of a run.

use serde::Serialize;

/// What a run did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stats {
    /// Figures by name, in the order they were recorded.
    pub figures: Vec<(&'static str, f64)>,
    /// What each technique of a portfolio did, where a run keeps account of that.
    pub techniques: Vec<Technique>,
    /// Which of them found the solution, where they share what they know.
    pub solution_by: Option<&'static str>,
    /// Which of them raised the bound last.
    pub bound_by: Option<&'static str>,
}

/// What one technique of a portfolio did in a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Technique {
    /// Its name.
    pub name: &'static str,
    /// How often it ran.
    pub calls: u64,
    /// How long it ran in all.
    pub seconds: f64,
    /// Decisions of its searches.
    pub decisions: u64,
    /// By how much it raised the bound in all, in the unit of the objective.
    pub bound_raised: f64,
    /// By how much it lowered the objective of the best solution in all.
    pub objective_lowered: f64,
}

impl Technique {
    /// One that has not run yet.
    pub fn new(name: &'static str) -> Self {
        Self { name, calls: 0, seconds: 0.0, decisions: 0, bound_raised: 0.0, objective_lowered: 0.0 }
    }
}

impl Stats {
    /// Figures alone.
    pub fn of(figures: impl Into<Vec<(&'static str, f64)>>) -> Self {
        Self { figures: figures.into(), ..Self::default() }
    }

    /// Records or replaces a figure.
    pub fn set(&mut self, name: &'static str, value: f64) {
        match self.figures.iter_mut().find(|(known, _)| *known == name) {
            Some(entry) => entry.1 = value,
            None => self.figures.push((name, value)),
        }
    }

    /// A figure by name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
    }
}
