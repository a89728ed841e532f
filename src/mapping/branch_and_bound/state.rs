//! Domains of copies under a target, and what propagation makes of them.

use std::collections::VecDeque;

use super::assignment::Assignment;
use super::matching::Matching;
use super::model::Model;
use super::touched::Touched;
use crate::mapping::ROUNDING;
use crate::small_set::Set;
use crate::solve::SearchContext;

/// The devices that each copy may still have, and what follows for times.
#[derive(Debug, Clone)]
pub struct Domains<const W: usize> {
    /// By copy.
    pub devices: Vec<Set<W>>,
    /// By copy: no load is below this.
    pub least_load: Vec<f64>,
    /// By copy: neither of its links in the ring takes less.
    pub least_ring: Vec<f64>,
}

/// That no mapping below the target is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conflict;

/// Costs of devices, which bring about a bound of their own.
#[derive(Debug, Clone)]
pub struct Price {
    /// By device.
    pub costs: Vec<f64>,
    /// What the devices of all copies may cost together.
    pub most: f64,
    /// All devices, the cheapest first.
    order: Vec<usize>,
}

impl Price {
    /// Devices at these costs, all of which together may cost so much.
    pub fn new(costs: Vec<f64>, most: f64) -> Self {
        let mut order: Vec<usize> = (0..costs.len()).collect();
        order.sort_by(|&a, &b| costs[a].total_cmp(&costs[b]));
        Self { costs, most, order }
    }
}

/// Room for one revision.
#[derive(Debug, Default)]
pub struct Scratch<const W: usize> {
    /// By neighbour: the devices that some device of the copy leaves it.
    pub(super) support: Vec<Set<W>>,
    /// By neighbour: the devices that the device looked at leaves it.
    pub(super) reach: Vec<Set<W>>,
    /// By link of the piece looked at: its least cost and the devices that have it.
    pub(super) cheapest: Vec<(f64, Set<W>)>,
    pub(super) assignment: Assignment,
}

/// Domains under a target, with what waits to be propagated.
pub struct State<'a, const W: usize> {
    /// The problem.
    pub model: &'a Model<'a, W>,
    /// Times above this are too long: the target and a margin for rounding.
    pub limit: f64,
    /// The domains.
    pub domains: Domains<W>,
    /// By copy: how often it has led to a conflict.
    pub conflicts: Vec<f64>,
    /// What decisions were about.
    pub(super) touched: Touched,
    pub(super) matching: Matching,
    pub(super) scratch: Scratch<W>,
    /// What the devices of all copies may cost together besides time.
    prices: Vec<Price>,
    /// Copies to be revised, in the order in which they came: until its turn comes, a copy may be told of much at once.
    waiting: VecDeque<usize>,
    is_waiting: Vec<bool>,
    has_shrunk: bool,
    /// Whether a limit cut propagation short: then domains hold what there may be, but say nothing of what there is.
    pub is_cut: bool,
}

/// Devices looked at between two looks at the limits.
const PATIENCE: usize = 1 << 13;

impl<'a, const W: usize> State<'a, W> {
    /// All copies anywhere they fit, with times up to `target`.
    pub fn new(model: &'a Model<'a, W>, target: f64) -> Self {
        let copies = model.copies();
        let fits = |copy: usize| model.stages[copy / model.replicas()].fits;
        let domains = Domains {
            devices: (0..copies).map(fits).collect(),
            least_load: vec![0.0; copies],
            least_ring: vec![0.0; copies],
        };
        let mut state = Self {
            model,
            limit: target * (1.0 + ROUNDING),
            domains,
            conflicts: vec![0.0; copies],
            touched: Touched::new(model),
            matching: Matching::new(copies, model.devices()),
            scratch: Scratch::default(),
            prices: Vec::new(),
            waiting: VecDeque::new(),
            is_waiting: vec![false; copies],
            has_shrunk: true,
            is_cut: false,
        };
        (0..copies).for_each(|copy| state.enqueue(copy));
        state
    }

    /// Takes up domains saved before.
    pub fn restore(&mut self, domains: &Domains<W>) {
        self.domains.clone_from(domains);
        self.forget();
    }

    /// From now on all copies' devices may cost only so much together.
    pub fn limit_price(&mut self, price: Price) {
        self.prices.push(price);
        self.has_shrunk = true;
    }

    /// Whether these devices of all copies cost no more than they may.
    pub fn is_cheap(&self, devices: &[usize]) -> bool {
        let cost = |price: &Price| devices.iter().map(|&device| price.costs[device]).sum::<f64>();
        self.prices.iter().all(|price| cost(price) <= price.most)
    }

    /// Takes from each copy the devices that cost too much, where the others have the cheapest that are left, all different.
    fn keep_cheap(&mut self) -> Result<(), Conflict> {
        let prices = std::mem::take(&mut self.prices);
        let result = prices.iter().try_for_each(|price| self.keep_below(price));
        self.prices = prices;
        result
    }

