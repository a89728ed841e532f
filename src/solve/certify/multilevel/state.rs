//! A split of one level, kept up to date under moves of single vertices.

use super::level::{Level, Rows, add, subtract};
use crate::solve::dp::loads::worse;

/// A split of a level's vertices with its pin counts and rows.
#[derive(Debug, Clone)]
pub struct State<'a, const R: usize> {
    /// The hypergraph.
    pub level: &'a Level<R>,
    kind_of: &'a [usize],
    /// The device of each vertex.
    pub device_of: Vec<u32>,
    /// Pins of net e on device d: `pins[e · devices + d]`.
    pins: Vec<u32>,
    /// The rows of each device.
    pub rows: Vec<[f64; R]>,
}

/// The rows of the two devices after a move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift<const R: usize> {
    /// Of the device that the vertex leaves.
    pub from: [f64; R],
    /// Of the device that it joins.
    pub to: [f64; R],
}

impl<'a, const R: usize> State<'a, R> {
    /// The state of a split of `level` over devices of the kinds `kind_of`.
    pub fn new(level: &'a Level<R>, kind_of: &'a [usize], device_of: Vec<u32>) -> Self {
        let pins = vec![0; level.nets.len() * kind_of.len()];
        let mut state = Self { level, kind_of, device_of, pins, rows: vec![[0.0; R]; kind_of.len()] };
        state.recount();
        state
    }

    /// Computes pin counts and rows anew, free of what rounding has left. O(pins + nets · devices).
    pub fn recount(&mut self) {
        let devices = self.device_count();
        self.pins.fill(0);
        self.rows.fill([0.0; R]);
        for (v, &d) in self.device_of.iter().enumerate() {
            add(
                &mut self.rows[d as usize],
                &self.level.weights[self.kind_of[d as usize] * self.level.vertex_count + v],
            );
        }
        for (e, net) in self.level.nets.iter().enumerate() {
            let counts = &mut self.pins[e * devices..(e + 1) * devices];
            self.level.pins.row(e).iter().for_each(|&v| counts[self.device_of[v as usize] as usize] += 1);
            let home = self.device_of[net.source as usize] as usize;
            for (d, _) in counts.iter().enumerate().filter(|&(_, &count)| count > 0 && count < net.size) {
                let cut = &self.level.cuts[self.kind_of[d] * self.level.nets.len() + e];
                add(&mut self.rows[d], if d == home { &cut.outward } else { &cut.inward });
            }
        }
    }

    /// How many devices there are.
    pub fn device_count(&self) -> usize {
        self.kind_of.len()
    }

    /// Whether `device` can run vertex `v`.
    #[inline]
    pub fn supports(&self, v: usize, device: usize) -> bool {
        self.level.is_supported[self.kind_of[device] * self.level.vertex_count + v]
    }

    /// What the two devices' rows become when `v` moves to `to`, where it is not. O(nets of v).
    #[inline]
    pub fn shift(&self, v: usize, to: usize) -> Shift<R> {
        let from = self.device_of[v] as usize;
        let devices = self.device_count();
        let (n, m) = (self.level.vertex_count, self.level.nets.len());
        let (kind_from, kind_to) = (self.kind_of[from], self.kind_of[to]);
        let mut shift = Shift { from: self.rows[from], to: self.rows[to] };
        subtract(&mut shift.from, &self.level.weights[kind_from * n + v]);
        add(&mut shift.to, &self.level.weights[kind_to * n + v]);
        for &e in self.level.nets_of.row(v) {
            let e = e as usize;
            let net = self.level.nets[e];
            let (here, there) = (self.pins[e * devices + from], self.pins[e * devices + to]);
            let (cut_from, cut_to) = (&self.level.cuts[kind_from * m + e], &self.level.cuts[kind_to * m + e]);
            if self.level.is_symmetric {
                match (here < net.size, here > 1) {
                    (true, false) => subtract(&mut shift.from, &cut_from.inward),
                    (false, true) => add(&mut shift.from, &cut_from.inward),
                    _ => {}
                }
                match (there > 0, there + 1 < net.size) {
                    (true, false) => subtract(&mut shift.to, &cut_to.inward),
                    (false, true) => add(&mut shift.to, &cut_to.inward),
                    _ => {}
                }
                continue;
            }
            let is_source = net.source as usize == v;
            let home = self.device_of[net.source as usize] as usize;
            if here < net.size {
                subtract(&mut shift.from, if home == from { &cut_from.outward } else { &cut_from.inward });
            }
            if here > 1 {
                let sends = home == from && !is_source;
                add(&mut shift.from, if sends { &cut_from.outward } else { &cut_from.inward });
            }
            if there > 0 {
                subtract(&mut shift.to, if home == to { &cut_to.outward } else { &cut_to.inward });
            }
            if there + 1 < net.size {
                let sends = home == to || is_source;
                add(&mut shift.to, if sends { &cut_to.outward } else { &cut_to.inward });
            }
        }
        shift
    }

