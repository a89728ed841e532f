//! The costs of stages by unit: what a search adds up as a stage grows by one node after the other.

use crate::cost::{OptionCost, StageCosts};
use crate::problem::{Problem, most_bytes};

/// Rounding of sums, as a part of them: what is that near to a limit counts as within it, or not, for everybody alike.
const ROUNDING: f64 = 1e-13;

/// The least of each amount over a node's options of one tensor degree.
#[derive(Debug, Clone, Copy)]
pub struct Least {
    pub compute: f64,
    pub parameters: f64,
    pub per_microbatch: f64,
    pub memory: f64,
    /// An option that takes the least compute, parameters and exchange all at once, where there is one.
    pub fastest: Option<usize>,
}

/// The options of one tensor degree.
pub struct TensorDegree {
    pub degree: usize,
    /// The least of each unit; `None` where it has no option of this degree.
    pub units: Vec<Option<Least>>,
    /// The least bytes that the source and the target of each edge exchange for it.
    exchanged: Vec<[f64; 2]>,
}

/// What a search for stages with degrees reads. Units are the nodes in some order.
pub struct Model<'a> {
    pub costs: &'a StageCosts,
    /// The node of each unit.
    pub node_of: Vec<usize>,
    pub degrees: Vec<TensorDegree>,
    /// The edges at each unit, each with the unit at its other end and whether it leads there.
    pub incident: Vec<Vec<Incident>>,
    /// The least device time of each unit: time × tensor degree.
    pub work: Vec<f64>,
    /// Bytes of one device.
    pub memory: f64,
    /// How many devices there are.
    pub devices: usize,
    /// The most that the data degrees may add up to.
    pub parts: usize,
}

/// An edge at a unit.
#[derive(Debug, Clone, Copy)]
pub struct Incident {
    pub edge: usize,
    pub other: usize,
    /// Whether the unit is its source.
    pub leaves: bool,
}

/// What a stage of one tensor degree takes at least, in sums that grow with it.
#[derive(Debug, Clone, Copy)]
pub struct Sums {
    /// Whether all of its units have options of the degree.
    pub is_possible: bool,
    /// Whether each has one that is fastest in every respect.
    pub is_simple: bool,
    pub compute: f64,
    /// Bytes over all edges that cross its boundary, with what is exchanged for them, in one direction.
    pub moved: f64,
    pub parameters: f64,
    /// The least memory, whatever the options.
    pub per_microbatch: f64,
    pub memory: f64,
    /// The memory of the fastest options.
    pub fastest_per_microbatch: f64,
    pub fastest_memory: f64,
}

impl Sums {
    /// Nothing.
    pub const NONE: Self = Self {
        is_possible: true,
        is_simple: true,
        compute: 0.0,
        moved: 0.0,
        parameters: 0.0,
        per_microbatch: 0.0,
        memory: 0.0,
        fastest_per_microbatch: 0.0,
        fastest_memory: 0.0,
    };

    /// The least bytes with `y` microbatches in flight.
    pub fn least_bytes(&self, y: usize) -> f64 {
        self.per_microbatch * y as f64 + self.memory
    }

    /// The bytes of the fastest options with `y` microbatches in flight.
    pub fn fastest_bytes(&self, y: usize) -> f64 {
        self.fastest_per_microbatch * y as f64 + self.fastest_memory
    }
}

impl<'a> Model<'a> {
    /// The model of a problem that asks for degrees, by units in this order of the nodes. O(options + edges).
    pub fn new(problem: &Problem, costs: &'a StageCosts, node_of: Vec<usize>) -> Self {
        let mut unit_of = vec![0; node_of.len()];
        node_of.iter().enumerate().for_each(|(unit, &v)| unit_of[v] = unit);
        let mut incident = vec![Vec::new(); node_of.len()];
        for (edge, ends) in costs.edges.iter().enumerate() {
            let (source, target) = (unit_of[ends.source], unit_of[ends.target]);
            incident[source].push(Incident { edge, other: target, leaves: true });
            incident[target].push(Incident { edge, other: source, leaves: false });
        }
        let degree = |&degree: &usize| TensorDegree::new(costs, &node_of, degree);
        let degrees: Vec<TensorDegree> = costs.tensor_degrees.iter().map(degree).collect();
        let class = problem.spec.platform.accelerators.iter().find(|class| class.count > 0);
        let limit = class.and_then(|class| class.memory).map_or(f64::INFINITY, most_bytes);
        let devices = class.map_or(0, |class| class.count);
        let work = (0..node_of.len()).map(|unit| least_over(&degrees, unit, |t, least| t as f64 * least.compute));
        Self {
            work: work.collect(),
            costs,
            node_of,
            incident,
            memory: limit * (1.0 - ROUNDING),
            devices,
            parts: costs.microbatches.min(devices),
            degrees,
        }
    }

