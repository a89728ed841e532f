//! Column generation at a target.

use super::master::{Master, Row, Use, weights};
use super::plan::Plan;
use super::pricing::{Pattern, Priced, Query, price};
use crate::solve::SearchContext;

/// What is known of a target.
#[derive(Debug, Clone, PartialEq)]
pub enum Packed {
    /// Not even fractions of pipelines find room, which these values of rows show.
    Refuted(Vec<f64>),
    /// These fractions of pipelines do.
    Open(Vec<(f64, Pattern)>),
    /// A limit came first.
    Unknown,
}

/// What is to be packed.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// No copy may take longer.
    pub limit: f64,
    /// How many pipelines.
    pub count: usize,
    /// What they may use.
    pub rows: &'a [Row],
    /// Whether each by itself has to keep to that, which refutes nothing.
    pub is_strict: bool,
}

/// Column generation over a growing pool of pipelines.
pub struct Generation {
    /// How pipelines are priced.
    plan: Plan,
    /// Pipelines, each with the least that its slowest copy takes.
    pool: Vec<(f64, Pattern)>,
    /// How much more may be done, in labels tried.
    pub effort: u64,
}

/// Room for rounding in comparisons of values.
pub const MARGIN: f64 = 1e-9;

/// How much longer a program takes that is solved from scratch.
const BUILD: usize = 5;

/// Labels of a step of pricing, in one try after the other.
const WIDTHS: [usize; 3] = [300, 5_000, 400_000];

impl Generation {
    /// No pipeline yet.
    pub fn new(plan: Plan) -> Self {
        Self { plan, pool: Vec::new(), effort: u64::MAX }
    }

    /// Takes up a pipeline; false where it is known.
    pub fn add(&mut self, pattern: &Pattern) -> bool {
        let is_new = self.pool.iter().all(|(_, known)| known != pattern);
        if is_new {
            self.pool.push((self.plan.load(&pattern.classes), pattern.clone()));
        }
        is_new
    }

    /// The known pipelines that pricing may find. Some may use more than there is.
    fn fitting<'a>(&'a self, order: &'a Order) -> impl Iterator<Item = &'a Pattern> {
        let fits = |pattern: &Pattern| {
            order.rows.iter().all(|row| row.uses(pattern) <= row.most || row.most > 0 && !order.is_strict)
        };
        self.pool
            .iter()
            .filter(move |(load, pattern)| *load <= order.limit && fits(pattern))
            .map(|(_, pattern)| pattern)
    }

    /// Packs fractions of pipelines.
    pub fn pack(&mut self, order: Order, cx: &SearchContext) -> Packed {
        self.charge(BUILD * order.rows.len());
        let Some(mut master) = Master::new(order.rows, self.fitting(&order)) else { return Packed::Unknown };
        while master.count() < order.count as f64 * (1.0 - MARGIN) {
            if cx.should_stop() || self.effort == 0 {
                return Packed::Unknown;
            }
            let values = master.values();
            let worth: f64 = values.iter().zip(order.rows).map(|(value, row)| value * row.most as f64).sum();
            let mut found = Vec::new();
            let widths = if order.is_strict { &WIDTHS[..2] } else { &WIDTHS };
            for &width in widths {
                let Priced { patterns, is_exact, effort } = self.price(&order, &values, 1.0 - MARGIN, width, cx);
                self.effort = self.effort.saturating_sub(effort);
                self.charge(order.rows.len());
                let least = patterns.first().map_or(1.0 - MARGIN, |(value, _)| *value);
                if is_exact && worth < order.count as f64 * least * (1.0 - MARGIN) {
                    return Packed::Refuted(values);
                }
                found = patterns.into_iter().map(|(_, pattern)| pattern).filter(|pattern| self.add(pattern)).collect();
                if !found.is_empty() || is_exact {
                    break;
                }
            }
            if found.is_empty() && order.is_strict {
                break;
            }
            if found.is_empty() {
                return Packed::Unknown;
            }
            for pattern in &found {
                master = match master.add(pattern) {
                    Some(master) => master,
                    None => return Packed::Unknown,
                };
            }
        }
        self.charge(BUILD * order.rows.len());
        let fitting: Vec<&Pattern> = self.fitting(&order).collect();
        match weights(order.rows, order.count, &fitting) {
            Some(weights) => {
                let used = weights.into_iter().zip(fitting).filter(|(weight, _)| *weight > MARGIN);
                Packed::Open(used.map(|(weight, pattern)| (weight, pattern.clone())).collect())
            }
            None => Packed::Unknown,
        }
    }

    /// Solving a program takes about as long as labels by the number of its rows and pipelines.
    fn charge(&mut self, rows: usize) {
        self.effort = self.effort.saturating_sub((rows * self.pool.len()) as u64);
    }

    /// Whether these values of the rows refute an order.
    pub fn refutes(&mut self, order: &Order, values: &[f64], cx: &SearchContext) -> bool {
        let worth: f64 = values.iter().zip(order.rows).map(|(value, row)| value * row.most as f64).sum();
        // What is worth nothing is worth too little, even if that is all there is.
        let cutoff = (worth / order.count as f64 * (1.0 + 2.0 * MARGIN)).max(f64::MIN_POSITIVE);
        let priced = self.price(order, values, cutoff, WIDTHS[2], cx);
        self.effort = self.effort.saturating_sub(priced.effort);
        priced.is_exact && priced.patterns.is_empty()
    }

    fn price(&self, order: &Order, values: &[f64], cutoff: f64, width: usize, cx: &SearchContext) -> Priced {
        let classes = order.rows.iter().filter(|row| matches!(row.what, Use::Room(_))).count();
        let mut room = vec![0; classes];
        let mut profit = vec![vec![0.0; classes]; self.plan.steps.len()];
        for (row, &value) in order.rows.iter().zip(values) {
            match row.what {
                Use::Room(class) => {
                    room[class] = row.most;
                    profit.iter_mut().for_each(|profit| profit[class] += value);
                }
                Use::Inside(stage, class) => profit[stage][class] += value,
                // No stage by itself uses it, and left out it refutes less.
                Use::AtLeast(..) => (),
                Use::Outside(stage, class) => {
                    let others = profit[stage].iter_mut().enumerate().filter(|(other, _)| *other != class);
                    others.for_each(|(_, profit)| *profit += value);
                }
            }
        }
        price(
            &self.plan,
            &Query {
                profit: &profit,
                room: &room,
                limit: order.limit,
                cutoff,
                is_strict: order.is_strict,
                width,
                effort: self.effort,
                cx,
            },
        )
    }
}
