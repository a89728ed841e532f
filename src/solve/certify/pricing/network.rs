//! The sets that one device can hold, as variables of few values with local costs.
//!
//! Each unit is a variable that says where it lies: outside or inside, or, where sets have to be convex, before,
//! inside or after, which may not fall along an order edge. A set is convex exactly when such labels exist: what lies
//! before it and what lies before or in it are two ideals. A net of few pins is one factor over them. A wide net gets a
//! *hub*, a variable that says whether the net lies outside, inside or is cut: then each pin has a factor with the hub
//! alone, and the graph stays narrow however many pins there are.

use crate::cost::Piece;
use crate::graph::order_graph::OrderGraph;
use crate::preprocess::{KindCosts, Net, Reduced, Unordered, joint};
use crate::problem::{fits, most_bytes};

/// The value of a unit's variable that puts it into the set.
pub const INSIDE: u8 = 1;

/// What is worth trying for the most pins of a net without a hub.
pub const MOST_PINS: [usize; 4] = [2, 3, 4, 6];

/// Values of a hub: its net lies outside, inside, or is cut.
const HUB_CUT: u8 = 2;

/// One constraint on a device's consumption: a piece of its load, or its memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    /// Consumption of each unit inside.
    pub unit: Vec<f64>,
    /// Consumption of each net cut, its source inside.
    pub net_out: Vec<f64>,
    /// Consumption of each net cut, its source outside.
    pub net_in: Vec<f64>,
    /// A fixed capacity; `None` where it is the target load.
    pub capacity: Option<f64>,
}

impl Resource {
    /// What no set consumes.
    pub fn unused(units: &Reduced) -> Self {
        let nets = vec![0.0; units.nets.len()];
        Self { unit: vec![0.0; units.unit_count()], net_out: nets.clone(), net_in: nets, capacity: None }
    }

    /// A piece of the load of a device of this kind.
    pub fn of_piece(units: &Reduced, kind: &KindCosts, piece: &Piece) -> Self {
        let terms = |u: usize| kind.terms(u).map(|terms| joint(&terms)).unwrap_or_default();
        Self {
            unit: (0..units.unit_count()).map(|u| piece.value(&terms(u))).collect(),
            net_out: kind.transfers.iter().map(|transfer| piece.comm_out * transfer).collect(),
            net_in: kind.transfers.iter().map(|transfer| piece.comm_in * transfer).collect(),
            capacity: None,
        }
    }

    /// Everything that limits the sets of a device of this kind.
    pub fn of(units: &Reduced, kind: &KindCosts) -> Vec<Self> {
        let mut all: Vec<Self> = kind.pieces.iter().map(|piece| Self::of_piece(units, kind, piece)).collect();
        if let Some(limit) = kind.memory_limit
            && !fits(kind.memory.iter().sum(), Some(limit))
        {
            let nets = vec![0.0; kind.transfers.len()];
            let memory = kind.memory.clone();
            all.push(Self { unit: memory, net_out: nets.clone(), net_in: nets, capacity: Some(most_bytes(limit)) });
        }
        all
    }
}

/// A local cost: the consumption of each joint value of its variables; `None` forbids it.
#[derive(Debug, Clone)]
pub struct Factor<const D: usize> {
    /// The variables. The first varies slowest in `costs`.
    pub scope: Vec<usize>,
    /// Consumption of each resource by joint value.
    pub costs: Vec<Option<[f64; D]>>,
}

/// Variables and factors. The variables of the units come first, in their order.
#[derive(Debug, Clone)]
pub struct Network<const D: usize> {
    /// How many values each variable has.
    pub domains: Vec<u8>,
    /// The local costs.
    pub factors: Vec<Factor<D>>,
    /// How many units there are.
    pub units: usize,
}