    /// A value that no split is below: the devices' time together, and that of the parts of a batch.
    pub fn bound(&self) -> f64 {
        let units = 0..self.node_of.len();
        let shortest: f64 = units.map(|unit| least_over(&self.degrees, unit, |_, least| least.compute)).sum();
        let work: f64 = self.work.iter().sum();
        (work / self.devices.max(1) as f64).max(shortest / self.parts.max(1) as f64) * (1.0 - ROUNDING)
    }

    /// The options of a unit at the tensor degree of this index, each with its index among all of the node's.
    pub fn options(&self, t: usize, unit: usize) -> impl Iterator<Item = (usize, &'a OptionCost)> {
        let degree = self.degrees[t].degree;
        let all = self.costs.options[self.node_of[unit]].iter().enumerate();
        all.filter(move |(_, option)| option.tensor_degree == degree)
    }

    /// What a stage takes that grows by `unit`, where `is_inside` holds for the units it had. O(degree).
    pub fn grown(&self, t: usize, sums: &Sums, unit: usize, is_inside: impl Fn(usize) -> bool) -> Sums {
        let degree = &self.degrees[t];
        let Some(least) = degree.units[unit] else { return Sums { is_possible: false, ..*sums } };
        let mut moved = sums.moved;
        for at in &self.incident[unit] {
            let (own, others) = if at.leaves { (0, 1) } else { (1, 0) };
            let bytes = self.costs.edges[at.edge].bytes;
            moved += match is_inside(at.other) {
                true => -(bytes + degree.exchanged[at.edge][others]),
                false => bytes + degree.exchanged[at.edge][own],
            };
        }
        let fastest = least.fastest.map(|option| &self.costs.options[self.node_of[unit]][option]);
        Sums {
            is_possible: sums.is_possible,
            is_simple: sums.is_simple && fastest.is_some(),
            compute: sums.compute + least.compute,
            moved,
            parameters: sums.parameters + least.parameters,
            per_microbatch: sums.per_microbatch + least.per_microbatch,
            memory: sums.memory + least.memory,
            fastest_per_microbatch: sums.fastest_per_microbatch + fastest.map_or(0.0, |o| o.memory_per_microbatch),
            fastest_memory: sums.fastest_memory + fastest.map_or(0.0, |o| o.memory),
        }
    }

    /// The time of a stage that computes, moves in one direction and synchronises so much, on `d` replicas.
    #[inline]
    pub fn time(&self, compute: f64, moved: f64, parameters: f64, d: usize) -> f64 {
        let (d, batch) = (d as f64, self.costs.microbatches as f64);
        compute / d + (2.0 * moved / d + 4.0 * (d - 1.0) / d * parameters / batch) / self.costs.bandwidth
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
    fn new(costs: &StageCosts, node_of: &[usize], degree: usize) -> Self {
        let mut exchanged = vec![[f64::INFINITY; 2]; costs.edges.len()];
        for (edge, ends) in costs.edges.iter().enumerate() {
            for (end, v) in [ends.source, ends.target].into_iter().enumerate() {
                let own = costs.options[v].iter().filter(|option| option.tensor_degree == degree);
                exchanged[edge][end] = own.map(|option| option.exchanged_for(edge)).fold(f64::INFINITY, f64::min);
            }
        }
        let units = node_of.iter().map(|&v| Least::of(&costs.options[v], degree)).collect();
        Self { degree, units, exchanged }
    }
}

impl Least {
    fn of(options: &[OptionCost], degree: usize) -> Option<Self> {
        let own = || options.iter().enumerate().filter(move |(_, option)| option.tensor_degree == degree);
        let least = |amount: fn(&OptionCost) -> f64| own().map(|(_, o)| amount(o)).fold(f64::INFINITY, f64::min);
        own().next()?;
        let (compute, parameters) = (least(|o| o.compute), least(|o| o.parameters));
        let is_fast = |o: &OptionCost| o.compute == compute && o.parameters == parameters;
        let exchanges_least = |o: &OptionCost| {
            own().all(|(_, other)| o.exchanged.iter().all(|&(edge, bytes)| bytes <= other.exchanged_for(edge)))
        };
        let fastest = own().filter(|(_, o)| is_fast(o) && exchanges_least(o));
        let leanest = fastest.min_by(|(_, a), (_, b)| {
            let key = |o: &OptionCost| (o.memory_per_microbatch, o.memory);
            key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
        });
        Some(Self {
            compute,
            parameters,
            per_microbatch: least(|o| o.memory_per_microbatch),
            memory: least(|o| o.memory),
            fastest: leanest.map(|(index, _)| index),
        })
    }
}
