//! What units and nets cost on one kind of device, and the sums of a stage that grows unit by unit.

use std::iter::once;
use std::sync::Arc;

use super::loads::contains;
use super::setting::Setting;
use crate::cost::Terms;
use crate::graph::{Graph, ones, topological};
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
    nets_of: Arc<[Vec<Nets>]>,
    after: Arc<After>,
}

/// For each unit the nets of it and of all that comes after it, as rows of bits.
struct After {
    all: Vec<u64>,
    /// Those whose source is among these units, where it matters which way a net goes.
    sourced: Vec<u64>,
}

impl After {
    /// The rows of the units in their `order`, each with `nets_of` its own. O((n + m) · nets/64).
    fn new(order: &Graph, nets: usize, nets_of: &[Vec<Nets>]) -> Self {
        let words = nets.div_ceil(64).max(1);
        let mut rows = Self { all: vec![0; nets_of.len() * words], sourced: vec![0; nets_of.len() * words] };
        for &u in topological::smallest_first(order).iter().rev() {
            for &Nets { word, all, sourced } in &nets_of[u] {
                rows.all[u * words + word] |= all;
                rows.sourced[u * words + word] |= sourced;
            }
            for &v in order.successors(u) {
                for word in 0..words {
                    rows.all[u * words + word] |= rows.all[v as usize * words + word];
                    rows.sourced[u * words + word] |= rows.sourced[v as usize * words + word];
                }
            }
        }
        rows
    }
}

