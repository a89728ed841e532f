//! What the replicas of a stage may be: so many devices of one class of accelerators, and what units take there.

use crate::cost::{OptionCost, StageBytes, StageCosts};

/// The least of each amount over a unit's options of one shape.
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

    pub fn plus(&self, other: &Self) -> Self {
        Self { lasting: self.lasting.plus(&other.lasting), working: self.working.max(other.working) }
    }

    /// All of it, of `d` replicas with so many microbatches in flight.
    pub fn bytes(&self, in_flight: usize, d: usize) -> f64 {
        self.lasting.of(in_flight, d) + self.working
    }
}

/// The devices of a class of accelerators.
pub struct Fleet {
    /// The class, by its index in the platform.
    pub class: usize,
    pub count: usize,
    /// Bytes of one.
    pub memory: f64,
    /// How much of the work one does, as a part of what the fastest does. Whatever the weights, so weighed the work of a split is
    /// no more than that of the devices within its time; these ask for the most.
    pub weight: f64,
}

/// What devices must be left for some units.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// How many of weight 1.
    pub devices: f64,
    /// Bytes of all together.
    pub bytes: f64,
}

/// A tensor degree on accelerators of one class.
pub struct Shape {
    pub tensor: usize,
    /// The class, by its index in the platform.
    pub class: usize,
    /// The same, by its index among those that have devices.
    pub fleet: usize,
    /// Bytes of one device.
    pub memory: f64,
    /// The weight of its devices together.
    pub weight: f64,
    /// The least of each unit; `None` where it has no option here.
    pub units: Vec<Option<Least>>,
    /// The least bytes that the source and the target of each edge exchange for it.
    pub exchanged: Vec<[f64; 2]>,
    /// Whether all options exchange these.
    pub exchanges_alike: bool,
}

impl Shape {
    /// The shape of so many devices of a fleet, for units of these nodes. O(options · edges at a node).
    pub fn new(costs: &StageCosts, members: &[Vec<usize>], (fleet, of): (usize, &Fleet), tensor: usize) -> Self {
        let mut exchanged = vec![[f64::INFINITY; 2]; costs.edges.len()];
        let mut exchanges_alike = true;
        for (edge, ends) in costs.edges.iter().enumerate() {
            for (end, v) in [ends.source, ends.target].into_iter().enumerate() {
                let own = || costs.options[v].iter().filter(|option| option.is_of(of.class, tensor));
                let least = own().map(|option| option.exchanged_for(edge)).fold(f64::INFINITY, f64::min);
                exchanges_alike &= own().all(|option| option.exchanged_for(edge) == least);
                exchanged[edge][end] = least;
            }
        }
        let units = members.iter().map(|nodes| Least::of_all(costs, nodes, (of.class, tensor))).collect();
        Self {
            tensor,
            class: of.class,
            fleet,
            memory: of.memory,
            weight: tensor as f64,
            units,
            exchanged,
            exchanges_alike,
        }
    }

    /// The least working memory of a device, which holds a unit at least.
    pub fn least_working(&self) -> f64 {
        let workings = self.units.iter().flatten().map(|least| least.memory.working);
        workings.reduce(f64::min).unwrap_or(0.0)
    }
}

impl Least {
    /// That of a unit of these nodes; `None` where one has no option there.
    fn of_all(costs: &StageCosts, nodes: &[usize], at: (usize, usize)) -> Option<Self> {
        let all: Option<Vec<Self>> = nodes.iter().map(|&v| Self::of(costs, &costs.options[v], at)).collect();
        all?.into_iter().reduce(|a, b| Self {
            compute: a.compute + b.compute,
            parameters: a.parameters + b.parameters,
            memory: a.memory.plus(&b.memory),
            fastest: a.fastest.zip(b.fastest).map(|(a, b)| a.plus(&b)),
        })
    }

    fn of(costs: &StageCosts, options: &[OptionCost], (class, tensor): (usize, usize)) -> Option<Self> {
        let own = || options.iter().filter(move |option| option.is_of(class, tensor));
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
