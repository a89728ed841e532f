//! The first stages of a pipeline on their devices.

use super::JointProblem;
use super::ideals::{Arc, Ideals, NEW};
use super::symmetry::Symmetry;
use dagsplit_model::mapping::ring_link_time;

use crate::cost::Terms;

/// The first stages of a pipeline on their devices.
#[derive(Debug, Clone)]
pub(super) struct Label {
    /// The ideal that the stages hold.
    pub ideal: u32,
    /// The label that this one extends.
    pub parent: Option<u32>,
    /// The devices of all copies, stage by stage.
    pub devices: Vec<u8>,
    /// Of each open unit of the ideal the place of its stage in `live`.
    pub owners: Vec<u8>,
    /// The stages that have messages to come, ascending.
    pub live: Vec<u8>,
    /// What each copy of the live stages has spent.
    pub terms: Vec<Terms>,
    /// The all-reduce time of each live stage.
    pub rings: Vec<f64>,
    /// The largest time of the copies that have no messages to come.
    pub settled: f64,
    /// No pipeline that begins so is faster.
    pub bound: f64,
}

impl Label {
    /// No stage yet.
    pub fn root() -> Self {
        Self {
            ideal: 0,
            parent: None,
            devices: Vec::new(),
            owners: Vec::new(),
            live: Vec::new(),
            terms: Vec::new(),
            rings: Vec::new(),
            settled: 0.0,
            bound: 0.0,
        }
    }

    /// Whether this label is nowhere slower than `other`, which agrees with it in all but the times.
    pub fn dominates(&self, other: &Self) -> bool {
        let no_more =
            |a: &Terms, b: &Terms| a.compute <= b.compute && a.comm_in <= b.comm_in && a.comm_out <= b.comm_out;
        self.settled <= other.settled
            && self.rings.iter().zip(&other.rings).all(|(a, b)| a <= b)
            && self.terms.iter().zip(&other.terms).all(|(a, b)| no_more(a, b))
    }
}

/// What labels are extended by.
pub(super) struct Extension<'a> {
    pub problem: &'a JointProblem,
    pub ideals: &'a Ideals<'a>,
    pub symmetry: &'a Symmetry,
}

/// A label and the stage that comes next, while its copies are placed.
struct Placing<'a, 'b> {
    to: &'b Extension<'a>,
    label: &'b Label,
    arc: &'b Arc,
    /// Bytes that each live stage sends to the next one, and gets from it.
    traffic: Vec<(f64, f64)>,
    /// Terms of the live copies, then of the new ones.
    terms: Vec<Terms>,
    devices: Vec<u8>,
    used: u64,
    cutoff: f64,
}

impl Extension<'_> {
    /// Every label with one stage more, in an ideal given by `arc`, whose bound is below `cutoff`.
    pub fn extend(&self, label: &Label, arc: &Arc, cutoff: f64, found: &mut impl FnMut(Label)) {
        let mut traffic = vec![(0.0, 0.0); label.live.len()];
        for &(place, bytes) in &arc.incoming {
            traffic[usize::from(label.owners[usize::from(place)])].0 += bytes;
        }
        for (places, bytes) in &arc.outgoing {
            let mut stages: Vec<u8> = places.iter().map(|&place| label.owners[usize::from(place)]).collect();
            stages.sort_unstable();
            stages.dedup();
            stages.iter().for_each(|&stage| traffic[usize::from(stage)].1 += bytes);
        }
        let used = label.devices.iter().fold(0, |used, &device| used | 1 << device);
        let (terms, devices) = (label.terms.clone(), label.devices.clone());
        Placing { to: self, label, arc, traffic, terms, devices, used, cutoff }.place(0, found);
    }
}

impl Placing<'_, '_> {
    /// Places the next stage's copies from `replica` on.
    fn place(&mut self, replica: usize, found: &mut impl FnMut(Label)) {
        let JointProblem { topology, replicas, .. } = self.to.problem;
        if replica == *replicas {
            self.finish(found);
            return;
        }
        for class in &self.to.symmetry.classes {
            // Devices of one class that are free can change places.
            let free = class.iter().find(|&&device| self.used >> device & 1 == 0);
            let Some(&device) = free else { continue };
            let limit = topology.devices[usize::from(device)].memory;
            if limit.is_some_and(|limit| self.arc.memory > limit) {
                continue;
            }
            let before = self.terms.clone();
            self.charge(replica, device.into());
            let fits = self.terms.iter().all(|terms| self.to.problem.cost.time(terms, 0.0) < self.cutoff);
            if fits {
                self.devices.push(device);
                self.used |= 1 << device;
                self.place(replica + 1, found);
                self.used &= !(1 << device);
                self.devices.pop();
            }
            self.terms = before;
        }
    }

