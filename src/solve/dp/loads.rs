//! Exact loads of stages on a reduced problem.

use super::stage::{Boundary, StageKind};
use crate::cost::{Synchronisation, Terms, max_of_pieces, replicated_load, ring_all_reduce};
use crate::preprocess::{KindCosts, Net, Reduced, joint};
use crate::problem::{Objective, Problem, Replication, fits};

/// What a stage contributes to the objective: for throughput (load, 0), for GPipe (forward, backward), for a step of m
/// microbatches ((m - 1) · load, load).
///
/// The objective of a split is the largest first entry plus the largest second one; for a step plus all second ones.
pub type Value = [f64; 2];

/// The entry-wise larger of two values.
#[inline]
pub fn worse(a: Value, b: Value) -> Value {
    [a[0].max(b[0]), a[1].max(b[1])]
}

/// The objective of a split whose worst stages have this value.
#[inline]
pub fn objective(v: Value) -> f64 {
    v[0] + v[1]
}

/// Turns compute and communication of a stage into its value.
pub struct Loads<'a> {
    /// The problem on units.
    pub reduced: &'a Reduced,
    objective: Objective,
    replication: Option<Replication>,
    synchronisation: Synchronisation,
    has_servers: bool,
}

impl<'a> Loads<'a> {
    /// The loads of `problem`, reduced to `reduced`.
    pub fn new(problem: &Problem, reduced: &'a Reduced) -> Self {
        Self {
            reduced,
            objective: problem.spec.objective,
            replication: problem.spec.replication,
            synchronisation: problem.costs.synchronisation,
            has_servers: problem.spec.interconnect.is_some(),
        }
    }

    /// Whether accelerators sit in servers.
    pub fn has_servers(&self) -> bool {
        self.has_servers
    }

    /// Whether the objective is the largest load, and not a sum of two passes' largest ones.
    pub fn is_one_load(&self) -> bool {
        self.objective != Objective::GPipe
    }

    /// The value of stages of one split together. Within [`Objective::Throughput`] and [`Objective::GPipe`] that is
    /// [`worse`].
    #[inline]
    pub fn together(&self, a: Value, b: Value) -> Value {
        if self.is_step() { [a[0].max(b[0]), a[1] + b[1]] } else { worse(a, b) }
    }

    /// Whether the objective is the time of a step.
    pub fn is_step(&self) -> bool {
        self.objective.microbatches().is_some()
    }

    /// The largest load that a stage may have in a split of this objective: a step has it once for each microbatch.
    pub fn most_load(&self, objective: f64) -> f64 {
        self.objective.microbatches().map_or(objective, |microbatches| objective / microbatches as f64)
    }

    /// The value of a stage with these terms (forward, backward) and parameter bytes.
    pub fn value(&self, stage: StageKind, terms: &[Terms; 2], parameter_bytes: f64) -> Value {
        let pieces = &self.reduced.kinds[stage.kind].pieces;
        let all_reduce = self.all_reduce(stage.replicas, parameter_bytes);
        let replicated = |load, sync| replicated_load(load, stage.replicas, sync, self.synchronisation);
        match self.objective {
            Objective::Throughput | Objective::Latency { .. } | Objective::Sharding(_) => {
                [replicated(max_of_pieces(pieces, &joint(terms)), all_reduce), 0.0]
            }
            Objective::Step { microbatches } => {
                let load = replicated(max_of_pieces(pieces, &joint(terms)), all_reduce);
                [(microbatches - 1) as f64 * load, load]
            }
            Objective::GPipe => {
                // Weights are synchronised once their gradients are there: in the backward pass, if there is one.
                let sync = if self.reduced.training { [0.0, all_reduce] } else { [all_reduce, 0.0] };
                [0, 1].map(|pass| replicated(max_of_pieces(pieces, &terms[pass]), sync[pass]))
            }
        }
    }

