//! One round: down the levels and up again.

use rand::RngExt;

use super::super::{Assignment, Setting};
use super::Rng;
use super::anneal::{Plan, Target, anneal};
use super::coarsen::{self, Bounds};
use super::convexity::{Convexity, Reach};
use super::level::{Level, Rows};
use super::state::State;
use crate::solve::SearchContext;
use crate::solve::dp::loads::{Value, objective};

// What suits differs from graph to graph, so each round draws its own parameters from these ranges.

/// By how much the target is below the best split, relative to it.
const STEPS: (f64, f64) = (1e-3, 2e-2);

/// What a coarse vertex may weigh, relative to the target.
const SHARES: (f64, f64) = (0.3, 0.9);

/// Vertices of the coarsest level per device.
const FLOORS: (usize, usize) = (3, 8);

/// First temperatures of the coarsest level, relative to the target.
const HEATS: (f64, f64) = (1e-3, 2e-2);

/// First temperature of a finer level, relative to that of the coarsest.
const FINER: f64 = 0.4;

/// Last temperature relative to the first.
const COOLING: f64 = 0.02;

/// How many times as many sweeps the coarsest level gets.
const COARSEST: usize = 4;

/// What a round is to do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order<'a> {
    /// The split to start from; nothing otherwise.
    pub start: Option<&'a Assignment>,
    /// The split to improve on.
    pub known: Option<&'a Assignment>,
    /// Sweeps over each level.
    pub effort: usize,
}

/// Rounds, whatever the number of rows is.
pub(super) trait Rounds: Send + Sync {
    /// The best split met, or the last one where none met a target: it may break memory limits.
    fn round(&self, setting: &Setting, order: Order, rng: &mut Rng, cx: &SearchContext) -> Assignment;
}

/// The finest level, from which each round builds a hierarchy of its own.
pub(super) struct Hierarchy<const R: usize> {
    finest: Level<R>,
    rows: Rows,
    convex: Option<Reach>,
    /// Sets have to be convex, but the graph is too large to tell which moves keep them so.
    is_frozen: bool,
}

/// A coarser level, and the vertex of it that holds each vertex of the next finer one.
struct Coarser<const R: usize> {
    level: Level<R>,
    label: Vec<u32>,
}

impl<const R: usize> Hierarchy<R> {
    pub fn new(setting: &Setting, rows: Rows) -> Self {
        let order = setting.unordered.order.as_ref();
        let convex = order.and_then(|order| Reach::new(order, setting.unit_count()));
        Self { finest: Level::finest(setting, &rows), rows, is_frozen: order.is_some() && convex.is_none(), convex }
    }

    /// Coarsens until few vertices are left; vertices join only where `device_of` puts them on one device.
    fn coarsen(&self, mut device_of: Option<Vec<u32>>, shape: Shape, rng: &mut Rng) -> Vec<Coarser<R>> {
        let mut levels: Vec<Coarser<R>> = Vec::new();
        loop {
            let level = levels.last().map_or(&self.finest, |coarser| &coarser.level);
            if level.vertex_count <= shape.floor {
                return levels;
            }
            let bounds = Bounds { target: shape.target, share: shape.share, device_of: device_of.as_deref() };
            let (label, count) = coarsen::join(level, bounds, rng);
            if count * 20 > level.vertex_count * 19 {
                return levels;
            }
            device_of = device_of.map(|fine| of_coarse(&fine, &label, count));
            levels.push(Coarser { level: level.contract(&label, count), label });
        }
    }
}

/// How far to coarsen.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// The value that devices are to get below.
    target: f64,
    /// What a vertex may weigh, relative to the target.
    share: f64,
    /// How many vertices are few enough.
    floor: usize,
}

/// The devices of coarse vertices whose parts share one each.
fn of_coarse(device_of: &[u32], label: &[u32], count: usize) -> Vec<u32> {
    let mut coarse = vec![0; count];
    label.iter().zip(device_of).for_each(|(&l, &d)| coarse[l as usize] = d);
    coarse
}

/// The devices of fine vertices that follow their coarse ones.
fn of_fine(device_of: &[u32], label: &[u32]) -> Vec<u32> {
    label.iter().map(|&l| device_of[l as usize]).collect()
}

