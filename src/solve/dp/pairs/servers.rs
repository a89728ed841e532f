//! The program on two-level interconnects, where a stage's load depends on its whole server.
//!
//! What a stage moves to another server costs more, wherever in its own server the net passes by. A first walk prices all
//! nets as inside a server. Its stages tell which nets none of them can move between servers within the target, and so at
//! which ideals servers can end at all: on networks whose transfers are long, few of them. A second pass, downward, tells
//! [which ends](super::prospects) are in reach from where. What is left is searched from the first ideal up, server by
//! server, by [exact prices](super::server).

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use rustc_hash::FxHashMap;

use super::ends::Block;
use super::prospects::Prospects;
use super::server::Server;
use super::{Looks, Pairs, Stage};
use crate::preprocess::Net;
use crate::search::{Stopped, Verdict};
use crate::solve::dp::chain::IdealChain;
use crate::solve::dp::costs::pays;
use crate::solve::dp::grouping::Grouping;
use crate::solve::dp::loads::{Value, contains, objective, ones};
use crate::solve::dp::setting::Setting;
use crate::solve::dp::stage::StageKind;

/// Room for the rounding of prices between servers, which are no multiples of the times' grid.
const ROOM: f64 = 1.0 + 1e-12;

/// What the table of prospects takes at most, in bytes.
const MOST_BYTES: usize = 1 << 30;

/// More servers than there are.
const NEVER: usize = usize::MAX;

/// The program on one problem with servers, for the largest load.
pub struct ServerPairs<'a> {
    pairs: Pairs<'a>,
    /// The same problem with all devices in one server.
    near: Pairs<'a>,
}

impl<'a> ServerPairs<'a> {
    /// The program on a problem prepared with servers and without, both without dominance: a unit that joins at no loss within a
    /// server may cost one between servers.
    pub fn new(pairs: Pairs<'a>, near: Pairs<'a>) -> Self {
        // Each stage is looked at more closely than without servers.
        let closer = |pairs: Pairs<'a>| Pairs { steps_per_look: pairs.steps_per_look.div_ceil(4), ..pairs };
        Self { pairs: closer(pairs), near: closer(near) }
    }

    /// A chain of an objective of at most `target`, with its value.
    pub fn within(&self, target: f64, looks: &Looks) -> Verdict<(IdealChain, Value)> {
        match self.chain(target * ROOM, looks) {
            Err(Stopped) => Verdict::Unknown,
            Ok(None) => Verdict::Refuted,
            Ok(Some(chain)) => self.grouped(chain).map_or(Verdict::Unknown, |(value, chain)| {
                debug_assert!(objective(value) <= target * ROOM * ROOM, "{} is above {target}", objective(value));
                Verdict::Found((chain, value))
            }),
        }
    }

    /// The stages of a chain in the servers that are best for them, by exact loads.
    fn grouped(&self, chain: IdealChain) -> Option<(Value, IdealChain)> {
        let Setting { loads, stages, consumption, .. } = self.pairs.setting;
        Grouping { loads, stages, consumption }.best(chain.into_iter().map(|(ideal, s)| (ideal, stages[s])).collect())
    }

    fn chain(&self, target: f64, looks: &Looks) -> Result<Option<IdealChain>, Stopped> {
        let marks = Marks::new(self.pairs.setting, target);
        let stages = &self.near.setting.stages;
        let chains = self.near.reach((0.0, target), looks, |stage| marks.mark(stage, stages[stage.kind]))?;
        let reached: Vec<bool> = chains.iter().map(|chains| !chains.is_empty()).collect();
        if reached.last() != Some(&true) {
            return Ok(None);
        }
        let ends = self.ends(&marks, &reached);
        let starts: Vec<usize> = std::iter::once(0).chain(ends.iter().copied()).collect();
        let block = Block::new(&self.pairs, ends.into());
        let bytes = Prospects::bytes(&self.pairs, &block);
        if bytes > MOST_BYTES || !looks.cx.admits(bytes) {
            return Err(Stopped);
        }
        let prospects = Prospects::new(&self.pairs, target, (&block, &starts), &reached, looks)?;
        Search { pairs: &self.pairs, looks, prospects }.run(&starts)
    }

    /// The ideals at which a server can end: those that cut no net without a mark.
    fn ends(&self, marks: &Marks, reached: &[bool]) -> Vec<usize> {
        let Pairs { lattice, setting, .. } = &self.pairs;
        let nets = &setting.reduced.nets;
        let near: Vec<&[u32]> = (0..nets.len()).filter(|&e| !marks.can_be_far(e)).map(|e| &nets[e].pins[..]).collect();
        let cuts = |bits: &[u64], pins: &[u32]| {
            let is_below = |p: &u32| contains(bits, *p as usize);
            pins.iter().any(is_below) && !pins.iter().all(is_below)
        };
        let is_end = |&ideal: &usize| reached[ideal] && !near.iter().any(|pins| cuts(lattice.bits(ideal), pins));
        (1..lattice.count()).filter(is_end).collect()
    }
}

/// Which nets a stage can move between servers, by whether it holds the source.
struct Marks<'a> {
    setting: &'a Setting<'a>,
    target: f64,
    far: Vec<[AtomicBool; 2]>,
    /// For each kind of device whether it does not pay for nets that others pay for.
    has_free: Vec<bool>,
}

