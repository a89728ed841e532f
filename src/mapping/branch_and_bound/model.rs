//! A mapping problem as the search sees it: for each stage, what bounds the time of its copies.

use std::rc::Rc;

use super::classes::Classes;
use super::relation::{Form, Relation, Weights};
use crate::cost::{Piece, Synchronisation, Terms};
use crate::mapping::MappingProblem;
use crate::mapping::local::{LocalCost, Traffic};
use crate::small_set::Set;
use crate::solve::SearchContext;

/// What a stage's copy pays for the link to its neighbour: the relation's cost times the scale.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// Index of the relation.
    pub relation: usize,
    /// What its costs are multiplied by.
    pub scale: f64,
}

/// One piece of a stage's load: a sum over its own device and the links to its neighbours.
#[derive(Debug)]
pub struct PieceRow {
    /// By device.
    pub compute: Vec<f64>,
    /// Neighbour, as an index into [`StageRow::neighbours`], and link.
    pub links: Vec<(usize, Link)>,
}

/// The links that a copy's all-reduce waits for, seen from it.
#[derive(Debug, Clone, Copy)]
pub struct Ring {
    /// The link to the next replica.
    pub next: Link,
    /// The link from the previous replica.
    pub previous: Link,
}

/// What bounds the time of a stage's copies.
#[derive(Debug)]
pub struct StageRow<const W: usize> {
    /// The stages it shares messages with.
    pub neighbours: Vec<usize>,
    /// The pieces whose maximum is the load.
    pub pieces: Vec<PieceRow>,
    /// The all-reduce, where it takes time.
    pub ring: Option<Ring>,
    /// The devices with enough memory.
    pub fits: Set<W>,
}

impl<const W: usize> StageRow<W> {
    /// The row where the ring takes this time on all devices.
    fn with_ring(&self, time: f64) -> Self {
        let piece = |piece: &PieceRow| PieceRow {
            compute: piece.compute.iter().map(|compute| compute + time).collect(),
            links: piece.links.clone(),
        };
        Self {
            neighbours: self.neighbours.clone(),
            pieces: self.pieces.iter().map(piece).collect(),
            ring: None,
            fits: self.fits,
        }
    }
}

/// The problem, with its costs sorted.
#[derive(Debug)]
pub struct Model<'a, const W: usize> {
    /// The problem.
    pub problem: &'a MappingProblem,
    /// By stage.
    pub stages: Vec<StageRow<W>>,
    /// The costs that links refer to.
    pub relations: Rc<[Relation<W>]>,
    /// What the links have in common.
    pub form: Form,
    /// The devices that exclude each other, where these are more than every device itself.
    pub classes: Option<Classes<W>>,
}

impl<'a, const W: usize> Model<'a, W> {
    /// The model of `problem`. O(D² log D) for each different cost of links.
    pub fn new(problem: &'a MappingProblem, cx: &SearchContext) -> Option<Self> {
        let (cost, form) = (LocalCost::new(problem), Form::of(&problem.topology));
        let mut builder =
            Builder { problem, cost, form, cx, is_stopped: false, known: Vec::new(), relations: Vec::new() };
        let stages = (0..problem.stages.stages.len()).map(|stage| builder.stage(stage)).collect();
        let Builder { relations, form, is_stopped, .. } = builder;
        (!is_stopped).then(|| Self { problem, stages, relations: relations.into(), form, classes: None })
    }

    /// The same where devices exclude each other, for a `problem` with another number of replicas, whose rings take these
    /// times by stage wherever they are.
    pub fn quotient<'q>(&self, problem: &'q MappingProblem, classes: Classes<W>, rings: &[f64]) -> Model<'q, W> {
        let stages = self.stages.iter().zip(rings).map(|(row, ring)| row.with_ring(*ring)).collect();
        Model { problem, stages, relations: Rc::clone(&self.relations), form: self.form, classes: Some(classes) }
    }

    /// Number of copies of each stage.
    pub fn replicas(&self) -> usize {
        self.problem.replicas
    }

    /// Number of devices.
    pub fn devices(&self) -> usize {
        self.problem.topology.len()
    }

    /// Number of copies.
    pub fn copies(&self) -> usize {
        self.problem.copies()
    }

    /// Whether the all-reduce is added to the load.
    pub fn adds_ring(&self) -> bool {
        self.problem.cost.synchronisation == Synchronisation::Added
    }
}

struct Builder<'a, const W: usize> {
    problem: &'a MappingProblem,
    cost: LocalCost<'a>,
    form: Form,
    cx: &'a SearchContext,
    /// Whether a limit came first; then some links are missing.
    is_stopped: bool,
    known: Vec<Weights>,
    relations: Vec<Relation<W>>,
}

impl<const W: usize> Builder<'_, W> {
    fn stage(&mut self, stage: usize) -> StageRow<W> {
        let traffic = self.cost.traffic(stage).to_vec();
        let pieces = &self.problem.cost.pieces;
        let devices = 0..self.problem.topology.len();
        StageRow {
            neighbours: traffic.iter().map(|traffic| traffic.stage).collect(),
            pieces: pieces.iter().map(|piece| self.piece(stage, piece, &traffic)).collect(),
            ring: self.ring(stage),
            fits: devices.filter(|&device| self.problem.fits(stage, device)).collect(),
        }
    }

    fn piece(&mut self, stage: usize, piece: &Piece, traffic: &[Traffic]) -> PieceRow {
        let compute = self.problem.stages.stages[stage].compute();
        let time = |speed: f64| piece.value(&Terms { compute: compute / speed, ..Terms::default() });
        let sent = |bytes: f64| if bytes > 0.0 { 1.0 } else { 0.0 };
        let mut links = Vec::new();
        for (index, &Traffic { out, back, .. }) in traffic.iter().enumerate() {
            let weights = Weights {
                bytes_out: piece.comm_out * out,
                bytes_in: piece.comm_in * back,
                latency_out: piece.comm_out * sent(out),
                latency_in: piece.comm_in * sent(back),
            };
            links.extend(self.link(weights).map(|link| (index, link)));
        }
        PieceRow { compute: self.problem.topology.devices.iter().map(|device| time(device.speed)).collect(), links }
    }

    fn ring(&mut self, stage: usize) -> Option<Ring> {
        let replicas = self.problem.replicas as f64;
        if !self.cost.has_rings() {
            return None;
        }
        let steps = 2.0 * (replicas - 1.0);
        let bytes = steps * self.problem.stages.stages[stage].parameter_bytes / replicas;
        let next = Weights { bytes_out: bytes, bytes_in: 0.0, latency_out: steps, latency_in: 0.0 };
        let previous = Weights { bytes_out: 0.0, bytes_in: bytes, latency_out: 0.0, latency_in: steps };
        Some(Ring { next: self.link(next)?, previous: self.link(previous)? })
    }

    fn link(&mut self, weights: Weights) -> Option<Link> {
        if self.is_stopped || weights.bytes_out <= 0.0 && weights.bytes_in <= 0.0 {
            return None;
        }
        let (weights, scale) = weights.normalised(&self.form);
        if let Some(relation) = self.known.iter().position(|known| *known == weights) {
            return Some(Link { relation, scale });
        }
        let relation = Relation::new(&self.problem.topology, &weights, self.cx);
        self.is_stopped |= relation.is_none();
        self.relations.push(relation?);
        self.known.push(weights);
        Some(Link { relation: self.relations.len() - 1, scale })
    }
}
