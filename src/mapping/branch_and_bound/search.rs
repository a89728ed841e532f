//! Depth-first search for a mapping within a target.

use std::rc::Rc;

use super::blocks::Partition;
use super::model::Model;
use super::state::{Conflict, Domains, Price, State};
use super::symmetry::{Orbits, Symmetry};
use crate::mapping::Mapping;
use crate::search::{SearchContext, Verdict};
use crate::small_set::Set;

/// Which copy is decided about first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchingOrder {
    /// The one with the fewest devices left by its conflicts in this search.
    Fresh,
    /// The one whose decision failed last, else as before, with conflicts of earlier searches and how few devices a copy
    /// leaves its neighbours.
    Learned,
}

/// What searches of one problem share.
pub struct Knowledge<'a, const W: usize> {
    /// The problem.
    pub model: &'a Model<'a, W>,
    /// Blocks of devices, coarse to fine.
    pub partitions: Vec<Partition<W>>,
    /// Interchangeable devices, where it is known that there are any.
    pub symmetry: Option<Symmetry>,
    /// Decisions taken so far.
    pub nodes: u64,
    /// By copy: how much it is worth deciding early in the learned order.
    weights: Vec<f64>,
}

impl<'a, const W: usize> Knowledge<'a, W> {
    /// What is known of the problem before any search; less where a limit comes first.
    pub fn new(model: &'a Model<'a, W>, cx: &SearchContext) -> Self {
        let topology = &model.problem.topology;
        Self {
            model,
            partitions: Partition::all(topology, cx),
            symmetry: Some(Symmetry::new(topology, cx)),
            nodes: 0,
            weights: Vec::new(),
        }
    }

    /// Nothing is known.
    pub fn none(model: &'a Model<'a, W>) -> Self {
        Self { model, partitions: Vec::new(), symmetry: None, nodes: 0, weights: Vec::new() }
    }
}

/// Where a decision sends a copy.
#[derive(Debug, Clone, Copy)]
enum Place {
    Device(usize),
    /// Partition and block.
    Block(usize, usize),
}

/// Searches of at least so many decisions begin with shaving.
const SHAVING: u64 = 500;

/// What is left of a copy's weight from one search to the next.
const FADING: f64 = 0.5;

/// A search for a mapping whose copies all take at most a target.
pub struct DepthFirstSearch<'s, 'a, const W: usize> {
    knowledge: &'s mut Knowledge<'a, W>,
    state: State<'a, W>,
    cx: &'s SearchContext,
    budget: u64,
    order: BranchingOrder,
    decisions: Vec<Place>,
    /// By device: devices of different colours are not interchangeable. Colours are numbered from 0 without gaps.
    colours: Vec<usize>,
    /// Whether it begins with shaving.
    shaves: bool,
    /// Whether there is nothing to search.
    is_refuted: bool,
    /// The copy whose decision failed last, for the learned order: what makes it fail is likely to be about it.
    failed: Option<usize>,
    /// The number of decisions from which on no devices are interchangeable, and the orbits that say so.
    apart: Option<(usize, Rc<Orbits>)>,
}

impl<'s, 'a, const W: usize> DepthFirstSearch<'s, 'a, W> {
    /// A search under `target` that takes at most `budget` decisions.
    pub fn new(
        knowledge: &'s mut Knowledge<'a, W>,
        target: f64,
        budget: u64,
        order: BranchingOrder,
        cx: &'s SearchContext,
    ) -> Self {
        let state = State::new(knowledge.model, target);
        let colours = vec![0; knowledge.model.devices()];
        let (shaves, decisions, failed) = (budget >= SHAVING, Vec::new(), None);
        Self { knowledge, state, cx, budget, order, decisions, colours, shaves, is_refuted: false, failed, apart: None }
    }

    /// Begins with these domains, which propagation has left of all, and without shaving.
    pub fn from(mut self, domains: &Domains<W>) -> Self {
        self.state.restore(domains);
        self.shaves = false;
        self
    }

    /// Leaves a copy only these devices.
    pub fn within(mut self, copy: usize, devices: &Set<W>) -> Self {
        self.is_refuted |= self.state.keep(copy, devices).is_err();
        tell_apart(&mut self.colours, devices);
        self
    }

    /// Lets the devices of all copies cost only so much together, where those of a block cost the same.
    pub fn below(mut self, price: Price) -> Self {
        for block in self.knowledge.partitions.first().into_iter().flat_map(|partition| &partition.blocks) {
            tell_apart(&mut self.colours, block);
        }
        self.state.limit_price(price);
        self
    }

