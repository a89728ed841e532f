//! The sums of a stage that grows unit by unit, by the pins of its nets.

use super::setting::Setting;
use crate::cost::Terms;
use crate::preprocess::{KindCosts, joint};

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

/// A unit's place on a net that costs a kind of device something.
#[derive(Clone, Copy)]
pub struct Pin {
    /// The net.
    pub net: u32,
    /// How many pins the net has.
    of: u32,
    is_source: bool,
    pass: usize,
    time: f64,
}

/// What the units cost on one kind of device.
pub struct Costs<'a> {
    /// The kind.
    pub kind: &'a KindCosts,
    /// Stage kinds on it.
    pub stages: Vec<usize>,
    /// Compute and fixed communication of each unit, by pass; `None` where the kind cannot run it.
    pub own: Vec<Option<[Terms; 2]>>,
    /// Each unit's places on nets.
    pub pins: Vec<Vec<Pin>>,
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
        let pin = |u: usize, e: usize| {
            let net = &reduced.nets[e];
            let pass = usize::from(net.backward && !is_one_load);
            let (of, is_source) = (net.pins.len() as u32, net.source as usize == u);
            Pin { net: e as u32, of, is_source, pass, time: costs.transfers[e] }
        };
        let pins = |u: usize| {
            let nets = reduced.nets_of.row(u).iter().map(|&e| e as usize);
            nets.filter(|&e| pays(costs, e)).map(|e| pin(u, e)).collect()
        };
        Self {
            kind: costs,
            stages: (0..setting.stages.len()).filter(|&s| setting.stages[s].kind == kind).collect(),
            own: (0..reduced.unit_count()).map(own).collect(),
            pins: (0..reduced.unit_count()).map(pins).collect(),
        }
    }

    /// How long the kind computes a unit; `None` where it cannot run it.
    pub fn computes(&self, u: usize) -> Option<f64> {
        self.own[u].as_ref().map(|own| own.iter().map(|terms| terms.compute).sum())
    }

    /// The same where each net costs so many times as much. O(n + pins).
    #[must_use]
    pub fn priced(&self, price: impl Fn(usize) -> f64) -> Self {
        let priced = |pin: &Pin| Pin { time: pin.time * price(pin.net as usize), ..*pin };
        let pins = self.pins.iter().map(|pins| pins.iter().map(priced).collect());
        Self { kind: self.kind, stages: self.stages.clone(), own: self.own.clone(), pins: pins.collect() }
    }
}

/// Whether a net costs a kind of device anything.
pub fn pays(kind: &KindCosts, net: usize) -> bool {
    kind.transfers[net] > 0.0 && kind.pieces.iter().any(|piece| piece.comm_in > 0.0 || piece.comm_out > 0.0)
}

/// Where the pins of a net lie: below the stage, in it, and above it for good.
#[derive(Clone, Copy, Default)]
pub struct Pins {
    below: u32,
    inside: u32,
    /// Pins above the stage that will not join it.
    above: u32,
    source_inside: bool,
    /// Whether the source is below the stage, or above it for good.
    source_outside: bool,
}

impl Pins {
    /// Counts a pin as one below the stage.
    pub fn put_below(&mut self, is_source: bool) {
        self.below += 1;
        self.source_outside |= is_source;
    }

    /// Whether a net of so many pins is the stage's and others', too.
    pub fn is_cut(&self, of: usize) -> bool {
        self.inside > 0 && (self.inside as usize) < of
    }

    /// Whether a net of so many pins is the stage's and has some above it.
    pub fn rises(&self, of: usize) -> bool {
        self.inside > 0 && ((self.inside + self.below) as usize) < of
    }

    /// Whether the stage holds the net's source.
    pub fn holds_source(&self) -> bool {
        self.source_inside
    }

    /// Whether the net is cut whatever joins the stage, as far as it is the stage's.
    fn is_cut_for_good(&self) -> bool {
        self.below + self.above > 0
    }

    /// Takes the pin that was added last out again.
    #[inline]
    pub fn take(&mut self, pin: &Pin) {
        self.inside -= 1;
        self.source_inside &= !pin.is_source;
    }

    /// Counts a pin of the net as the stage's.
    #[inline]
    pub fn add(&mut self, pin: &Pin, sums: &mut Sums) {
        let terms = &mut sums.terms[pin.pass];
        if self.inside > 0 {
            *terms.side(self.source_inside) -= pin.time;
        }
        // Which way a net goes that is cut for good is known once its source is.
        if self.is_cut_for_good() && (pin.is_source || self.inside == 0 && self.source_outside) {
            *sums.lasting[pin.pass].side(pin.is_source) += pin.time;
        }
        self.source_inside |= pin.is_source;
        self.inside += 1;
        if self.inside < pin.of {
            *terms.side(self.source_inside) += pin.time;
        }
    }

    /// Counts a pin as one that will not join the stage.
    #[inline]
    pub fn bar(&mut self, pin: &Pin, sums: &mut Sums) {
        if self.inside > 0 && (pin.is_source || !self.is_cut_for_good() && self.source_inside) {
            *sums.lasting[pin.pass].side(self.source_inside) += pin.time;
        }
        self.source_outside |= pin.is_source;
        self.above += 1;
    }

    /// Counts a pin that was barred as one that may join again.
    #[inline]
    pub fn unbar(&mut self, pin: &Pin) {
        self.above -= 1;
        self.source_outside &= !pin.is_source;
    }
}