impl<const D: usize> Network<D> {
    /// The sets of a device that `can_hold` some units and consumes `resources`, of which there are `D`. Nets of more
    /// than `most_pins` pins get a hub.
    pub fn new(
        unordered: &Unordered,
        can_hold: &dyn Fn(usize) -> bool,
        resources: &[Resource],
        most_pins: usize,
    ) -> Self {
        let units = &unordered.units;
        let values = if unordered.order.is_some() { 3 } else { 2 };
        let mut network =
            Self { domains: vec![values; units.unit_count()], factors: Vec::new(), units: units.unit_count() };
        for u in 0..units.unit_count() {
            let inside = can_hold(u).then(|| std::array::from_fn(|r| resources[r].unit[u]));
            network.add(vec![u], |x| if x[0] == INSIDE { inside } else { Some([0.0; D]) });
        }
        if let Some(order) = &unordered.order {
            network.add_order(order);
        }
        for (e, net) in units.nets.iter().enumerate() {
            let [cut_out, cut_in]: [[f64; D]; 2] =
                [std::array::from_fn(|r| resources[r].net_out[e]), std::array::from_fn(|r| resources[r].net_in[e])];
            if cut_out.iter().chain(&cut_in).any(|&cost| cost > 0.0) {
                network.add_net(net, cut_out, cut_in, most_pins);
            }
        }
        network
    }

    /// Adds the factor over `scope` whose cost of a joint value is `cost`.
    pub fn add(&mut self, scope: Vec<usize>, cost: impl Fn(&[u8]) -> Option<[f64; D]>) {
        let count: usize = scope.iter().map(|&v| usize::from(self.domains[v])).product();
        let mut values = vec![0; scope.len()];
        let mut costs = Vec::with_capacity(count);
        for _ in 0..count {
            costs.push(cost(&values));
            for (value, &v) in values.iter_mut().zip(&scope).rev() {
                *value += 1;
                if *value < self.domains[v] {
                    break;
                }
                *value = 0;
            }
        }
        self.factors.push(Factor { scope, costs });
    }

    fn add_variable(&mut self, values: u8) -> usize {
        self.domains.push(values);
        self.domains.len() - 1
    }

    /// Labels that may not fall along order edges. A unit of several order nodes gets a variable for each.
    fn add_order(&mut self, order: &OrderGraph) {
        let mut nodes_of = vec![0; self.units];
        order.group_of.iter().for_each(|&group| nodes_of[group] += 1);
        let mut variable = Vec::with_capacity(order.node_count);
        for &group in &order.group_of {
            variable.push(if nodes_of[group] == 1 { group } else { self.add_variable(3) });
        }
        for (&v, &group) in variable.iter().zip(&order.group_of).filter(|(v, group)| v != group) {
            self.add(vec![group, v], |x| ((x[0] == INSIDE) == (x[1] == INSIDE)).then_some([0.0; D]));
        }
        for &(a, b) in &order.edges {
            self.add(vec![variable[a], variable[b]], |x| (x[0] <= x[1]).then_some([0.0; D]));
        }
    }

    fn add_net(&mut self, net: &Net, cut_out: [f64; D], cut_in: [f64; D], most_pins: usize) {
        let pins: Vec<usize> = net.pins.iter().map(|&u| u as usize).collect();
        let source = net.source as usize;
        if pins.len() <= most_pins {
            let at = pins.iter().position(|&u| u == source).unwrap_or_default();
            self.add(pins, |x| {
                let inside = x.iter().filter(|&&value| value == INSIDE).count();
                Some(match inside {
                    0 => [0.0; D],
                    all if all == x.len() => [0.0; D],
                    _ if x[at] == INSIDE => cut_out,
                    _ => cut_in,
                })
            });
            return;
        }
        let hub = self.add_variable(HUB_CUT + 1);
        for u in pins {
            self.add(vec![hub, u], |x| {
                let inside = x[1] == INSIDE;
                let paid = match (u == source, inside) {
                    (false, _) => [0.0; D],
                    (true, true) => cut_out,
                    (true, false) => cut_in,
                };
                if x[0] == HUB_CUT { Some(paid) } else { ((x[0] == INSIDE) == inside).then_some([0.0; D]) }
            });
        }
    }
}