    /// Searches.
    pub fn run(mut self) -> Verdict<Mapping> {
        // What is refuted at once teaches nothing.
        if self.is_refuted || self.state.propagate(self.cx).is_err() {
            return Verdict::Refuted;
        }
        if self.budget == 0 || self.state.is_cut {
            return Verdict::Unknown;
        }
        let verdict = self.prepare().map_or(Verdict::Refuted, |()| self.explore());
        if self.order == BranchingOrder::Learned {
            self.knowledge.weights = self.state.conflicts.iter().map(|weight| weight * FADING).collect();
        }
        verdict
    }

    fn prepare(&mut self) -> Result<(), Conflict> {
        if self.order == BranchingOrder::Learned {
            self.state.conflicts = match self.knowledge.weights.is_empty() {
                true => (0..self.state.model.copies()).map(|copy| self.state.tightness(copy)).collect(),
                false => self.knowledge.weights.clone(),
            };
        }
        if self.shaves { self.shave() } else { Ok(()) }
    }

    /// Tries every stage on every device, and takes those away that lead to a conflict at once.
    fn shave(&mut self) -> Result<(), Conflict> {
        let orbits = self.orbits();
        loop {
            let mut has_shrunk = false;
            for stage in 0..self.state.model.stages.len() {
                let copy = stage * self.state.model.replicas();
                for device in self.state.domains.devices[copy].iter().filter(|&device| orbits[device] == device) {
                    if self.cx.should_stop() {
                        return Ok(());
                    }
                    if self.state.domains.devices[copy].contains(device) && self.fails(copy, device) {
                        self.exclude(copy, &self.image(&orbits, Place::Device(device)))?;
                        has_shrunk = true;
                    }
                }
            }
            if !has_shrunk {
                return Ok(());
            }
        }
    }

    fn fails(&mut self, copy: usize, device: usize) -> bool {
        let saved = self.state.domains.clone();
        self.state.touched.add(copy);
        let result = self.state.keep(copy, &Set::only(device)).and_then(|()| self.state.propagate(self.cx));
        self.state.touched.remove(copy);
        self.state.restore(&saved);
        result.is_err()
    }

    fn explore(&mut self) -> Verdict<Mapping> {
        loop {
            if self.state.is_cut {
                return Verdict::Unknown;
            }
            if let Some(mapping) = self.lucky() {
                return Verdict::Found(mapping);
            }
            let Some((copy, place)) = self.choose() else { return self.leaf() };
            if self.budget == 0 || self.cx.should_stop() {
                return Verdict::Unknown;
            }
            self.budget -= 1;
            self.knowledge.nodes += 1;
            let saved = self.state.domains.clone();
            match self.descend(copy, place) {
                Verdict::Refuted => self.fail(copy, place),
                verdict => return verdict,
            }
            let orbits = self.orbits();
            let images = self.image(&orbits, place);
            self.state.restore(&saved);
            if self.exclude(copy, &images).is_err() {
                return Verdict::Refuted;
            }
        }
    }

    fn fail(&mut self, copy: usize, place: Place) {
        if self.order == BranchingOrder::Learned && matches!(place, Place::Device(_)) {
            self.failed = Some(copy);
        }
    }

    /// The mapping that the copies' matching with different devices makes, where it happens to be within the target.
    fn lucky(&self) -> Option<Mapping> {
        // Of classes the matching says no devices, and what lies close together leaves more for rings.
        if self.state.model.classes.is_some() {
            return None;
        }
        let mapping = Mapping { devices: self.state.matching.devices().to_vec() };
        let is_within = self.state.model.problem.objective(&mapping) <= self.state.limit;
        (is_within && self.state.is_cheap(&mapping.devices)).then_some(mapping)
    }

    fn descend(&mut self, copy: usize, place: Place) -> Verdict<Mapping> {
        self.state.touched.add(copy);
        self.decisions.push(place);
        let set = self.set(place);
        let result = self.state.keep(copy, &set).and_then(|()| self.state.propagate(self.cx));
        let verdict = match result {
            Ok(()) => self.explore(),
            Err(Conflict) => Verdict::Refuted,
        };
        self.state.touched.remove(copy);
        self.decisions.pop();
        if self.apart.as_ref().is_some_and(|&(count, _)| count > self.decisions.len()) {
            self.apart = None;
        }
        verdict
    }

    /// Takes devices from all copies interchangeable with `copy`.
    fn exclude(&mut self, copy: usize, images: &Set<W>) -> Result<(), Conflict> {
        for copy in self.state.touched.images(copy) {
            let left = self.state.domains.devices[copy].minus(images);
            self.state.keep(copy, &left)?;
        }
        self.state.propagate(self.cx)
    }