    /// Adds the terms of the copy on `device`, and its messages to the terms of live copies.
    fn charge(&mut self, replica: usize, device: usize) {
        let JointProblem { topology, replicas, .. } = self.to.problem;
        let mut own = Terms { compute: self.arc.compute / topology.devices[device].speed, ..Terms::default() };
        for (live, &(incoming, outgoing)) in self.traffic.iter().enumerate() {
            let peer = usize::from(self.label.devices[usize::from(self.label.live[live]) * replicas + replica]);
            let (incoming, outgoing) =
                (topology.message_time(peer, device, incoming), topology.message_time(device, peer, outgoing));
            own.comm_in += incoming;
            own.comm_out += outgoing;
            let terms = &mut self.terms[live * replicas + replica];
            terms.comm_out += incoming;
            terms.comm_in += outgoing;
        }
        self.terms.push(own);
    }

    fn finish(&self, found: &mut impl FnMut(Label)) {
        let Self { label, arc, .. } = self;
        let (problem, replicas) = (self.to.problem, self.to.problem.replicas);
        let stage = label.devices.len() / replicas;
        let ring = ring_time(problem, &self.devices[stage * replicas..], arc.parameter_bytes);
        let stages: Vec<u8> = label.live.iter().copied().chain([stage as u8]).collect();
        let rings: Vec<f64> = label.rings.iter().copied().chain([ring]).collect();
        let owner = |&place: &u16| match place {
            NEW => label.live.len() as u8,
            place => label.owners[usize::from(place)],
        };
        let mut owners: Vec<u8> = arc.places.iter().map(owner).collect();
        let mut next = Label {
            ideal: arc.to,
            parent: None,
            devices: self.devices.clone(),
            owners: Vec::new(),
            live: Vec::new(),
            terms: Vec::new(),
            rings: Vec::new(),
            settled: label.settled,
            bound: 0.0,
        };
        let mut place = vec![u8::MAX; stages.len()];
        for (old, &stage) in stages.iter().enumerate() {
            let terms = &self.terms[old * replicas..][..replicas];
            if owners.contains(&(old as u8)) {
                place[old] = next.live.len() as u8;
                next.live.push(stage);
                next.terms.extend(terms);
                next.rings.push(rings[old]);
            } else {
                let slowest = terms.iter().map(|terms| problem.cost.time(terms, rings[old])).fold(0.0, f64::max);
                next.settled = next.settled.max(slowest);
            }
        }
        owners.iter_mut().for_each(|owner| *owner = place[usize::from(*owner)]);
        next.owners = owners;
        let left = problem.stages - stage - 1;
        let Some(behind) = self.to.ideals.behind[left][next.ideal as usize] else { return };
        next.bound = next.settled.max(behind).max(self.still(&next));
        if next.bound < self.cutoff {
            found(next);
        }
    }

    /// The least time of the live copies, where what is to come takes their fastest free links.
    fn still(&self, next: &Label) -> f64 {
        let JointProblem { topology, replicas, cost, .. } = self.to.problem;
        let mut to_come = vec![(0.0, 0.0); next.live.len()];
        for (&owner, bytes) in next.owners.iter().zip(&self.to.ideals.to_come[next.ideal as usize]) {
            let sum = &mut to_come[usize::from(owner)];
            *sum = (sum.0 + bytes.0, sum.1 + bytes.1);
        }
        let free = |device: &usize| self.used >> device & 1 == 0;
        let mut slowest = 0.0f64;
        for (copy, terms) in next.terms.iter().enumerate() {
            let (live, replica) = (copy / replicas, copy % replicas);
            let device = usize::from(next.devices[usize::from(next.live[live]) * replicas + replica]);
            let best = |bandwidth: &dyn Fn(usize) -> f64| {
                (0..topology.len()).filter(free).map(bandwidth).max_by(f64::total_cmp).unwrap_or(f64::MAX)
            };
            let (sent, received) = to_come[live];
            let mut terms = *terms;
            terms.comm_out += sent / best(&|other| topology.bandwidth(device, other));
            terms.comm_in += received / best(&|other| topology.bandwidth(other, device));
            slowest = slowest.max(cost.time(&terms, next.rings[live]));
        }
        slowest
    }
}

/// The time of the all-reduce among copies on `ring`; 0 where it does not count.
fn ring_time(problem: &JointProblem, ring: &[u8], bytes: f64) -> f64 {
    if !problem.cost.counted.all_reduce() {
        return 0.0;
    }
    let next = ring.iter().cycle().skip(1);
    let time = |(&a, &b): (&u8, &u8)| ring_link_time(&problem.topology, problem.replicas, bytes, a.into(), b.into());
    ring.iter().zip(next).map(time).fold(0.0, f64::max)
}
