//! Simulated annealing of one level: vertices move or change places while the overload above a falling target shrinks.

use rand::RngExt;

use super::Rng;
use super::convexity::Convexity;
use super::level::Rows;
use super::state::{Shift, State, overload};
use crate::solve::SearchContext;
use crate::solve::dp::loads::{Value, objective};

/// How hot a level is annealed, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// First temperature relative to the target.
    pub hot: f64,
    /// Last temperature relative to the target.
    pub cold: f64,
    /// Moves tried per vertex.
    pub sweeps: usize,
}

/// The value to get below; falls with each split that does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// No device shall exceed this.
    pub value: Value,
    /// By how much, relative to a split found, the next one shall be better.
    pub step: f64,
}

/// Proposals between two looks at the limits, whatever the number of vertices; where sets have to be convex, a move of a large
/// graph takes long. Each counts as so many steps, and as many again for each net of a vertex.
const PATIENCE: usize = 512;
const STEPS: usize = 2;

/// A little of every row counts besides overload, lest devices with room fill up with transfers.
const ECONOMY: f64 = 0.008;

/// So many vertices are looked at for one of the other device that makes room.
const PARTNERS: usize = 8;

/// Anneals `state`; returns the best split that met the target, if one did, and leaves the last in `state`.
///
/// The target falls to just below each split that meets it. Where a vertex may not move by itself, it tries to change
/// places with one of the other device. O(sweeps · pins), without allocation between new bests.
pub fn anneal<'l, const R: usize>(
    state: &mut State<'l, R>,
    convexity: Option<&mut Convexity<'l>>,
    rows: &Rows,
    target: &mut Target,
    plan: Plan,
    rng: &mut Rng,
    cx: &SearchContext,
) -> Option<Vec<u32>> {
    let n = state.level.vertex_count;
    let scale = objective(target.value);
    let pins: usize = state.level.nets.iter().map(|net| net.size as usize).sum();
    let steps = STEPS * PATIENCE * (1 + pins / n.max(1));
    let cooling = (plan.cold / plan.hot).powf(1.0 / plan.sweeps.max(2) as f64);
    let over = vec![0.0; state.device_count()];
    let mut run = Run { state, convexity, limits: rows.limits(target.value), over, total: 0.0 };
    run.price_all();
    let mut best: Option<Vec<u32>> = None;
    let mut temperature = plan.hot * scale;
    let mut proposed = 0;
    'sweeps: for _ in 0..plan.sweeps {
        for _ in 0..n {
            proposed += 1;
            if proposed % PATIENCE == 0 && cx.should_stop_after(steps) {
                break 'sweeps;
            }
            let v = random_below(n, rng);
            let to = proposal(run.state, v, rng);
            if to == run.state.device_of[v] as usize || !run.state.supports(v, to) {
                continue;
            }
            if !run.step(v, to, temperature, rng) || run.total > NEARLY * scale {
                continue;
            }
            // Sums drift: look again before believing that the target is met.
            run.state.recount();
            run.price_all();
            if run.total <= 0.0 {
                match &mut best {
                    Some(best) => best.copy_from_slice(&run.state.device_of),
                    None => best = Some(run.state.device_of.clone()),
                }
                target.value = run.state.value(rows).map(|v| v * (1.0 - target.step));
                run.limits = rows.limits(target.value);
                run.price_all();
            }
        }
        temperature *= cooling;
    }
    best
}

/// Overload below this, relative to the target, may be none: a sum of many changes is not exact.
const NEARLY: f64 = 1e-12;

/// A split under way.
struct Run<'r, 'l, const R: usize> {
    state: &'r mut State<'l, R>,
    /// Which moves are allowed, where sets have to be convex.
    convexity: Option<&'r mut Convexity<'l>>,
    limits: [f64; R],
    /// The overload of each device.
    over: Vec<f64>,
    /// The overload of all devices.
    total: f64,
}

