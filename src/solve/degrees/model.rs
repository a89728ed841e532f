//! The costs of stages by unit: what a search adds up as a stage grows by one node after the other.

use super::front::{Devices, Found, MOST_FLEETS, Taken};
use super::kinds::Kinds;
use super::shape::{Fleet, Least, Memory, Need, Shape};
use crate::cost::{OptionCost, StageCosts};
use crate::instance::AcceleratorClass;
use crate::problem::{Problem, most_bytes};

/// Rounding of sums, as a part of them: what is that near to a limit counts as within it, or not, for everybody alike.
const ROUNDING: f64 = 1e-13;

/// What quotients of times may have lost.
const LOOSE: f64 = 1e-9;

/// What a search for stages with degrees reads, by units that stages hold as a whole.
pub struct Model<'a> {
    pub costs: &'a StageCosts,
    /// The nodes of each unit.
    pub members: Vec<Vec<usize>>,
    pub shapes: Vec<Shape>,
    /// The devices, by class.
    pub fleets: Vec<Fleet>,
    /// The kinds of the nodes.
    pub kinds: Kinds,
    /// The edges from and to other units at each unit.
    pub incident: Vec<Vec<Incident>>,
    /// The least device time of each unit, time × tensor degree, by the weights of the fleets.
    pub work: Vec<f64>,
    /// The least bytes of each unit on all devices of its stage together.
    pub bytes: Vec<f64>,
    /// The least time of each unit.
    pub shortest: Vec<f64>,
    /// How many devices there are.
    pub devices: usize,
    /// The most that the data degrees may add up to.
    pub parts: usize,
    /// Whether the time of a step is minimised.
    pub is_step: bool,
}

/// An edge at a unit.
#[derive(Debug, Clone, Copy)]
pub struct Incident {
    pub edge: usize,
    /// Its end in the unit.
    pub node: usize,
    /// The unit at its other end.
    pub other: usize,
    /// Whether the unit has its source.
    pub leaves: bool,
}

/// What a stage of one shape takes at least, in sums that grow with it.
#[derive(Debug, Clone, Copy)]
pub struct Sums {
    /// Whether each has one that is fastest in every respect.
    pub is_simple: bool,
    pub compute: f64,
    /// Bytes over all edges that cross its boundary, with what is exchanged for them, in one direction.
    pub moved: f64,
    pub parameters: f64,
    /// The least memory, whatever the options.
    pub least: Memory,
    /// The memory of the fastest options.
    pub fastest: Memory,
}

impl Sums {
    /// Nothing.
    pub fn none() -> Self {
        Self {
            is_simple: true,
            compute: 0.0,
            moved: 0.0,
            parameters: 0.0,
            least: Memory::default(),
            fastest: Memory::default(),
        }
    }
}

impl<'a> Model<'a> {
    /// The model of a problem that asks for degrees, by units of these nodes. O(shapes · (options + edges) + options²) with the options of one node.
    pub fn new(problem: &Problem, costs: &'a StageCosts, members: Vec<Vec<usize>>) -> Self {
        let mut unit_of = vec![0; problem.node_count()];
        members.iter().enumerate().for_each(|(unit, nodes)| nodes.iter().for_each(|&v| unit_of[v] = unit));
        let mut incident = vec![Vec::new(); members.len()];
        for (edge, ends) in costs.edges.iter().enumerate() {
            let (source, target) = (unit_of[ends.source], unit_of[ends.target]);
            if source != target {
                incident[source].push(Incident { edge, node: ends.source, other: target, leaves: true });
                incident[target].push(Incident { edge, node: ends.target, other: source, leaves: false });
            }
        }
        let mut fleets = fleets(problem);
        let of_fleet = |fleet: usize| {
            let of = (fleet, &fleets[fleet]);
            costs.tensor_degrees.iter().map(|&tensor| Shape::new(costs, &members, of, tensor)).collect::<Vec<_>>()
        };
        let mut shapes: Vec<Shape> = (0..fleets.len()).flat_map(of_fleet).collect();
        weigh(&mut fleets, &mut shapes, members.len());
        let devices = fleets.iter().map(|fleet| fleet.count).sum();
        let is_step = problem.spec.objective.microbatches().is_some();
        let least = |value: &dyn Fn(&Shape, &Least) -> f64| {
            (0..members.len()).map(|unit| least_over(&shapes, unit, value)).collect::<Vec<_>>()
        };
        Self {
            work: least(&|shape, least| shape.weight * least.compute),
            bytes: least(&|shape, least| shape.tensor as f64 * least.memory.lasting.of(1, 1)),
            shortest: least(&|_, least| least.compute),
            costs,
            kinds: Kinds::new(costs, &shapes),
            members,
            incident,
            devices,
            parts: if is_step { devices } else { costs.microbatches.min(devices) },
            is_step,
            shapes,
            fleets,
        }
    }