    /// The time in which so many replicas synchronise their weights.
    fn all_reduce(&self, replicas: usize, parameter_bytes: f64) -> f64 {
        match self.replication {
            Some(r) if replicas > 1 => ring_all_reduce(parameter_bytes, replicas, r.bandwidth),
            _ => 0.0,
        }
    }
}

/// What the value of a set of units is made of.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sums {
    terms: [Terms; 2],
    memory: f64,
    /// Bytes kept for the edges that the set cuts.
    boundary: f64,
    parameter_bytes: f64,
}

impl Sums {
    #[inline]
    fn add_unit(&mut self, reduced: &Reduced, kind: &KindCosts, u: usize) -> Option<()> {
        let [forward, backward] = kind.terms(u)?;
        self.terms[0].add(&forward);
        self.terms[1].add(&backward);
        self.memory += kind.memory[u];
        self.parameter_bytes += reduced.parameter_bytes[u];
        Some(())
    }

    /// Where the transfers of a net count, by whether its source is in the set.
    fn side(&mut self, net: &Net, outward: bool) -> &mut f64 {
        let terms = &mut self.terms[usize::from(net.backward)];
        if outward { &mut terms.comm_out } else { &mut terms.comm_in }
    }
}

impl Loads<'_> {
    /// The value of a set with these sums; `None` when it does not fit.
    pub fn finish(&self, stage: StageKind, sums: &Sums) -> Option<Value> {
        let limit = self.reduced.kinds[stage.kind].capacity(stage.replicas);
        fits(sums.memory + sums.boundary, limit).then(|| self.value(stage, &sums.terms, sums.parameter_bytes))
    }

    /// The sums of a stage between the ideals `from` and `to` once it holds `unit`, too, which comes next after `to`;
    /// `None` when it is unsupported. O(nets of the unit).
    pub fn with_unit(&self, stage: StageKind, sums: &Sums, from: &[u64], to: &[u64], unit: usize) -> Option<Sums> {
        let kind = &self.reduced.kinds[stage.kind];
        let mut sums = *sums;
        sums.add_unit(self.reduced, kind, unit)?;
        let in_set = |p: usize| contains(to, p) && !contains(from, p);
        sums.boundary += kind.boundary.added(unit, in_set);
        for &e in self.reduced.nets_of.row(unit) {
            let e = e as usize;
            let net = &self.reduced.nets[e];
            let price = |far: bool| kind.transfers[e] * if far { self.reduced.between[e] } else { 1.0 };
            let inside = net.pins.iter().filter(|&&p| in_set(p as usize)).count();
            let source_inside = in_set(net.source as usize);
            if inside > 0 {
                *sums.side(net, source_inside) -= price(self.is_far(net, stage, from, |p| contains(to, p)));
            }
            if inside + 1 < net.pins.len() {
                let outward = source_inside || net.source as usize == unit;
                let far = self.is_far(net, stage, from, |p| contains(to, p) || p == unit);
                *sums.side(net, outward) += price(far);
            }
        }
        Some(sums)
    }

    /// Whether a net leaves the server of a stage between the ideals `from` and `to`, as far as its boundaries tell.
    fn is_far(&self, net: &Net, stage: StageKind, from: &[u64], to: impl Fn(usize) -> bool) -> bool {
        let has = |outside: &dyn Fn(usize) -> bool| net.pins.iter().any(|&p| outside(p as usize));
        self.has_servers
            && (stage.lower == Boundary::Between && has(&|p| contains(from, p))
                || stage.upper == Boundary::Between && has(&|p| !to(p)))
    }
}

/// Evaluates sets of units, with scratch space of its own.
pub struct SetLoads<'a> {
    loads: &'a Loads<'a>,
    /// The round in which a net was last counted.
    counted: Vec<u32>,
    round: u32,
}

impl<'a> SetLoads<'a> {
    /// An evaluator for sets of units.
    pub fn new(loads: &'a Loads<'a>) -> Self {
        Self { loads, counted: vec![0; loads.reduced.nets.len()], round: 0 }
    }

    /// The loads that it evaluates.
    pub fn loads(&self) -> &'a Loads<'a> {
        self.loads
    }

