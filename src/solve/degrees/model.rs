//! The costs of stages by unit: what a search adds up as a stage grows by one node after the other.

use super::front::{Found, Taken};
use super::kinds::Kinds;
use crate::cost::{OptionCost, StageBytes, StageCosts};
use crate::problem::{Problem, most_bytes};

/// Rounding of sums, as a part of them: what is that near to a limit counts as within it, or not, for everybody alike.
const ROUNDING: f64 = 1e-13;

/// What quotients of times may have lost.
const LOOSE: f64 = 1e-9;

/// The least of each amount over a unit's options of one tensor degree.
#[derive(Debug, Clone, Copy)]
pub struct Least {
    pub compute: f64,
    pub parameters: f64,
    pub memory: Memory,
    /// The memory of options that take the least compute, parameters and exchange all at once, where there are such.
    pub fastest: Option<Memory>,
}

/// What options need memory for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Memory {
    pub lasting: StageBytes,
    /// The largest of one.
    pub working: f64,
}

impl Memory {
    fn of(costs: &StageCosts, option: &OptionCost) -> Self {
        Self { lasting: costs.bytes(option), working: option.working }
    }

    fn plus(&self, other: &Self) -> Self {
        Self { lasting: self.lasting.plus(&other.lasting), working: self.working.max(other.working) }
    }

    /// All of it, of `d` replicas with so many microbatches in flight.
    pub fn bytes(&self, in_flight: usize, d: usize) -> f64 {
        self.lasting.of(in_flight, d) + self.working
    }
}

/// The options of one tensor degree.
pub struct TensorDegree {
    pub degree: usize,
    /// The least of each unit; `None` where it has no option of this degree.
    pub units: Vec<Option<Least>>,
    /// The least bytes that the source and the target of each edge exchange for it.
    pub exchanged: Vec<[f64; 2]>,
    /// Whether all options exchange these.
    pub exchanges_alike: bool,
}

/// What a search for stages with degrees reads, by units that stages hold as a whole.
pub struct Model<'a> {
    pub costs: &'a StageCosts,
    /// The nodes of each unit.
    pub members: Vec<Vec<usize>>,
    pub degrees: Vec<TensorDegree>,
    /// The kinds of the nodes.
    pub kinds: Kinds,
    /// The edges from and to other units at each unit.
    pub incident: Vec<Vec<Incident>>,
    /// The least device time of each unit: time × tensor degree.
    pub work: Vec<f64>,
    /// The least bytes of each unit on all devices of its stage together.
    pub bytes: Vec<f64>,
    /// The least time of each unit.
    pub shortest: Vec<f64>,
    /// Bytes of one device.
    pub memory: f64,
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