impl<'a> Costs<'a> {
    /// The costs on the kind of this index. O(pins + (n + m) · nets/64).
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
        let nets_of: Arc<[Vec<Nets>]> = (0..reduced.unit_count()).map(nets_of).collect();
        Self {
            kind: costs,
            stages: (0..setting.stages.len()).filter(|&s| setting.stages[s].kind == kind).collect(),
            own: (0..reduced.unit_count()).map(own).collect(),
            nets: &reduced.nets,
            transfers: reduced.nets.iter().zip(&costs.transfers).map(transfer).collect(),
            is_sided,
            after: Arc::new(After::new(&reduced.order, reduced.nets.len(), &nets_of)),
            nets_of,
        }
    }

    /// How long the kind computes a unit; `None` where it cannot run it.
    pub fn computes(&self, u: usize) -> Option<f64> {
        self.own[u].as_ref().map(|own| own.iter().map(|terms| terms.compute).sum())
    }

    /// Closes the nets of a unit that is below a stage, of which none has been touched.
    pub fn begin_after(&self, u: usize, closed: &mut [u64]) {
        self.nets_of[u].iter().for_each(|nets| closed[nets.word] |= nets.all);
    }

    /// The same where each net costs so many times as much. O(nets).
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

    /// Closes the nets of a unit that will not join, and of all that comes after it, which will not either; what the stage
    /// `touched` of them lasts. So far the units in `gone` would not.
    #[inline]
    pub fn close(&self, u: usize, known: (&[u64], &[u64]), touched: &[u64], closed: &mut [u64], sums: &mut Sums) {
        let (set, gone) = known;
        let row = u * touched.len()..(u + 1) * touched.len();
        let rows = self.after.all[row.clone()].iter().zip(&self.after.sourced[row]);
        for (word, ((&all, &sourced), (&touched, closed))) in rows.zip(touched.iter().zip(closed)).enumerate() {
            let before = *closed;
            *closed |= all;
            for bit in ones(once(all & touched & !before)) {
                let Transfer { time, source, pass } = self.transfers[64 * word + bit];
                let leaves = self.is_sided && contains(set, source as usize);
                if leaves || !self.is_sided || sourced >> bit & 1 == 1 {
                    *sums.lasting[pass as usize].side(leaves) += time;
                }
            }
            for bit in ones(once(sourced & touched & before)) {
                let Transfer { time, source, pass } = self.transfers[64 * word + bit];
                if !contains(gone, source as usize) {
                    sums.lasting[pass as usize].comm_in += time;
                }
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
    use crate::graph::reachability;
    use crate::instance::{Edge, Instance, Node, Platform};
    use crate::preprocess::Reduced;
    use crate::problem::{Problem, ProblemSpec};

    const NODES: u64 = 9;

    /// Nodes of which each reads three a few places before it, on devices that pay `piece`.
    fn instance(piece: Piece) -> Instance {
        let node = |id| Node { accelerator_times: vec![Some(1.0)], transfer_time: (1 << id) as f64, ..Node::new(id) };
        let edge = |source: u64, step: u64| Edge { source, target: source + step };
        let edges = (0..NODES).flat_map(|source| [3, 4, 5].map(|step| edge(source, step)));
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

    /// Has units join or be barred in the order of `first`, out of those that can, each as its digit of `choices` says, or be below
    /// from the beginning. Returns the stage and its sums each time, in the end without units that may still join.
    fn grow(costs: &Costs, order: &Graph, choices: usize, first: fn(&[usize]) -> usize) -> Vec<(u64, Sums)> {
        let digit = |u: usize| choices / 3usize.pow(u as u32) % 3;
        let is_in = |set: u64, u: usize| set >> u & 1 == 1;
        let ready = |set: u64, u: usize| order.predecessors(u).iter().all(|&p| is_in(set, p as usize));
        let (mut set, mut gone, mut closed, mut touched) = ([0], [0], [0], [0]);
        let after = reachability::descendants(order);
        for u in (0..order.node_count()).filter(|&u| digit(u) == 2) {
            if ready(gone[0], u) {
                costs.begin_after(u, &mut closed);
                gone[0] |= 1 << u;
            }
        }
        let below = gone[0];
        let (mut sums, mut states) = (Sums::default(), Vec::new());
        loop {
            let can = |&u: &usize| !is_in(set[0] | gone[0], u) && ready(set[0] | below, u);
            let all: Vec<usize> = (0..order.node_count()).filter(can).collect();
            if all.is_empty() {
                return states;
            }
            let u = first(&all);
            if digit(u) == 1 {
                set[0] |= 1 << u;
                let known = Known { set: &set, gone: &gone, closed: &closed };
                costs.join(u, &known, &mut touched, &mut sums);
            } else {
                costs.close(u, (&set, &gone), &touched, &mut closed, &mut sums);
                after[u].iter().for_each(|v| gone[0] |= 1 << v);
            }
            states.push((set[0], sums));
        }
    }

    #[test]
    fn what_a_stage_moves_is_known_and_what_of_it_lasts_only_grows_to_that() {
        for piece in [Piece::new(1.0, 1.0, 1.0), Piece::new(1.0, 1.0, 2.0)] {
            let instance = instance(piece);
            let problem = Problem::new(&instance, ProblemSpec::of(&instance)).unwrap();
            let mut reduced = Reduced::new(&problem);
            // Half of the nets go back, as those of gradients do.
            reduced.nets.iter_mut().step_by(2).for_each(|net| net.source = *net.pins.last().unwrap());
            let setting = Setting::new(&problem, &reduced);
            let (costs, units) = (Costs::new(&setting, 0), reduced.unit_count());
            assert_eq!(units as u64, NODES, "nothing contracts");
            let load = |comm_in: f64, comm_out: f64| piece.comm_in * comm_in + piece.comm_out * comm_out;
            let firsts: [fn(&[usize]) -> usize; 2] = [|all| all[0], |all| all[all.len() - 1]];
            for (choices, first) in
                (0..3usize.pow(units as u32)).flat_map(|choices| firsts.map(|first| (choices, first)))
            {
                let states = grow(&costs, &reduced.order, choices, first);
                let Some(last) = states.last() else { continue };
                let end = moved(&reduced, last.0);
                for (set, Sums { terms: [terms, _], lasting: [lasting, _], .. }) in &states {
                    let now = moved(&reduced, *set);
                    assert_eq!(load(terms.comm_in, terms.comm_out), load(now.0, now.1), "{piece:?} {choices} {set:b}");
                    let lasting = load(lasting.comm_in, lasting.comm_out);
                    assert!(lasting <= load(end.0, end.1), "{piece:?} {choices} {set:b}");
                }
                let lasting = last.1.lasting[0];
                assert_eq!(load(lasting.comm_in, lasting.comm_out), load(end.0, end.1), "{piece:?} {choices}");
            }
        }
    }
}
