//! Where the copies are, and what that costs beyond the budgets.

use super::super::model::Model;
use super::super::state::around;
use crate::mapping::Mapping;

/// Marks a device without a copy.
pub const FREE: usize = usize::MAX;

/// A mapping with its loads and links, kept up to date from swap to swap.
pub struct Placement<'a, const W: usize> {
    /// The problem.
    pub model: &'a Model<'a, W>,
    /// By copy.
    pub devices: Vec<usize>,
    /// By device.
    pub copies: Vec<usize>,
    target: f64,
    /// By copy its load, and after all of them by copy its link to the next replica.
    times: Vec<f64>,
    /// By stage, once for loads and once for links: what they may take.
    budgets: Vec<f64>,
    /// Times as they were before the latest swaps.
    before: Vec<(usize, f64)>,
    /// By time: when it was last brought up to date, counted in swaps.
    updated: Vec<u64>,
    now: u64,
}

impl<'a, const W: usize> Placement<'a, W> {
    /// No placement yet.
    pub fn new(model: &'a Model<'a, W>) -> Self {
        let times = 2 * model.copies();
        Self {
            model,
            devices: Vec::new(),
            copies: vec![FREE; model.devices()],
            target: 0.0,
            times: vec![0.0; times],
            budgets: vec![0.0; 2 * model.stages.len()],
            before: Vec::new(),
            updated: vec![0; times],
            now: 0,
        }
    }

    /// Goes to `mapping` under a target.
    pub fn restart(&mut self, mapping: &Mapping, target: f64) {
        self.devices.clone_from(&mapping.devices);
        self.target = target;
        self.copies.fill(FREE);
        for (copy, &device) in self.devices.iter().enumerate() {
            self.copies[device] = copy;
        }
        for index in 0..self.times.len() {
            self.times[index] = self.time(index);
        }
        self.divide();
    }

    /// Where the copies are.
    pub fn mapping(&self) -> Mapping {
        Mapping { devices: self.devices.clone() }
    }

    /// Whether a copy's load or one of its links is beyond its budget.
    pub fn is_late(&self, copy: usize) -> bool {
        let (_, previous) = around(copy, self.model.replicas());
        let first = self.devices.len();
        [copy, first + copy, first + previous].into_iter().any(|index| self.excess(index, self.times[index]) > 0.0)
    }

    /// What all times take beyond their budgets.
    pub fn energy(&self) -> f64 {
        self.times.iter().enumerate().map(|(index, &time)| self.excess(index, time)).sum()
    }

    /// Divides the target between the loads and the links of each stage so that the energy is least. One moved by a little
    /// from the one to the other changes it by how many loads, less how many links, take longer: the median of what is
    /// left of the target by loads and of what links take is where they are as many.
    pub fn divide(&mut self) {
        let (stages, replicas, copies) = (self.model.stages.len(), self.model.replicas(), self.devices.len());
        for stage in 0..stages {
            let has_ring = self.model.stages[stage].ring.is_some();
            let share = if has_ring && self.model.adds_ring() {
                let range = stage * replicas..(stage + 1) * replicas;
                let left = self.times[range.clone()].iter().map(|load| self.target - load);
                let links = self.times[copies + range.start..copies + range.end].iter().copied();
                let mut bounds: Vec<f64> = left.chain(links).collect();
                bounds.sort_unstable_by(f64::total_cmp);
                f64::midpoint(bounds[replicas - 1], bounds[replicas])
            } else {
                0.0
            };
            self.budgets[stage] = self.target - share;
            self.budgets[stages + stage] = if has_ring && self.model.adds_ring() { share } else { self.target };
        }
    }

    /// Swaps the contents of these pairs of devices, one after the other. Returns by how much the energy grew.
    pub fn swap(&mut self, swaps: &[(usize, usize)]) -> f64 {
        self.before.clear();
        self.now += 1;
        swaps.iter().for_each(|&(a, b)| self.exchange(a, b));
        let mut growth = 0.0;
        for device in swaps.iter().flat_map(|&(a, b)| [a, b]) {
            if self.copies[device] != FREE {
                growth += self.update_around(self.copies[device]);
            }
        }
        growth
    }

    /// Takes the latest swaps back, which were these.
    pub fn take_back(&mut self, swaps: &[(usize, usize)]) {
        swaps.iter().rev().for_each(|&(a, b)| self.exchange(a, b));
        while let Some((index, time)) = self.before.pop() {
            self.times[index] = time;
        }
    }

    fn exchange(&mut self, a: usize, b: usize) {
        self.copies.swap(a, b);
        for device in [a, b] {
            if self.copies[device] != FREE {
                self.devices[self.copies[device]] = device;
            }
        }
    }

    /// Brings the times up to date that depend on where `copy` is.
    fn update_around(&mut self, copy: usize) -> f64 {
        let model = self.model;
        let replicas = model.replicas();
        let row = &model.stages[copy / replicas];
        let mut growth = self.update(copy);
        for &neighbour in &row.neighbours {
            growth += self.update(neighbour * replicas + copy % replicas);
        }
        if row.ring.is_some() {
            let (first, (_, previous)) = (self.devices.len(), around(copy, replicas));
            growth += self.update(first + copy) + self.update(first + previous);
        }
        growth
    }

    fn update(&mut self, index: usize) -> f64 {
        if std::mem::replace(&mut self.updated[index], self.now) == self.now {
            return 0.0;
        }
        let (before, time) = (self.times[index], self.time(index));
        self.before.push((index, before));
        self.times[index] = time;
        self.excess(index, time) - self.excess(index, before)
    }

    fn excess(&self, index: usize, time: f64) -> f64 {
        (time - self.budgets[index / self.model.replicas()]).max(0.0)
    }

    fn time(&self, index: usize) -> f64 {
        match index.checked_sub(self.devices.len()) {
            None => self.load(index),
            Some(copy) => self.link(copy),
        }
    }

    fn load(&self, copy: usize) -> f64 {
        let (replicas, device) = (self.model.replicas(), self.devices[copy]);
        let row = &self.model.stages[copy / replicas];
        let mut load = 0.0f64;
        for piece in &row.pieces {
            let mut sum = piece.compute[device];
            for (neighbour, link) in &piece.links {
                let other = self.devices[row.neighbours[*neighbour] * replicas + copy % replicas];
                sum += link.scale * self.model.relations[link.relation].cost(device, other);
            }
            load = load.max(sum);
        }
        load
    }

    /// The time of the link to the next replica.
    fn link(&self, copy: usize) -> f64 {
        let Some(ring) = &self.model.stages[copy / self.model.replicas()].ring else { return 0.0 };
        let (next, _) = around(copy, self.model.replicas());
        ring.next.scale * self.model.relations[ring.next.relation].cost(self.devices[copy], self.devices[next])
    }
}