impl<'a> Marks<'a> {
    fn new(setting: &'a Setting<'a>, target: f64) -> Self {
        let kinds = &setting.reduced.kinds;
        let is_paid: Vec<bool> =
            (0..setting.reduced.nets.len()).map(|e| kinds.iter().any(|kind| pays(kind, e))).collect();
        let has_free = |kind| (0..is_paid.len()).any(|e| is_paid[e] && !pays(kind, e));
        let has_free = kinds.iter().map(has_free).collect();
        let far = is_paid.iter().map(|&is_paid| [!is_paid; 2].map(AtomicBool::new)).collect();
        Self { setting, target, far, has_free }
    }

    /// Marks what a stage of a kind of device can move.
    fn mark(&self, stage: &Stage, kind: StageKind) {
        let Setting { reduced, loads, .. } = self.setting;
        for e in ones(stage.nets) {
            let Net { pins, source, .. } = &reduced.nets[e];
            let side = usize::from(contains(stage.set, *source as usize));
            let far = &self.far[e][side];
            if !far.load(Relaxed) && pins.iter().any(|&p| !contains(stage.set, p as usize)) {
                far.fetch_or(stage.objective_with(loads, kind, std::iter::once(e)) <= self.target, Relaxed);
            }
        }
        if self.has_free[kind.kind] {
            self.mark_free(stage, kind);
        }
    }

    /// Marks what a stage touches of the nets that its kind of device does not pay for.
    fn mark_free(&self, stage: &Stage, kind: StageKind) {
        let reduced = self.setting.reduced;
        for u in ones(stage.set) {
            for &e in reduced.nets_of.row(u) {
                let side = usize::from(contains(stage.set, reduced.nets[e as usize].source as usize));
                self.far[e as usize][side].fetch_or(!pays(&reduced.kinds[kind.kind], e as usize), Relaxed);
            }
        }
    }

    fn can_be_far(&self, net: usize) -> bool {
        self.far[net].iter().all(|far| far.load(Relaxed))
    }
}

/// The search for a chain within one target.
struct Search<'a, 'b> {
    pairs: &'a Pairs<'b>,
    looks: &'a Looks<'a>,
    prospects: Prospects<'a, 'b>,
}

/// Servers filled up to an ideal.
#[derive(Clone, Copy)]
struct Filled {
    used: usize,
    /// The ideal where the last one begins, and the index of the servers before it.
    from: (usize, usize),
}

impl Search<'_, '_> {
    /// A chain, if there is one.
    fn run(&self, starts: &[usize]) -> Result<Option<IdealChain>, Stopped> {
        let Pairs { lattice, setting: Setting { consumption, .. }, .. } = self.pairs;
        let last = lattice.count() - 1;
        let need = self.need(starts);
        let is_late = |ideal: usize, used: usize| need[&ideal] > consumption.servers_left(used);
        let mut filled: BTreeMap<usize, Vec<Filled>> = BTreeMap::new();
        if !is_late(0, 0) {
            filled.insert(0, vec![Filled { used: 0, from: (0, 0) }]);
        }
        for &start in starts {
            if filled.contains_key(&last) {
                return self.trace(&filled, last).map(Some);
            }
            for index in 0..filled.get(&start).map_or(0, Vec::len) {
                let used = filled[&start][index].used;
                let server =
                    Server::fill(&self.prospects, (start, used), self.prospects.of_start(start).into(), self.looks)?;
                for (end, used) in server.ends().filter(|&(end, used)| !is_late(end, used)) {
                    let known = filled.entry(end).or_default();
                    if !known.iter().any(|known| consumption.contains(used, known.used)) {
                        known.push(Filled { used, from: (start, index) });
                    }
                }
            }
        }
        Ok(None)
    }

    /// How many servers there must be above each of these ideals.
    fn need(&self, starts: &[usize]) -> FxHashMap<usize, usize> {
        let last = self.pairs.lattice.count() - 1;
        let mut need = FxHashMap::from_iter([(last, 0)]);
        for &start in starts.iter().rev().filter(|&&start| start < last) {
            let of_end = |place: usize| need[&self.prospects.block.ends[place]];
            let least = ones(self.prospects.of_start(start)).map(of_end).min();
            need.insert(start, least.unwrap_or(NEVER).saturating_add(1));
        }
        need
    }

    /// The stages of the servers that hold everything: each of these is filled once more.
    fn trace(&self, filled: &BTreeMap<usize, Vec<Filled>>, last: usize) -> Result<IdealChain, Stopped> {
        let mut chain = Vec::new();
        let (mut end, mut index) = (last, 0);
        while end > 0 {
            let Filled { used, from: (start, before) } = filled[&end][index];
            let begin = (start, filled[&start][before].used);
            let Ok(place) = self.prospects.block.ends.binary_search(&end) else { break };
            let mut only: Box<[u64]> = vec![0; self.prospects.block.words].into();
            only[place / 64] |= 1 << (place % 64);
            let server = Server::fill(&self.prospects, begin, only, self.looks)?;
            chain.extend(server.trace(end, used).map(|(ideal, kind)| (self.pairs.lattice.bits(ideal).into(), kind)));
            (end, index) = (start, before);
        }
        chain.reverse();
        Ok(chain)
    }
}