    /// Moves `v` to `to`; `shift` is what [`Self::shift`] said of it.
    #[inline]
    pub fn apply(&mut self, v: usize, to: usize, shift: &Shift<R>) {
        let from = std::mem::replace(&mut self.device_of[v], to as u32) as usize;
        let devices = self.device_count();
        for &e in self.level.nets_of.row(v) {
            let counts = &mut self.pins[e as usize * devices..];
            counts[from] -= 1;
            counts[to] += 1;
        }
        (self.rows[from], self.rows[to]) = (shift.from, shift.to);
    }

    /// The worst value of the devices.
    pub fn value(&self, rows: &Rows) -> [f64; 2] {
        let values = self.rows.iter().map(|of_device| rows.value(of_device));
        values.fold([0.0; 2], worse)
    }
}

/// How much the rows of one device exceed `limits`.
#[inline]
pub fn overload<const R: usize>(rows: &[f64; R], limits: &[f64; R]) -> f64 {
    rows.iter().zip(limits).map(|(row, limit)| (row - limit).max(0.0)).sum()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::super::coarsen::{Bounds, join};
    use super::super::{Rng, Setting};
    use super::*;
    use crate::generate::{Dnn, RandomDag, RandomFamily, Recipe, generate};
    use crate::preprocess::Unordered;
    use crate::problem::{CostKind, Objective, Problem, ProblemSpec, Scope};

    /// Moves at random, and compares with counting anew, on the finest level and on a coarser one.
    fn check(cost: CostKind, objective: Objective) {
        let family = RandomFamily::Dnn(Dnn { nodes: 60, ..Dnn::default() });
        let instance = generate(&Recipe { training: true, ..Recipe::new(RandomDag::new(family, 1)) }).unwrap();
        let spec = ProblemSpec { scope: Scope::Arbitrary, cost, objective, ..ProblemSpec::of(&instance) };
        let problem = Problem::new(&instance, spec).unwrap();
        let unordered = Unordered::new(&problem);
        let setting = Setting::new(&problem, &unordered);
        let rows = Rows::new(&problem, &unordered.units);
        let mut rng = Rng::seed_from_u64(7);
        let finest = Level::<8>::finest(&setting, &rows);
        let bounds = Bounds { target: 1e9, share: 1.0, device_of: None };
        let (label, count) = join(&finest, bounds, &mut rng);
        assert!(count < finest.vertex_count);
        for level in [finest.contract(&label, count), finest] {
            let mut state = State::new(&level, &setting.kind_of, vec![0; level.vertex_count]);
            for _ in 0..500 {
                let v = rng.random_range(0..level.vertex_count);
                let to = rng.random_range(0..setting.device_count());
                if to != state.device_of[v] as usize {
                    let shift = state.shift(v, to);
                    state.apply(v, to, &shift);
                }
            }
            let mut anew = state.clone();
            anew.recount();
            assert_eq!(state.pins, anew.pins);
            for (rows, anew) in state.rows.iter().flatten().zip(anew.rows.iter().flatten()) {
                assert!((rows - anew).abs() <= 1e-9 * (1.0 + anew.abs()), "{rows} instead of {anew}");
            }
        }
    }

    #[test]
    fn moves_agree_with_counting_anew() {
        for cost in [CostKind::Additive, CostKind::Overlap, CostKind::Duplex] {
            check(cost, Objective::Throughput);
            check(cost, Objective::GPipe);
        }
    }
}