    /// A value that no split is below: the devices' time together, and that of the parts of a batch; for a step also
    /// the way of a microbatch.
    pub fn bound(&self) -> f64 {
        let (work, shortest): (f64, f64) = (self.work.iter().sum(), self.shortest.iter().sum());
        let largest = (work / self.capacity(&Devices::default())).max(shortest / self.parts.max(1) as f64);
        let bound = if self.is_step { self.step_of(largest).max(shortest) } else { largest };
        bound * (1.0 - ROUNDING)
    }

    /// What no step is below where no largest time is below this one: the devices of that stage are busy with all of a
    /// batch.
    pub fn step_of(&self, largest: f64) -> f64 {
        self.costs.microbatches as f64 * largest
    }

    /// The most time for each sample of a stage within a target: that of a step is one for all of a batch.
    #[inline]
    pub fn most_time(&self, target: f64) -> f64 {
        if self.is_step { target / self.costs.microbatches as f64 } else { target }
    }

    /// The value of a split into these stages.
    pub fn objective(&self, stages: &[Found]) -> f64 {
        let with = |taken: Taken, stage: &Found| self.taken_before(&taken, stage.shape, stage.data, stage.time);
        let Taken { once, more, .. } = stages.iter().fold(Taken::NOTHING, with);
        let largest = stages.iter().map(|stage| stage.time).fold(0.0, f64::max);
        if self.is_step { once + more } else { largest }
    }

    /// What stages take with one more before them, on `data` replicas of this shape, that takes so long for each sample.
    pub fn taken_before(&self, behind: &Taken, shape: usize, data: usize, time: f64) -> Taken {
        let (parts, mut devices) = (behind.parts + data, behind.devices);
        let Shape { fleet, tensor, .. } = self.shapes[shape];
        devices[fleet] += (tensor * data) as u32;
        let Taken { once, more, .. } = *behind;
        if !self.is_step {
            return Taken { parts, devices, once, more };
        }
        let others = (self.costs.microbatches - data) as f64 * time;
        Taken { parts, devices, once: once + data as f64 * time, more: more.max(others) }
    }

    /// How much of the work the devices do that these leave, by the weights of their fleets.
    #[inline]
    pub fn capacity(&self, used: &Devices) -> f64 {
        self.fleets.iter().zip(used).map(|(fleet, &used)| fleet.weight * (fleet.count as f64 - f64::from(used))).sum()
    }

    /// Whether devices besides these are as many as stages need.
    #[inline]
    pub fn suffice(&self, used: &Devices, need: &Need) -> bool {
        let (mut devices, mut bytes) = (0.0, 0.0);
        for (fleet, &used) in self.fleets.iter().zip(used) {
            match fleet.count.checked_sub(used as usize) {
                None => return false,
                Some(0) => {}
                Some(left) => {
                    devices += fleet.weight * left as f64;
                    bytes += fleet.memory * left as f64;
                }
            }
        }
        need.devices <= devices && need.bytes <= bytes
    }

    /// The most data degree of a stage of this shape besides what is taken, where all add up to so many at most.
    pub fn most_data(&self, taken: &Taken, parts: usize, shape: usize) -> usize {
        let Shape { fleet, tensor, .. } = self.shapes[shape];
        let left = self.fleets[fleet].count.saturating_sub(taken.devices[fleet] as usize);
        parts.saturating_sub(taken.parts).min(left / tensor)
    }

    /// The options of a node at the shape of this index, each with its index among all of the node's.
    pub fn options(&self, shape: usize, v: usize) -> impl Iterator<Item = (usize, &'a OptionCost)> {
        let Shape { class, tensor, .. } = self.shapes[shape];
        let all = self.costs.options[v].iter().enumerate();
        all.filter(move |(_, option)| option.is_of(class, tensor))
    }

