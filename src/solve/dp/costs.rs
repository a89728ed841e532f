//! What units and nets cost on one kind of device, and the sums of a stage that grows unit by unit.

use super::loads::contains;
use super::setting::Setting;
use crate::cost::{Piece, Terms};
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
        let is_sided = costs.pieces.iter().any(|piece: &Piece| piece.comm_in != piece.comm_out);
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
            for bit in bits(all & !before) {
                let Transfer { time, source, pass } = self.transfers[64 * word + bit];
                let is_source = sourced >> bit & 1 == 1;
                *sums.terms[pass as usize].side(is_source) += time;
                // Which way a net goes that is cut for good is known once its source is.
                if closed >> bit & 1 == 1 && (!self.is_sided || is_source || contains(known.gone, source as usize)) {
                    *sums.lasting[pass as usize].side(is_source) += time;
                }
            }
            for bit in bits(sourced & before) {
                let Transfer { time, pass, .. } = self.transfers[64 * word + bit];
                let terms = &mut sums.terms[pass as usize];
                terms.comm_in -= time;
                terms.comm_out += time;
                if closed >> bit & 1 == 1 {
                    sums.lasting[pass as usize].comm_out += time;
                }
            }
            for e in bits(all & before & !closed).map(|bit| 64 * word + bit) {
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
            for bit in bits(touched & !before) {
                let Transfer { time, source, pass } = self.transfers[64 * word + bit];
                let leaves = self.is_sided && contains(set, source as usize);
                if leaves || !self.is_sided || sourced >> bit & 1 == 1 {
                    *sums.lasting[pass as usize].side(leaves) += time;
                }
            }
            for bit in bits(touched & before & sourced) {
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

/// The places of the bits set in a word.
#[inline]
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = word.trailing_zeros() as usize;
        (word != 0).then(|| {
            word &= word - 1;
            place
        })
    })
}