impl<const R: usize> Run<'_, '_, R> {
    fn price_all(&mut self) {
        for (over, rows) in self.over.iter_mut().zip(&self.state.rows) {
            *over = overload(rows, &self.limits);
        }
        self.total = self.over.iter().sum();
    }

    /// Tries to move `v` to `to`, by itself or in exchange; whether anything moved.
    #[inline]
    fn step(&mut self, v: usize, to: usize, temperature: f64, rng: &mut Rng) -> bool {
        let from = self.state.device_of[v] as usize;
        let shift = self.state.shift(v, to);
        let before = [self.state.rows[from], self.state.rows[to]];
        let after = [overload(&shift.from, &self.limits), overload(&shift.to, &self.limits)];
        let delta = self.delta((from, to), &before, [&shift.from, &shift.to], after);
        if !accepts(delta, temperature, rng) {
            return self.exchange(v, (to, &shift), temperature, rng);
        }
        if self.convexity.as_mut().is_some_and(|convexity| !convexity.try_move(v, from, to)) {
            return false;
        }
        self.state.apply(v, to, &shift);
        self.settle((from, to), after);
        true
    }

    /// Tries to let `v`, which may not make the move `shift` by itself, change places with one drawn from those of the other device.
    fn exchange(&mut self, v: usize, (to, shift): (usize, &Shift<R>), temperature: f64, rng: &mut Rng) -> bool {
        let from = self.state.device_of[v] as usize;
        let mut drawn = (0..PARTNERS).map(|_| random_below(self.state.level.vertex_count, rng));
        let can_come = |&u: &usize| self.state.device_of[u] as usize == to && self.state.supports(u, from);
        let Some(u) = drawn.find(can_come) else { return false };
        let before = [self.state.rows[from], self.state.rows[to]];
        self.state.apply(v, to, shift);
        let back = self.state.shift(u, from);
        let after = [overload(&back.to, &self.limits), overload(&back.from, &self.limits)];
        let delta = self.delta((from, to), &before, [&back.to, &back.from], after);
        let is_accepted = accepts(delta, temperature, rng)
            && self.convexity.as_mut().is_none_or(|convexity| convexity.try_exchange((v, u), (from, to)));
        if is_accepted {
            self.state.apply(u, from, &back);
            self.settle((from, to), after);
        } else {
            self.state.apply(v, from, &Shift { from: before[1], to: before[0] });
        }
        is_accepted
    }

    /// How much dearer two devices become.
    #[inline]
    fn delta(&self, (a, b): (usize, usize), before: &[[f64; R]; 2], rows: [&[f64; R]; 2], after: [f64; 2]) -> f64 {
        let mut growth = 0.0;
        for r in 0..R {
            growth += rows[0][r] + rows[1][r] - before[0][r] - before[1][r];
        }
        after[0] + after[1] - self.over[a] - self.over[b] + ECONOMY * growth
    }

    /// Notes the new overload of two devices.
    #[inline]
    fn settle(&mut self, (a, b): (usize, usize), after: [f64; 2]) {
        self.total += after[0] + after[1] - self.over[a] - self.over[b];
        (self.over[a], self.over[b]) = (after[0], after[1]);
    }
}

/// The rule of Metropolis.
#[inline]
fn accepts(delta: f64, temperature: f64, rng: &mut Rng) -> bool {
    // Beyond 40 temperatures no number drawn is small enough.
    delta <= 0.0 || delta < 40.0 * temperature && delta < -temperature * rng.random::<f64>().ln()
}

#[inline]
fn random_below(n: usize, rng: &mut Rng) -> usize {
    rng.random_range(0..n as u32) as usize
}

