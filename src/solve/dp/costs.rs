//! What units and nets cost on one kind of device, and the sums of a stage that grows unit by unit.

use std::iter::once;

use super::loads::contains;
use super::setting::Setting;
use crate::cost::Terms;
use crate::graph::ones;
use crate::preprocess::{KindCosts, Net, joint};

/// What a stage that grows is made of.
#[derive(Clone, Copy, Default)]
pub struct Sums {
    /// Compute and communication by pass; of one load, all in the first.
    pub terms: [Terms; 2],
    /// The part of them that stays whatever joins.
    pub lasting: [Terms; 2],
    /// Bytes of its units by themselves.
    pub memory: f64,
    /// Bytes kept for the edges that the stage cuts.
    pub boundary: f64,
    /// Bytes that replicas synchronise.
    pub parameter_bytes: f64,
}

/// Nets that a unit is on and that cost something, as a word of a bit set.
#[derive(Clone, Copy)]
struct Nets {
    word: usize,
    all: u64,
    /// Those that the unit is the source of, where it matters which way a net goes.
    sourced: u64,
}

/// What a net costs.
#[derive(Clone, Copy)]
struct Transfer {
    time: f64,
    source: u32,
    pass: u32,
}

/// What is known of units and nets while a stage grows, as bit sets.
pub struct Known<'w> {
    /// The units of the stage.
    pub set: &'w [u64],
    /// The units that will not join it.
    pub gone: &'w [u64],
    /// The nets that have a pin among the units gone: they are cut for good.
    pub closed: &'w [u64],
}

/// What the units cost on one kind of device.
#[derive(Clone)]
pub struct Costs<'a> {
    /// The kind.
    pub kind: &'a KindCosts,
    /// Stage kinds on it.
    pub stages: Vec<usize>,
    /// Compute and fixed communication of each unit, by pass; `None` where the kind cannot run it.
    pub own: Vec<Option<[Terms; 2]>>,
    nets: &'a [Net],
    /// What each of them costs.
    transfers: Vec<Transfer>,
    /// Whether it matters which way a net goes. Where it does not, all of them count as coming in.
    is_sided: bool,
    /// For each unit its nets.
    nets_of: Vec<Vec<Nets>>,
}

impl<'a> Costs<'a> {
    /// The costs on the kind of this index. O(n + pins).
    pub fn new(setting: &'a Setting, kind: usize) -> Self {
        let (reduced, costs) = (setting.reduced, &setting.reduced.kinds[kind]);
        let is_one_load = setting.loads.is_one_load();
        let own = |u: usize| {
            let terms = costs.terms(u)?;
            Some(if is_one_load { [joint(&terms), Terms::default()] } else { terms })
        };
        let is_sided = costs.pieces.iter().any(|piece| piece.comm_in != piece.comm_out);
        let nets_of = |u: usize| {
            let mut words: Vec<Nets> = Vec::new();
            for e in reduced.nets_of.row(u).iter().map(|&e| e as usize).filter(|&e| pays(costs, e)) {
                if words.last().is_none_or(|last| last.word != e / 64) {
                    words.push(Nets { word: e / 64, all: 0, sourced: 0 });
                }
                let last = words.len() - 1;
                words[last].all |= 1 << (e % 64);
                words[last].sourced |= u64::from(is_sided && reduced.nets[e].source as usize == u) << (e % 64);
            }
            words
        };
        let transfer = |(net, &time): (&Net, &f64)| {
            let pass = u32::from(net.backward && !is_one_load);
            Transfer { time, source: net.source, pass }
        };
        Self {
            kind: costs,
            stages: (0..setting.stages.len()).filter(|&s| setting.stages[s].kind == kind).collect(),
            own: (0..reduced.unit_count()).map(own).collect(),
            nets: &reduced.nets,
            transfers: reduced.nets.iter().zip(&costs.transfers).map(transfer).collect(),
            is_sided,
            nets_of: (0..reduced.unit_count()).map(nets_of).collect(),
        }
    }

    /// How long the kind computes a unit; `None` where it cannot run it.
    pub fn computes(&self, u: usize) -> Option<f64> {
        self.own[u].as_ref().map(|own| own.iter().map(|terms| terms.compute).sum())
    }

    /// The same where each net costs so many times as much. O(n + pins).
    #[must_use]
    pub fn priced(&self, price: impl Fn(usize) -> f64) -> Self {
        let priced = |(e, &net): (usize, &Transfer)| Transfer { time: net.time * price(e), ..net };
        Self { transfers: self.transfers.iter().enumerate().map(priced).collect(), ..self.clone() }
    }

    /// Counts what a unit moves that has just joined a stage, beside the nets that the stage `touched` before.
    #[inline]
    pub fn join(&self, u: usize, known: &Known, touched: &mut [u64], sums: &mut Sums) {
        for &Nets { word, all, sourced } in &self.nets_of[u] {
            let (before, closed) = (touched[word], known.closed[word]);
            touched[word] |= all;
            for bit in ones(once(all & !before)) {
                let Transfer { time, source, pass } = self.transfers[64 * word + bit];
                let is_source = sourced >> bit & 1 == 1;
                *sums.terms[pass as usize].side(is_source) += time;
                // Which way a net goes that is cut for good is known once its source is.
                if closed >> bit & 1 == 1 && (!self.is_sided || is_source || contains(known.gone, source as usize)) {
                    *sums.lasting[pass as usize].side(is_source) += time;
                }
            }
            for bit in ones(once(sourced & before)) {
                let Transfer { time, pass, .. } = self.transfers[64 * word + bit];
                let terms = &mut sums.terms[pass as usize];
                terms.comm_in -= time;
                terms.comm_out += time;
                if closed >> bit & 1 == 1 {
                    sums.lasting[pass as usize].comm_out += time;
                }
            }
            for e in ones(once(all & before & !closed)).map(|bit| 64 * word + bit) {
                if self.nets[e].pins.iter().rev().all(|&p| contains(known.set, p as usize)) {
                    let Transfer { time, pass, .. } = self.transfers[e];
                    *sums.terms[pass as usize].side(self.is_sided) -= time;
                }
            }
        }
    }