    /// What a stage takes that grows by `unit`, where `is_inside` holds for the units it had; `None` where that has no option
    /// of the shape. O(degree).
    pub fn grown(&self, shape: usize, sums: &Sums, unit: usize, is_inside: impl Fn(usize) -> bool) -> Option<Sums> {
        let shape = &self.shapes[shape];
        let least = shape.units[unit]?;
        let mut moved = sums.moved;
        for at in &self.incident[unit] {
            let (own, others) = if at.leaves { (0, 1) } else { (1, 0) };
            let bytes = self.costs.edges[at.edge].bytes;
            moved += match is_inside(at.other) {
                true => -(bytes + shape.exchanged[at.edge][others]),
                false => bytes + shape.exchanged[at.edge][own],
            };
        }
        Some(Sums {
            is_simple: sums.is_simple && least.fastest.is_some(),
            compute: sums.compute + least.compute,
            moved,
            parameters: sums.parameters + least.parameters,
            least: sums.least.plus(&least.memory),
            fastest: sums.fastest.plus(&least.fastest.unwrap_or_default()),
        })
    }

    /// The time of a stage that computes, moves in one direction and synchronises so much, on `d` replicas.
    #[inline]
    pub fn time(&self, compute: f64, moved: f64, parameters: f64, d: usize) -> f64 {
        let (d, batch) = (d as f64, self.costs.microbatches as f64);
        compute / d + (2.0 * moved / d + 4.0 * (d - 1.0) / d * parameters / batch) / self.costs.bandwidth
    }

    /// A data degree that no stage with these sums is within this time below; infinite where none is.
    pub fn least_data(&self, sums: &Sums, time: f64) -> f64 {
        // In the limit a stage only synchronises.
        let limit = 4.0 * sums.parameters / self.costs.microbatches as f64 / self.costs.bandwidth;
        let alone = self.least_time(sums, 1);
        match alone <= time {
            true => 1.0,
            false if limit >= time => f64::INFINITY,
            false => (alone - limit) / (time - limit) * (1.0 - LOOSE),
        }
    }

    /// The least time of a stage on `d` replicas.
    #[inline]
    pub fn least_time(&self, sums: &Sums, d: usize) -> f64 {
        self.time(sums.compute, sums.moved.max(0.0), sums.parameters, d)
    }
}

/// The classes that have devices, which are no more than a label can count.
fn fleets(problem: &Problem) -> Vec<Fleet> {
    let classes = problem.spec.platform.accelerators.iter().enumerate().filter(|(_, class)| class.count > 0);
    let fleet = |(class, of): (usize, &AcceleratorClass)| {
        let memory = of.memory.map_or(f64::INFINITY, most_bytes) * (1.0 - ROUNDING);
        Fleet { class, count: of.count, memory, weight: 1.0 }
    };
    let fleets: Vec<Fleet> = classes.map(fleet).collect();
    assert!(fleets.len() <= MOST_FLEETS, "labels count four classes");
    fleets
}

/// Weighs each fleet by what all units take on it, where it can run them all, else as the fastest, and the shapes of its devices.
fn weigh(fleets: &mut [Fleet], shapes: &mut [Shape], units: usize) {
    let work = |fleet: usize| -> f64 {
        let own: Vec<&Shape> = shapes.iter().filter(|shape| shape.fleet == fleet).collect();
        (0..units)
            .map(|unit| least_over(own.iter().copied(), unit, &|shape, least| shape.tensor as f64 * least.compute))
            .sum()
    };
    let works: Vec<f64> = (0..fleets.len()).map(work).collect();
    let least = works.iter().copied().fold(f64::INFINITY, f64::min);
    for (fleet, work) in fleets.iter_mut().zip(works) {
        if work.is_finite() && least > 0.0 {
            fleet.weight = least / work;
        }
    }
    shapes.iter_mut().for_each(|shape| shape.weight *= fleets[shape.fleet].weight);
}

/// The least value over the shapes that have options of a unit; infinite where none has.
fn least_over<'a>(
    shapes: impl IntoIterator<Item = &'a Shape>,
    unit: usize,
    value: &dyn Fn(&Shape, &Least) -> f64,
) -> f64 {
    let values = shapes.into_iter().filter_map(|shape| Some(value(shape, shape.units[unit].as_ref()?)));
    values.fold(f64::INFINITY, f64::min)
}