/// What a stage of one tensor degree takes at least, in sums that grow with it.
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
    /// The model of a problem that asks for degrees, by units of these nodes. O(options + edges).
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
        let degree = |&degree: &usize| TensorDegree::new(costs, &members, degree);
        let degrees: Vec<TensorDegree> = costs.tensor_degrees.iter().map(degree).collect();
        let class = problem.spec.platform.accelerators.iter().find(|class| class.count > 0);
        let limit = class.and_then(|class| class.memory).map_or(f64::INFINITY, most_bytes);
        let devices = class.map_or(0, |class| class.count);
        let is_step = problem.spec.objective.microbatches().is_some();
        let least = |value: fn(usize, &Least) -> f64| {
            (0..members.len()).map(|unit| least_over(&degrees, unit, value)).collect::<Vec<_>>()
        };
        Self {
            work: least(|t, least| t as f64 * least.compute),
            bytes: least(|t, least| t as f64 * least.memory.lasting.of(1, 1)),
            shortest: least(|_, least| least.compute),
            costs,
            kinds: Kinds::new(costs),
            members,
            incident,
            memory: limit * (1.0 - ROUNDING),
            devices,
            parts: if is_step { devices } else { costs.microbatches.min(devices) },
            is_step,
            degrees,
        }
    }

    /// A value that no split is below: the devices' time together, and that of the parts of a batch; for a step also
    /// the way of a microbatch.
    pub fn bound(&self) -> f64 {
        let (work, shortest): (f64, f64) = (self.work.iter().sum(), self.shortest.iter().sum());
        let largest = (work / self.devices.max(1) as f64).max(shortest / self.parts.max(1) as f64);
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
        let with = |taken: Taken, stage: &Found| self.taken_before(&taken, stage.tensor, stage.data, stage.time);
        let Taken { once, more, .. } = stages.iter().fold(Taken::NOTHING, with);
        let largest = stages.iter().map(|stage| stage.time).fold(0.0, f64::max);
        if self.is_step { once + more } else { largest }
    }

    /// What stages take with one more before them, on `data` replicas of `tensor` devices, that takes so long for each
    /// sample.
    pub fn taken_before(&self, behind: &Taken, tensor: usize, data: usize, time: f64) -> Taken {
        let (parts, devices) = (behind.parts + data, behind.devices + tensor * data);
        let Taken { once, more, .. } = *behind;
        if !self.is_step {
            return Taken { parts, devices, once, more };
        }
        let others = (self.costs.microbatches - data) as f64 * time;
        Taken { parts, devices, once: once + data as f64 * time, more: more.max(others) }
    }

    /// The options of a node at the tensor degree of this index, each with its index among all of the node's.
    pub fn options(&self, t: usize, v: usize) -> impl Iterator<Item = (usize, &'a OptionCost)> {
        let degree = self.degrees[t].degree;
        let all = self.costs.options[v].iter().enumerate();
        all.filter(move |(_, option)| option.tensor_degree == degree)
    }

    /// What a stage takes that grows by `unit`, where `is_inside` holds for the units it had; `None` where that has no option
    /// of the tensor degree. O(degree).
    pub fn grown(&self, t: usize, sums: &Sums, unit: usize, is_inside: impl Fn(usize) -> bool) -> Option<Sums> {
        let degree = &self.degrees[t];
        let least = degree.units[unit]?;
        let mut moved = sums.moved;
        for at in &self.incident[unit] {
            let (own, others) = if at.leaves { (0, 1) } else { (1, 0) };
            let bytes = self.costs.edges[at.edge].bytes;
            moved += match is_inside(at.other) {
                true => -(bytes + degree.exchanged[at.edge][others]),
                false => bytes + degree.exchanged[at.edge][own],
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

/// The least value over the tensor degrees that have options of a unit; infinite where none has.
fn least_over(degrees: &[TensorDegree], unit: usize, value: impl Fn(usize, &Least) -> f64) -> f64 {
    let values = degrees.iter().filter_map(|t| Some(value(t.degree, t.units[unit].as_ref()?)));
    values.fold(f64::INFINITY, f64::min)
}

impl TensorDegree {
    fn new(costs: &StageCosts, members: &[Vec<usize>], degree: usize) -> Self {
        let mut exchanged = vec![[f64::INFINITY; 2]; costs.edges.len()];
        let mut exchanges_alike = true;
        for (edge, ends) in costs.edges.iter().enumerate() {
            for (end, v) in [ends.source, ends.target].into_iter().enumerate() {
                let own = || costs.options[v].iter().filter(|option| option.tensor_degree == degree);
                let least = own().map(|option| option.exchanged_for(edge)).fold(f64::INFINITY, f64::min);
                exchanges_alike &= own().all(|option| option.exchanged_for(edge) == least);
                exchanged[edge][end] = least;
            }
        }
        let units = members.iter().map(|nodes| Least::of_all(costs, nodes, degree)).collect();
        Self { degree, units, exchanged, exchanges_alike }
    }
}

impl Least {
    /// That of a unit of these nodes; `None` where one has no option of the degree.
    fn of_all(costs: &StageCosts, nodes: &[usize], degree: usize) -> Option<Self> {
        let all: Option<Vec<Self>> = nodes.iter().map(|&v| Self::of(costs, &costs.options[v], degree)).collect();
        all?.into_iter().reduce(|a, b| Self {
            compute: a.compute + b.compute,
            parameters: a.parameters + b.parameters,
            memory: a.memory.plus(&b.memory),
            fastest: a.fastest.zip(b.fastest).map(|(a, b)| a.plus(&b)),
        })
    }

    fn of(costs: &StageCosts, options: &[OptionCost], degree: usize) -> Option<Self> {
        let own = || options.iter().filter(move |option| option.tensor_degree == degree);
        let least = |amount: &dyn Fn(&OptionCost) -> f64| own().map(amount).fold(f64::INFINITY, f64::min);
        own().next()?;
        let (compute, parameters) = (least(&|o| o.compute), least(&|o| o.parameters));
        let is_fast = |o: &OptionCost| o.compute == compute && o.parameters == parameters;
        let exchanges_least = |o: &OptionCost| {
            own().all(|other| o.exchanged.iter().all(|&(edge, bytes)| bytes <= other.exchanged_for(edge)))
        };
        let fastest = own().filter(|o| is_fast(o) && exchanges_least(o)).map(|o| Memory::of(costs, o));
        let leanest = fastest.min_by(|a, b| {
            let key = |m: &Memory| (m.lasting.per_microbatch, m.lasting.fixed, m.lasting.shared, m.working);
            key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
        });
        Some(Self {
            compute,
            parameters,
            memory: Memory {
                lasting: StageBytes {
                    per_microbatch: least(&|o| costs.bytes(o).per_microbatch),
                    fixed: least(&|o| costs.bytes(o).fixed),
                    shared: least(&|o| costs.bytes(o).shared),
                },
                working: least(&|o| o.working),
            },
            fastest: leanest,
        })
    }
}