    fn leaf(&self) -> Verdict<Mapping> {
        let domains: &Domains<W> = &self.state.domains;
        Verdict::Found(Mapping { devices: domains.devices.iter().filter_map(Set::first).collect() })
    }

    fn set(&self, place: Place) -> Set<W> {
        match place {
            Place::Device(device) => Set::only(device),
            Place::Block(partition, block) => self.knowledge.partitions[partition].blocks[block],
        }
    }

    /// The devices that are interchangeable after the decisions so far.
    fn orbits(&mut self) -> Rc<Orbits> {
        // What tells all devices apart goes on to do so.
        let decided = self.decisions.len();
        if let Some((_, orbits)) = self.apart.as_ref().filter(|(count, _)| *count <= decided) {
            return Rc::clone(orbits);
        }
        let mut colours = self.colours.clone();
        for &place in &self.decisions {
            tell_apart(&mut colours, &self.set(place));
        }
        let Some(symmetry) = &mut self.knowledge.symmetry else { return self.tell_all_apart() };
        let orbits = symmetry.orbits(&colours, self.cx);
        if orbits.iter().enumerate().all(|(device, &orbit)| device == orbit) {
            self.apart = Some((decided, Rc::clone(&orbits)));
        }
        orbits
    }

    /// From now on no devices are interchangeable, whatever the decisions. Returns the orbits that say so.
    fn tell_all_apart(&mut self) -> Rc<Orbits> {
        let each = Rc::new((0..self.colours.len()).collect());
        self.apart = Some((0, Rc::clone(&each)));
        each
    }

    /// The devices that interchanging takes a place to.
    fn image(&self, orbits: &Orbits, place: Place) -> Set<W> {
        match place {
            Place::Device(device) => (0..orbits.len()).filter(|&other| orbits[other] == orbits[device]).collect(),
            Place::Block(partition, block) => {
                let blocks = &self.knowledge.partitions[partition].blocks;
                // A block's orbits are those of its devices: an automorphism that takes one of them to another block
                // takes the whole block there.
                let Some(first) = blocks[block].first() else { return Set::EMPTY };
                let holds_image = |other: &&Set<W>| other.iter().any(|device| orbits[device] == orbits[first]);
                blocks.iter().filter(holds_image).fold(Set::EMPTY, |all, block| all | *block)
            }
        }
    }

    /// The next copy to decide about and where to try it; `None` where all copies have their devices.
    fn choose(&self) -> Option<(usize, Place)> {
        let domains = &self.state.domains.devices;
        for (index, partition) in self.knowledge.partitions.iter().enumerate() {
            let spread = |copy: usize| partition.blocks.iter().filter(|block| block.meets(&domains[copy])).count();
            if let Some(copy) = self.tightest(spread) {
                let device = self.state.cheapest_device(copy)?;
                return Some((copy, Place::Block(index, partition.block[device])));
            }
        }
        let copy = self.tightest(|copy| domains[copy].len())?;
        Some((copy, Place::Device(self.state.cheapest_device(copy)?)))
    }

    /// The copy with the least size above one by its conflicts.
    fn tightest(&self, size: impl Fn(usize) -> usize) -> Option<usize> {
        if let Some(copy) = self.failed.filter(|&copy| size(copy) > 1) {
            return Some(copy);
        }
        let sized = (0..self.state.model.copies()).map(|copy| (copy, size(copy))).filter(|&(_, size)| size > 1);
        let score = |copy: usize, size: usize| size as f64 / (1.0 + self.state.conflicts[copy]);
        sized.min_by(|&(a, size_a), &(b, size_b)| score(a, size_a).total_cmp(&score(b, size_b))).map(|(copy, _)| copy)
    }
}

/// Gives the devices of `set` other colours than the rest, and keeps the colours apart that were. Colours are numbered from
/// 0 without gaps.
fn tell_apart<const W: usize>(colours: &mut [usize], set: &Set<W>) {
    let pair = |device: usize, colour: usize| 2 * colour + usize::from(set.contains(device));
    let mut finer = vec![0; 2 * colours.len()];
    colours.iter().enumerate().for_each(|(device, &colour)| finer[pair(device, colour)] = 1);
    let mut next = 0;
    for number in &mut finer {
        next += std::mem::replace(number, next);
    }
    colours.iter_mut().enumerate().for_each(|(device, colour)| *colour = finer[pair(device, *colour)]);
}