/// A device for `v`: in half of all cases that of a vertex with which it shares a net.
#[inline]
fn proposal<const R: usize>(state: &State<R>, v: usize, rng: &mut Rng) -> usize {
    let nets = state.level.nets_of.row(v);
    if !nets.is_empty() && rng.random::<bool>() {
        let pins = state.level.pins.row(nets[random_below(nets.len(), rng)] as usize);
        return state.device_of[pins[random_below(pins.len(), rng)] as usize] as usize;
    }
    random_below(state.device_count(), rng)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::super::convexity::Reach;
    use super::super::level::Level;
    use super::super::{Assignment, Setting};
    use super::*;
    use crate::generate::{Dnn, RandomDag, RandomFamily, Recipe, generate};
    use crate::instance::{Instance, Node, Platform};
    use crate::preprocess::Unordered;
    use crate::problem::Problem;
    use crate::solve::certify::samples;

    /// What is left of a split that is annealed below `target` in convex sets at this temperature, and the best one.
    fn annealed(
        problem: &Problem,
        device_of: Vec<u32>,
        target: f64,
        heat: f64,
        seed: u64,
    ) -> (Vec<u32>, Option<Vec<u32>>) {
        let unordered = Unordered::new(problem);
        let setting = Setting::new(problem, &unordered);
        let rows = Rows::new(problem, &unordered.units);
        let level = Level::<2>::finest(&setting, &rows);
        let reach = Reach::new(unordered.order.as_ref().unwrap(), setting.unit_count()).unwrap();
        let vertex_of: Vec<u32> = (0..setting.unit_count() as u32).collect();
        let mut convexity = Convexity::new(&reach, &vertex_of, &device_of, setting.device_count());
        let mut state = State::new(&level, &setting.kind_of, device_of);
        let mut target = Target { value: [target, 0.0], step: 1e-3 };
        let plan = Plan { hot: heat, cold: heat, sweeps: 40 };
        let mut rng = Rng::seed_from_u64(seed);
        let cx = SearchContext::new();
        let best = anneal(&mut state, Some(&mut convexity), &rows, &mut target, plan, &mut rng, &cx);
        let anew = Convexity::new(&reach, &vertex_of, &state.device_of, setting.device_count());
        assert!(convexity == anew, "what is known of the sets is what they are");
        for split in best.iter().chain([&state.device_of]) {
            let split = Assignment { device_of: split.clone() };
            assert!((0..setting.device_count()).all(|d| setting.is_convex(&split, d)), "{split:?}");
        }
        (state.device_of, best)
    }

    /// Four units fill both devices, so that none of them can move alone.
    #[test]
    fn vertices_change_places_where_sets_have_to_be_convex() {
        let node = |(id, time)| Node { accelerator_times: vec![Some(time)], memory: 1.0, ..Node::new(id) };
        let instance = Instance {
            platform: Platform::uniform(2, Some(2.0), 0),
            nodes: [3.0, 3.0, 1.0, 1.0].into_iter().enumerate().map(|(i, time)| node((i as u64, time))).collect(),
            ..Instance::default()
        };
        let (_, best) = annealed(&samples::problem(&instance, true), vec![0, 0, 1, 1], 4.0, 1e-9, 1);
        let best = best.expect("two exchanged units make loads even");
        assert!(best[0] != best[1] && best[2] != best[3], "{best:?}");
    }

    #[test]
    fn sets_stay_convex_under_moves_and_exchanges() {
        let family = RandomFamily::Dnn(Dnn { nodes: 40, ..Dnn::default() });
        let mut moved = 0;
        for seed in 0..10 {
            let mut instance = generate(&Recipe::new(RandomDag::new(family.clone(), seed))).unwrap();
            let total: f64 = instance.nodes.iter().map(|node| node.memory).sum();
            instance.platform = Platform::uniform(3, Some(total * 0.4), 0);
            let problem = samples::problem(&instance, true);
            let count = Unordered::new(&problem).units.unit_count();
            let average = instance.nodes.iter().filter_map(|node| node.accelerator_times[0]).sum::<f64>() / 3.0;
            let (left, best) = annealed(&problem, vec![0; count], average, 0.05, seed);
            moved += usize::from(left.iter().any(|&d| d > 0) || best.is_some());
        }
        assert_eq!(moved, 10);
    }
}