    /// The value of `set` (words of a bit set over units) on `stage`; `None` when it does not fit or is unsupported.
    pub fn value(&mut self, stage: StageKind, set: &[u64]) -> Option<Value> {
        let sums = self.sums(stage, set, |_| false)?;
        self.loads.finish(stage, &sums)
    }

    /// The value of `set` for one sample on one of the devices of `stage`, whether or not it fits, and the time in which
    /// they synchronise its weights; `None` when it is unsupported.
    pub fn of_one_sample(&mut self, stage: StageKind, set: &[u64]) -> Option<(Value, f64)> {
        let sums = self.sums(stage, set, |_| false)?;
        let value = self.loads.value(StageKind { replicas: 1, ..stage }, &sums.terms, sums.parameter_bytes);
        Some((value, self.loads.all_reduce(stage.replicas, sums.parameter_bytes)))
    }

    /// What [`Self::least_value`] is made of, whether or not it fits.
    pub fn least_sums(&mut self, stage: StageKind, set: &[u64], from: &[u64], to: &[u64]) -> Option<Sums> {
        let loads = self.loads;
        self.sums(stage, set, |net| loads.is_far(net, stage, from, |p| contains(to, p)))
    }

    /// The least value of the stage between the ideals `from` and `to`, which differ by `set`: exact without servers.
    ///
    /// Where the stage's boundaries lie inside a server, nothing is known of the server beyond them.
    pub fn least_value(&mut self, stage: StageKind, set: &[u64], from: &[u64], to: &[u64]) -> Option<Value> {
        let sums = self.least_sums(stage, set, from, to)?;
        self.loads.finish(stage, &sums)
    }

    /// The value of `set` on a stage of a server that begins after the ideal `start` and ends with the ideal `end`;
    /// the least one where these are unknown.
    pub fn value_in_server(
        &mut self,
        stage: StageKind,
        set: &[u64],
        start: Option<&[u64]>,
        end: Option<&[u64]>,
    ) -> Option<Value> {
        let is_outside = |p: u32| {
            start.is_some_and(|start| contains(start, p as usize)) || end.is_some_and(|end| !contains(end, p as usize))
        };
        let sums = self.sums(stage, set, |net| net.pins.iter().any(|&p| is_outside(p)))?;
        self.loads.finish(stage, &sums)
    }

    /// The sums of `set` where the nets that are `far` cost their price between servers.
    fn sums(&mut self, stage: StageKind, set: &[u64], far: impl Fn(&Net) -> bool) -> Option<Sums> {
        let reduced = self.loads.reduced;
        let kind = &reduced.kinds[stage.kind];
        self.round += 1;
        let mut sums = Sums::default();
        for u in ones(set) {
            sums.add_unit(reduced, kind, u)?;
            let cut = kind.boundary.of(u).iter().filter(|&&(v, _)| !contains(set, v as usize));
            sums.boundary += cut.map(|&(_, bytes)| bytes).sum::<f64>();
            for &e in reduced.nets_of.row(u) {
                let e = e as usize;
                if self.counted[e] == self.round {
                    continue;
                }
                self.counted[e] = self.round;
                let net = &reduced.nets[e];
                if net.pins.iter().any(|&p| !contains(set, p as usize)) {
                    let price = if far(net) { reduced.between[e] } else { 1.0 };
                    *sums.side(net, contains(set, net.source as usize)) += kind.transfers[e] * price;
                }
            }
        }
        Some(sums)
    }
}

/// Whether bit `u` is set.
#[inline]
pub fn contains(words: &[u64], u: usize) -> bool {
    words[u / 64] >> (u % 64) & 1 == 1
}

/// The indices of the bits set, ascending.
#[inline]
pub fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    crate::graph::ones(words.iter().copied())
}

/// The indices below `n` of the bits not set, ascending.
#[inline]
pub fn zeros(words: &[u64], n: usize) -> impl Iterator<Item = usize> + '_ {
    crate::graph::ones(words.iter().map(|word| !word)).take_while(move |&u| u < n)
}
