//! A placement whose every single move is priced in constant time.

use super::Model;
use crate::problem::fits;

/// Units on parts, with tables that tell what each move would change.
///
/// Besides the weight of each part it holds the *pull* of each unit on each part: what the unit's edges would cost if
/// it were there. A move from part i to part j then raises the cost by
/// 2 · variance · w · (W_j − W_i + w) + pull(j) − pull(i): O(1), where the cost from scratch is O(n + m + k).
/// Making the move costs O(degree · k).
#[derive(Debug, Clone)]
pub struct Placement<'a> {
    model: &'a Model,
    part_of: Vec<u32>,
    weights: Vec<f64>,
    memory: Vec<f64>,
    /// By unit, then by part.
    pulls: Vec<f64>,
}

impl<'a> Placement<'a> {
    /// The placement with unit `u` on part `part_of[u]`. O(n · k + m · k).
    pub fn new(model: &'a Model, part_of: Vec<u32>) -> Self {
        let k = model.part_count();
        let (mut weights, mut memory) = (vec![0.0; k], vec![0.0; k]);
        let mut pulls = vec![0.0; model.unit_count() * k];
        for (u, &d) in part_of.iter().enumerate() {
            weights[d as usize] += model.weights[u];
            memory[d as usize] += model.need(u, d as usize).unwrap_or(0.0);
            for (to, pull) in pulls[u * k..(u + 1) * k].iter_mut().enumerate() {
                *pull = model.pull(&part_of, u, to);
            }
        }
        Self { model, part_of, weights, memory, pulls }
    }

    /// What it is a placement for.
    pub fn model(&self) -> &'a Model {
        self.model
    }

    /// The part of each unit.
    pub fn part_of(&self) -> &[u32] {
        &self.part_of
    }

    /// The part of each unit, without the tables.
    pub fn into_parts(self) -> Vec<u32> {
        self.part_of
    }

    /// By how much the cost rises when unit `u` moves to part `to`; negative where it falls. O(1).
    #[inline]
    pub fn rise(&self, u: usize, to: usize) -> f64 {
        let from = self.part_of[u] as usize;
        if from == to {
            return 0.0;
        }
        let weight = self.model.weights[u];
        let pulls = &self.pulls[u * self.weights.len()..];
        2.0 * self.model.variance * weight * (self.weights[to] - self.weights[from] + weight) + pulls[to] - pulls[from]
    }

    /// Whether part `to` can run unit `u` and has room for it. O(1).
    #[inline]
    pub fn admits(&self, u: usize, to: usize) -> bool {
        if self.model.is_free || self.part_of[u] as usize == to {
            return true;
        }
        let need = self.model.need(u, to);
        need.is_some_and(|need| fits(self.memory[to] + need, self.model.parts[to].limit))
    }

    /// Moves unit `u` to part `to`. O(degree · k).
    pub fn apply(&mut self, u: usize, to: usize) {
        let from = std::mem::replace(&mut self.part_of[u], to as u32) as usize;
        if from == to {
            return;
        }
        self.weights[from] -= self.model.weights[u];
        self.weights[to] += self.model.weights[u];
        self.memory[from] -= self.model.need(u, from).unwrap_or(0.0);
        self.memory[to] += self.model.need(u, to).unwrap_or(0.0);
        let k = self.weights.len();
        let (old, new) = (&self.model.prices[from * k..][..k], &self.model.prices[to * k..][..k]);
        for &(v, edges) in &self.model.links[u] {
            let pulls = &mut self.pulls[v as usize * k..][..k];
            for ((pull, old), new) in pulls.iter_mut().zip(old).zip(new) {
                *pull += edges * (new - old);
            }
        }
    }
}