impl<const R: usize> Rounds for Hierarchy<R> {
    fn round(&self, setting: &Setting, order: Order, rng: &mut Rng, cx: &SearchContext) -> Assignment {
        if let (true, Some(start)) = (self.is_frozen, order.start) {
            return start.clone();
        }
        let step = log_uniform(STEPS, rng);
        let known = order.known.map(|split| self.value_at(&[], setting, &split.device_of));
        let shape = Shape {
            target: known.map_or_else(|| self.average(setting), objective),
            share: rng.random_range(SHARES.0..SHARES.1),
            floor: setting.device_count() * rng.random_range(FLOORS.0..FLOORS.1),
        };
        let levels = self.coarsen(order.start.map(|split| split.device_of.clone()), shape, rng);
        let device_of = match order.start {
            Some(split) => levels.iter().fold(split.device_of.clone(), |fine, coarser| {
                of_coarse(&fine, &coarser.label, coarser.level.vertex_count)
            }),
            None => random(levels.last().map_or(&self.finest, |coarser| &coarser.level), setting, rng),
        };
        let target = known.map(|value| Target { value: value.map(|v| v * (1.0 - step)), step });
        let target = target.unwrap_or_else(|| Target { value: self.value_at(&levels, setting, &device_of), step });
        self.refine(&levels, setting, (device_of, target), order.effort, rng, cx)
    }
}

impl<const R: usize> Hierarchy<R> {
    /// Anneals level by level, from the coarsest one, which `device_of` splits, to the finest.
    fn refine(
        &self,
        levels: &[Coarser<R>],
        setting: &Setting,
        (mut device_of, mut target): (Vec<u32>, Target),
        effort: usize,
        rng: &mut Rng,
        cx: &SearchContext,
    ) -> Assignment {
        let vertex_of = self.vertices_of_units(levels);
        let heat = log_uniform(HEATS, rng);
        let mut found: Option<Vec<u32>> = None;
        for depth in (0..=levels.len()).rev() {
            let level = if depth == 0 { &self.finest } else { &levels[depth - 1].level };
            let convexity = |reach| Convexity::new(reach, &vertex_of[depth], &device_of, setting.device_count());
            let mut convexity = self.convex.as_ref().map(convexity);
            let mut state = State::new(level, &setting.kind_of, device_of);
            let plan = if depth == levels.len() {
                Plan { hot: heat, cold: heat * COOLING, sweeps: COARSEST * effort }
            } else {
                Plan { hot: heat * FINER, cold: heat * FINER * COOLING, sweeps: effort }
            };
            let better = anneal(&mut state, convexity.as_mut(), &self.rows, &mut target, plan, rng, cx);
            found = better.clone().or(found);
            device_of = better.unwrap_or(state.device_of);
            if depth > 0 {
                let label = &levels[depth - 1].label;
                found = found.map(|found| of_fine(&found, label));
                device_of = of_fine(&device_of, label);
            }
        }
        Assignment { device_of: found.unwrap_or(device_of) }
    }

    /// The value of a split of the last of `levels`, or of the finest level where there are none.
    fn value_at(&self, levels: &[Coarser<R>], setting: &Setting, device_of: &[u32]) -> Value {
        let coarsest = levels.last().map_or(&self.finest, |coarser| &coarser.level);
        State::new(coarsest, &setting.kind_of, device_of.to_vec()).value(&self.rows)
    }

    /// The average load if each vertex were where it is quickest.
    fn average(&self, setting: &Setting) -> f64 {
        let n = self.finest.vertex_count;
        let kinds = self.finest.weights.len() / n.max(1);
        let least = |v: usize| {
            let of_kind = (0..kinds).map(|i| self.finest.weights[i * n + v].iter().copied().fold(0.0, f64::max));
            of_kind.min_by(f64::total_cmp).unwrap_or(0.0)
        };
        (0..n).map(least).sum::<f64>() / setting.device_count() as f64
    }

    /// The vertex of each unit, from the finest level on, where convexity needs it.
    fn vertices_of_units(&self, levels: &[Coarser<R>]) -> Vec<Vec<u32>> {
        let mut vertex_of: Vec<Vec<u32>> = vec![(0..self.finest.vertex_count as u32).collect()];
        for (depth, coarser) in levels.iter().enumerate().filter(|_| self.convex.is_some()) {
            vertex_of.push(of_fine(&coarser.label, &vertex_of[depth]));
        }
        vertex_of
    }
}

/// A random device for each vertex that supports it, where there is one.
fn random<const R: usize>(level: &Level<R>, setting: &Setting, rng: &mut Rng) -> Vec<u32> {
    let choose = |v: usize| {
        let can_run = |&d: &usize| level.is_supported[setting.kind_of[d] * level.vertex_count + v];
        let mut choices = (0..setting.device_count()).filter(can_run);
        let count = choices.clone().count();
        if count == 0 { 0 } else { choices.nth(rng.random_range(0..count)).unwrap_or(0) as u32 }
    };
    (0..level.vertex_count).map(choose).collect()
}

/// A number between two that is as likely to be small as to be large.
fn log_uniform((low, high): (f64, f64), rng: &mut Rng) -> f64 {
    low * (high / low).powf(rng.random::<f64>())
}