    /// Closes the nets of a unit that is gone; what the stage `touched` of them lasts.
    #[inline]
    pub fn close(&self, u: usize, set: &[u64], touched: &[u64], closed: &mut [u64], sums: &mut Sums) {
        for &Nets { word, all, sourced } in &self.nets_of[u] {
            let (touched, before) = (touched[word] & all, closed[word]);
            closed[word] |= all;
            for bit in ones(once(touched & !before)) {
                let Transfer { time, source, pass } = self.transfers[64 * word + bit];
                let leaves = self.is_sided && contains(set, source as usize);
                if leaves || !self.is_sided || sourced >> bit & 1 == 1 {
                    *sums.lasting[pass as usize].side(leaves) += time;
                }
            }
            for bit in ones(once(touched & before & sourced)) {
                let Transfer { time, pass, .. } = self.transfers[64 * word + bit];
                sums.lasting[pass as usize].comm_in += time;
            }
        }
    }
}

/// Whether a net costs a kind of device anything.
pub fn pays(kind: &KindCosts, net: usize) -> bool {
    kind.transfers[net] > 0.0 && kind.pieces.iter().any(|piece| piece.comm_in > 0.0 || piece.comm_out > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Piece;
    use crate::instance::{Edge, Instance, Node, Platform};
    use crate::preprocess::Reduced;
    use crate::problem::{Problem, ProblemSpec};

    const NODES: u64 = 10;

    /// Nodes of which each reads those a few places before it, on devices that pay `piece`.
    fn instance(piece: Piece) -> Instance {
        let node = |id| Node { accelerator_times: vec![Some(1.0)], transfer_time: (1 << id) as f64, ..Node::new(id) };
        let edge = |source: u64, step: u64| Edge { source, target: source + step };
        let edges = (0..NODES).flat_map(|source| [1, 3, 4].map(|step| edge(source, step)));
        let mut platform = Platform::uniform(3, None, 0);
        platform.accelerators[0].load = Some(vec![piece]);
        Instance {
            platform,
            nodes: (0..NODES).map(node).collect(),
            edges: edges.filter(|edge| edge.target < NODES).collect(),
            ..Instance::default()
        }
    }

    /// What a set of units moves, in and out, by the pins of each net.
    fn moved(reduced: &Reduced, set: u64) -> (f64, f64) {
        let (mut comm_in, mut comm_out) = (0.0, 0.0);
        for (e, net) in reduced.nets.iter().enumerate() {
            let inside = net.pins.iter().filter(|&&p| set >> p & 1 == 1).count();
            if inside > 0 && inside < net.pins.len() {
                let side = if set >> net.source & 1 == 1 { &mut comm_out } else { &mut comm_in };
                *side += reduced.kinds[0].transfers[e];
            }
        }
        (comm_in, comm_out)
    }

    /// Has units join or go, one by one, as the bits of `choices` say, in an order in which sources come before and after other pins.
    /// Returns the stage and its sums, each time.
    fn grow(costs: &Costs, units: usize, choices: usize) -> Vec<(u64, Sums)> {
        let (mut set, mut gone, mut closed, mut touched) = ([0], [0], [0], [0]);
        let mut sums = Sums::default();
        let step = |i: usize| {
            let u = (i * 7 + choices) % units;
            if choices >> i & 1 == 1 {
                set[0] |= 1 << u;
                let known = Known { set: &set, gone: &gone, closed: &closed };
                costs.join(u, &known, &mut touched, &mut sums);
            } else {
                gone[0] |= 1 << u;
                costs.close(u, &set, &touched, &mut closed, &mut sums);
            }
            (set[0], sums)
        };
        (0..units).map(step).collect()
    }

    #[test]
    fn what_a_stage_moves_is_known_and_what_of_it_lasts_only_grows_to_that() {
        for piece in [Piece::new(1.0, 1.0, 1.0), Piece::new(1.0, 1.0, 2.0)] {
            let instance = instance(piece);
            let problem = Problem::new(&instance, ProblemSpec::of(&instance)).unwrap();
            let reduced = Reduced::new(&problem);
            let setting = Setting::new(&problem, &reduced);
            let (costs, units) = (Costs::new(&setting, 0), reduced.unit_count());
            assert_eq!(units as u64, NODES, "nothing contracts");
            let load = |comm_in: f64, comm_out: f64| piece.comm_in * comm_in + piece.comm_out * comm_out;
            for choices in 0..1 << units {
                let states = grow(&costs, units, choices);
                let last = states.last().unwrap();
                let end = moved(&reduced, last.0);
                for (set, Sums { terms: [terms, _], lasting: [lasting, _], .. }) in &states {
                    let now = moved(&reduced, *set);
                    assert_eq!(
                        load(terms.comm_in, terms.comm_out),
                        load(now.0, now.1),
                        "{piece:?} {choices:b} {set:b}"
                    );
                    let lasting = load(lasting.comm_in, lasting.comm_out);
                    assert!(lasting <= load(end.0, end.1), "{piece:?} {choices:b} {set:b}");
                }
                let lasting = last.1.lasting[0];
                assert_eq!(load(lasting.comm_in, lasting.comm_out), load(end.0, end.1), "{piece:?} {choices:b}");
            }
        }
    }
}
