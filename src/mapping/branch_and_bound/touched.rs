//! Which copies decisions were about, and which of the others are interchangeable.

use super::model::Model;

/// What makes replicas differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ties {
    /// Messages alone: pipelines are interchangeable.
    Pipelines,
    /// All-reduce alone: each stage's ring may be turned by itself.
    Rings,
    /// Both: only all rings at once may be turned.
    Both,
}

/// The copies that decisions were about.
#[derive(Debug)]
pub struct Touched {
    ties: Ties,
    /// Whether rings may be turned over.
    flips: bool,
    replicas: usize,
    /// By copy: how many decisions were about it.
    copies: Vec<u32>,
    /// By replica.
    pipelines: Vec<u32>,
    /// By stage.
    rings: Vec<u32>,
    total: u32,
    all: Vec<usize>,
    /// The replicas that no decision was about.
    rest: Vec<usize>,
}

impl Touched {
    /// No decision so far.
    pub fn new<const W: usize>(model: &Model<W>) -> Self {
        let has_ring = model.stages.iter().any(|row| row.ring.is_some());
        let ties = match (has_ring, model.problem.cost.counted.messages()) {
            (true, true) => Ties::Both,
            (true, false) => Ties::Rings,
            (false, _) => Ties::Pipelines,
        };
        let replicas = model.replicas();
        Self {
            ties,
            flips: model.form.symmetric,
            replicas,
            copies: vec![0; model.copies()],
            pipelines: vec![0; replicas],
            rings: vec![0; model.stages.len()],
            total: 0,
            all: (0..replicas).collect(),
            rest: (0..replicas).collect(),
        }
    }

    /// Takes note of a decision about `copy`.
    pub fn add(&mut self, copy: usize) {
        self.copies[copy] += 1;
        self.pipelines[copy % self.replicas] += 1;
        self.rings[copy / self.replicas] += 1;
        self.total += 1;
        self.update();
    }

    /// Takes back a decision about `copy`.
    pub fn remove(&mut self, copy: usize) {
        self.copies[copy] -= 1;
        self.pipelines[copy % self.replicas] -= 1;
        self.rings[copy / self.replicas] -= 1;
        self.total -= 1;
        self.update();
    }

    fn update(&mut self) {
        self.rest.clear();
        self.rest.extend((0..self.replicas).filter(|&replica| self.pipelines[replica] == 0));
    }

    /// The replicas of the copy's stage, itself among them, whose domains are equal for symmetry: where they are not
    /// this one alone, only the first of them need be propagated.
    pub fn like(&self, copy: usize) -> &[usize] {
        let (stage, replica) = (copy / self.replicas, copy % self.replicas);
        match self.ties {
            Ties::Pipelines if self.pipelines[replica] == 0 => &self.rest,
            Ties::Rings if self.rings[stage] == 0 => &self.all,
            Ties::Both if self.total == 0 => &self.all,
            _ => &self.all[replica..=replica],
        }
    }

    /// The copies to which symmetries of the replicas, those that move no touched copy, take `copy`; itself among them.
    pub fn images(&self, copy: usize) -> Vec<usize> {
        let (stage, replica) = (copy / self.replicas, copy % self.replicas);
        let is_touched = |replica: usize| match self.ties {
            Ties::Rings => self.copies[stage * self.replicas + replica] > 0,
            Ties::Pipelines | Ties::Both => self.pipelines[replica] > 0,
        };
        let mut images = match self.ties {
            Ties::Pipelines => self.like(copy).to_vec(),
            Ties::Rings | Ties::Both => self.turned(replica, is_touched),
        };
        images.sort_unstable();
        images.dedup();
        images.into_iter().map(|replica| stage * self.replicas + replica).collect()
    }

    /// Where turning the ring, and turning it over, takes a replica, as far as it moves no touched one.
    fn turned(&self, replica: usize, is_touched: impl Fn(usize) -> bool) -> Vec<usize> {
        let ways: &[bool] = if self.flips { &[false, true] } else { &[false] };
        let image = |(turn, flip): (usize, bool), replica: usize| {
            (turn + if flip { self.replicas - replica } else { replica }) % self.replicas
        };
        let moves = (0..self.replicas).flat_map(|turn| ways.iter().map(move |&flip| (turn, flip)));
        let keeps = |&way: &(usize, bool)| (0..self.replicas).all(|r| !is_touched(r) || image(way, r) == r);
        moves.filter(keeps).map(|way| image(way, replica)).collect()
    }
}