    fn keep_below(&mut self, price: &Price) -> Result<(), Conflict> {
        let copies = self.domains.devices.len();
        let mut assignment = Assignment::default();
        assignment.reset(copies);
        for (copy, domain) in self.domains.devices.iter().enumerate() {
            let cheapest = price.order.iter().filter(|&&device| domain.contains(device)).take(copies);
            cheapest.for_each(|&device| assignment.offer(copy, device, price.costs[device]));
        }
        let least = assignment.solve().filter(|least| *least <= price.most).ok_or(Conflict)?;
        let contested: Vec<(usize, f64)> = assignment.contested().collect();
        for copy in 0..copies {
            let left = price.most - least + assignment.value(copy);
            let mut kept = self.domains.devices[copy];
            for device in self.domains.devices[copy].iter().filter(|&device| price.costs[device] > left) {
                kept.remove(device);
            }
            for &(device, besides) in &contested {
                if price.costs[device] + besides > left {
                    kept.remove(device);
                }
            }
            self.keep(copy, &kept)?;
        }
        Ok(())
    }

    /// Leaves a copy, and those whose domains equal its own for symmetry, only the devices of `allowed`.
    pub fn keep(&mut self, copy: usize, allowed: &Set<W>) -> Result<(), Conflict> {
        let domain = self.domains.devices[copy];
        let left = domain & *allowed;
        if left == domain {
            return Ok(());
        }
        self.has_shrunk = true;
        let first = copy - copy % self.model.replicas();
        let like = self.touched.like(copy);
        let single = left.single();
        // Two copies cannot share their only device.
        if left.is_empty() || single.is_some() && like.len() > 1 {
            self.conflicts[copy] += 1.0;
            return Err(Conflict);
        }
        like.iter().for_each(|replica| self.domains.devices[first + replica] = left);
        self.enqueue(copy);
        self.enqueue_around(copy);
        single.map_or(Ok(()), |device| self.take(copy, device))
    }

    /// Takes the device of a copy, and those that it excludes, from all others.
    fn take(&mut self, owner: usize, device: usize) -> Result<(), Conflict> {
        let taken = self.model.classes.as_ref().map_or(Set::only(device), |classes| classes.around(device));
        for copy in (0..self.domains.devices.len()).filter(|&copy| copy != owner) {
            if self.domains.devices[copy].meets(&taken) {
                self.keep(copy, &self.domains.devices[copy].minus(&taken))?;
            }
        }
        Ok(())
    }

    /// Propagates until nothing changes.
    pub fn propagate(&mut self, cx: &SearchContext) -> Result<(), Conflict> {
        let result = self.propagate_waiting(cx);
        if result.is_err() || self.is_cut {
            self.forget();
        }
        result
    }

    fn propagate_waiting(&mut self, cx: &SearchContext) -> Result<(), Conflict> {
        let mut work = 0;
        loop {
            while let Some(copy) = self.waiting.pop_front() {
                self.is_waiting[copy] = false;
                work += self.domains.devices[copy].len();
                if work >= PATIENCE {
                    work = 0;
                    self.is_cut |= cx.should_stop();
                }
                if self.is_cut {
                    return Ok(());
                }
                let result = self.revise(copy);
                if result.is_err() {
                    self.conflicts[copy] += 1.0;
                }
                result?;
            }
            if !std::mem::take(&mut self.has_shrunk) {
                return Ok(());
            }
            self.all_different()?;
            self.keep_cheap()?;
            if self.waiting.is_empty() {
                self.pack_rings()?;
            }
        }
    }

    fn forget(&mut self) {
        self.waiting.drain(..).for_each(|copy| self.is_waiting[copy] = false);
    }

    pub(super) fn enqueue(&mut self, copy: usize) {
        let copy = copy - copy % self.model.replicas() + self.touched.like(copy)[0];
        if !std::mem::replace(&mut self.is_waiting[copy], true) {
            self.waiting.push_back(copy);
        }
    }

    /// Enqueues the copies whose times depend on where `copy` is.
    fn enqueue_around(&mut self, copy: usize) {
        let model = self.model;
        let replicas = model.replicas();
        let row = &model.stages[copy / replicas];
        for &stage in &row.neighbours {
            self.enqueue(stage * replicas + copy % replicas);
        }
        if row.ring.is_some() {
            let (next, previous) = around(copy, replicas);
            self.enqueue(next);
            self.enqueue(previous);
        }
    }

    /// Enqueues the copies of the same stage.
    pub(super) fn enqueue_ring(&mut self, copy: usize) {
        let replicas = self.model.replicas();
        let first = copy / replicas * replicas;
        (first..first + replicas).for_each(|copy| self.enqueue(copy));
    }
}

/// The next and the previous copy in a copy's ring.
#[inline]
pub fn around(copy: usize, replicas: usize) -> (usize, usize) {
    let (first, replica) = (copy - copy % replicas, copy % replicas);
    (first + (replica + 1) % replicas, first + (replica + replicas - 1) % replicas)
}
