//! The pipeline of a split, whose devices move data through the memory of their host (Tarnawski 2020, section 5.1.1).

use super::pieces::{self, Piece as Part};
use super::{AllReduce, Block, Flow, Pass, Pipeline, Stage, Transfers, WEIGHT_GRADIENT, Way};
use crate::cost::{Piece, ring_all_reduce};
use crate::graph::NodeId;
use crate::instance::Instance;
use crate::problem::{DeviceKind, Problem, first_together};
use crate::simulate::error::SimulateError;
use crate::verify::{Verified, VerifiedDevice};

impl Pipeline {
    /// The pipeline of a verified split of `instance`, contiguous or not; `problem` is what it was verified for.
    ///
    /// A device's nodes of one pass, or those of one of its chunks, are one block, or several where they have to wait for other
    /// devices in between:
    /// the virtual devices of Tarnawski 2020, section 5.2. A producer is paid for once per device and direction, with
    /// the block that makes it or the first one that consumes it, so that the work of a device per sample is its load
    /// under `problem`'s cost. Replicas are one device that takes their share of the time. What a device's memory
    /// holds beyond what lasts ([`Node::lasting`](crate::instance::Node::lasting)) it keeps for each microbatch in flight.
    /// O((n + m) · blocks) at worst.
    ///
    /// # Errors
    /// [`SimulateError::UnknownLoad`] where accelerators have other loads than the three published ones.
    pub fn of_split(instance: &Instance, problem: &Problem, split: &Verified) -> Result<Self, SimulateError> {
        let transfers = transfers(problem, split)?;
        let builder = Builder::new(instance, problem, split);
        let stages = builder.stages();
        let mut pipeline = Self {
            name: instance.metadata.name.clone().unwrap_or_else(|| "unnamed".into()),
            devices: names(split.devices()),
            memory: split.devices().iter().map(|device| problem.memory_limit(device.kind())).collect(),
            blocks: builder.blocks(&stages),
            stages: stages.iter().map(|members| builder.stage(members)).collect(),
            channels: Vec::new(),
            flows: Vec::new(),
            all_reduces: Vec::new(),
            transfers,
            replicas: 1,
            weight_gradient: WEIGHT_GRADIENT,
            buckets: 1,
        };
        rank(&mut pipeline.stages, &stages, builder.pieces.len());
        builder.connect(&mut pipeline);
        builder.turn_around(&mut pipeline);
        pipeline.all_reduces = builder.all_reduces();
        Ok(pipeline)
    }
}

/// What moves data beside the accelerators of a split, as their loads say.
fn transfers(problem: &Problem, split: &Verified) -> Result<Transfers, SimulateError> {
    let mut found = None;
    for device in split.devices().iter().filter(|device| device.kind() != DeviceKind::Cpu) {
        let has = |pieces: &[Piece]| {
            let given = problem.costs.pieces(device.kind());
            given.len() == pieces.len() && pieces.iter().all(|piece| given.contains(piece))
        };
        let transfers = [
            (&[Piece::ADDITIVE][..], Transfers::OnDevice),
            (&[Piece::COMPUTE, Piece::new(0.0, 1.0, 1.0)], Transfers::Engine),
            (&[Piece::COMPUTE, Piece::new(0.0, 1.0, 0.0), Piece::new(0.0, 0.0, 1.0)], Transfers::TwoEngines),
        ];
        let known = transfers.into_iter().find(|(pieces, _)| has(pieces)).map(|(_, transfers)| transfers);
        match (known, found) {
            (Some(transfers), None) => found = Some(transfers),
            (Some(transfers), Some(other)) if transfers == other => {}
            _ => return Err(SimulateError::UnknownLoad),
        }
    }
    Ok(found.unwrap_or(Transfers::OnDevice))
}

/// A split, cut into pieces. The pieces of the forward pass come first.
struct Builder<'a> {
    instance: &'a Instance,
    knows_parameters: bool,
    problem: &'a Problem,
    devices: &'a [VerifiedDevice],
    places: Vec<Place>,
    /// The place of each node.
    place_of: Vec<usize>,
    pieces: Vec<Part>,
    piece_of: Vec<usize>,
}

/// What a device holds: all its nodes, or those of one of its stages where it has several chunks.
#[derive(Debug, Clone, Copy)]
struct Place {
    device: usize,
    /// The first of the places that move nothing between them: those that follow one another on one device.
    home: usize,
}

/// The places of a split, and that of each node.
fn places(problem: &Problem, devices: &[VerifiedDevice]) -> (Vec<Place>, Vec<usize>) {
    let index = problem.index_of_ids();
    let mut place_of = vec![0; problem.node_count()];
    let mut put = |ids: &[u64], place: usize| ids.iter().for_each(|id| place_of[index[id]] = place);
    let Some(chunks) = problem.spec.chunks else {
        devices.iter().enumerate().for_each(|(d, device)| put(device.nodes(), d));
        return ((0..devices.len()).map(|device| Place { device, home: device }).collect(), place_of);
    };
    let used: Vec<usize> = (0..devices.len()).filter(|&d| !devices[d].nodes().is_empty()).collect();
    let homes = chunks.homes(used.len());
    let first = first_together(&homes);
    let mut places: Vec<Place> = Vec::new();
    for (stage, home) in homes.into_iter().enumerate() {
        let device = used[home];
        let before = places.iter().filter(|place| place.device == device).count();
        put(&devices[device].chunks()[before], stage);
        places.push(Place { device, home: first[stage] });
    }
    (places, place_of)
}

/// The pieces of a stage, by pass.
struct Members {
    device: usize,
    forward: Vec<usize>,
    backward: Vec<usize>,
}

impl<'a> Builder<'a> {
    fn new(instance: &'a Instance, problem: &'a Problem, split: &'a Verified) -> Self {
        let (places, place_of) = places(problem, split.devices());
        let part_of = |v: NodeId| place_of[v] + usize::from(problem.backward[v]) * places.len();
        let part_of: Vec<usize> = (0..place_of.len()).map(part_of).collect();
        let mut pieces = pieces::cut(&problem.graph, &part_of);
        // No forward node waits for a backward one.
        pieces.sort_by_key(|piece| piece.part >= places.len());
        let mut piece_of = vec![0; place_of.len()];
        for (i, piece) in pieces.iter().enumerate() {
            piece.nodes.iter().for_each(|&v| piece_of[v] = i);
        }
        let knows_parameters = instance.knows_parameters();
        Self { instance, knows_parameters, problem, devices: split.devices(), places, place_of, pieces, piece_of }
    }

    fn pass(&self, piece: usize) -> Pass {
        if self.pieces[piece].part < self.places.len() { Pass::Forward } else { Pass::Backward }
    }

    fn place(&self, piece: usize) -> usize {
        self.pieces[piece].part % self.places.len()
    }

    fn device(&self, piece: usize) -> usize {
        self.places[self.place(piece)].device
    }

    /// The place that pays for what node `v` makes or needs.
    fn home(&self, v: NodeId) -> usize {
        self.places[self.place_of[v]].home
    }

    fn kind(&self, device: usize) -> DeviceKind {
        self.devices[device].kind()
    }

    /// The stages of each place: one for each forward piece and the backward piece that mirrors it, where the
    /// numbers agree; else one for the whole place.
    fn stages(&self) -> Vec<Members> {
        let members = |place: &Place| Members { device: place.device, forward: Vec::new(), backward: Vec::new() };
        let mut places: Vec<Members> = self.places.iter().map(members).collect();
        for piece in 0..self.pieces.len() {
            let members = &mut places[self.place(piece)];
            let same_pass =
                if self.pass(piece) == Pass::Forward { &mut members.forward } else { &mut members.backward };
            same_pass.push(piece);
        }
        places.into_iter().flat_map(Members::mirrored).collect()
    }

    fn blocks(&self, stages: &[Members]) -> Vec<Block> {
        let mut stage_of = vec![0; self.pieces.len()];
        for (stage, members) in stages.iter().enumerate() {
            members.pieces().for_each(|piece| stage_of[piece] = stage);
        }
        let block = |(i, piece): (usize, &Part)| {
            let device = self.device(i);
            let time = |&v: &NodeId| self.problem.costs.node(v, self.kind(device)).map_or(0.0, |cost| cost.compute);
            let compute = piece.nodes.iter().map(time).sum::<f64>() / self.devices[device].replicas() as f64;
            Block { stage: stage_of[i], pass: self.pass(i), input: 0.0, compute, output: 0.0 }
        };
        self.pieces.iter().enumerate().map(block).collect()
    }

    fn stage(&self, members: &Members) -> Stage {
        let (problem, kind) = (self.problem, self.kind(members.device));
        let nodes = || members.pieces().flat_map(|piece| self.pieces[piece].nodes.iter().copied());
        let memory = |v: NodeId| problem.costs.node(v, kind).map_or(0.0, |cost| cost.memory);
        let all: f64 = nodes().map(memory).sum();
        let lasting: f64 = nodes().map(|v| self.instance.nodes[v].lasting(memory(v), self.knows_parameters)).sum();
        // The memory of CPUs is not counted.
        let parameters = match kind {
            DeviceKind::Cpu => 0.0,
            DeviceKind::Accelerator(_) => nodes().map(|v| problem.parameter_bytes[v]).sum(),
        };
        Stage {
            name: String::new(),
            rank: 0,
            replica: 0,
            device: members.device,
            fixed: lasting,
            working: 0.0,
            parameters,
            activations: all - lasting,
            boundary: 0.0,
        }
    }

    /// Adds the flows of the data, and to the blocks the transfers that their devices pay for.
    fn connect(&self, pipeline: &mut Pipeline) {
        for u in 0..self.place_of.len() {
            let (home, source) = (self.home(u), self.piece_of[u]);
            let mut consumers: Vec<(usize, usize)> = (self.problem.graph.successors(u).iter())
                .map(|&v| (self.home(v as usize), self.piece_of[v as usize]))
                .collect();
            consumers.sort_unstable();
            consumers.dedup();
            for in_place in consumers.chunk_by(|a, b| a.0 == b.0) {
                let (place, first) = in_place[0];
                if place == home {
                    let kept = in_place.iter().filter(|&&(_, target)| target != source);
                    pipeline.flows.extend(kept.map(|&(_, target)| Flow { source, target, way: Way::Kept }));
                    continue;
                }
                pipeline.blocks[first].input += self.charge(u, place);
                if self.pass(first) == Pass::Forward {
                    let stage = &mut pipeline.stages[pipeline.blocks[first].stage];
                    let bytes = stage.boundary + self.instance.nodes[u].output_bytes.unwrap_or(0.0);
                    stage.boundary = bytes.min(stage.activations);
                }
                let sent = in_place.iter().map(|&(_, target)| Flow { source, target, way: Way::Sent(0.0) });
                let shared = in_place[1..].iter().map(|&(_, target)| Flow { source: first, target, way: Way::Shared });
                pipeline.flows.extend(sent.chain(shared));
            }
            pipeline.blocks[source].output += self.charge(u, home);
        }
    }

    /// What `payer` pays for the transfers from `u` that it takes part in.
    fn charge(&self, u: NodeId, payer: usize) -> f64 {
        let device = |place: usize| self.places[place].device;
        let server =
            |place: usize| self.devices[device(place)].server().filter(|_| self.kind(device(place)) != DeviceKind::Cpu);
        let (costs, home) = (&self.problem.costs, self.home(u));
        let time = |t: usize| {
            let transfer = &costs.transfers[t];
            let touched = || transfer.consumers.iter().map(|&v| self.home(v)).chain([home]);
            let pays = touched().any(|place| place == payer) && touched().any(|place| place != home);
            let is_far =
                self.problem.spec.interconnect.is_some() && touched().any(|place| server(place) != server(payer));
            let price = if is_far { transfer.between } else { 1.0 };
            if pays { price * costs.kind(self.kind(device(payer))).transfers[t] } else { 0.0 }
        };
        costs.transfers_from(u).map(time).sum::<f64>() / self.devices[device(payer)].replicas() as f64
    }

    /// Lets the backward pass of a stage begin after its forward pass, also where no data says so.
    fn turn_around(&self, pipeline: &mut Pipeline) {
        let forward = pipeline.blocks_by_stage(Pass::Forward);
        let backward = pipeline.blocks_by_stage(Pass::Backward);
        let turns =
            forward.iter().zip(&backward).filter_map(|(forward, backward)| forward.last().zip(backward.first()));
        let turns = turns.map(|(&source, &target)| Flow { source, target, way: Way::Kept });
        pipeline.flows.extend(turns);
    }

    /// One for each device of several replicas, after its last block.
    fn all_reduces(&self) -> Vec<AllReduce> {
        let Some(replication) = self.problem.spec.replication else { return Vec::new() };
        let replicated = self.devices.iter().enumerate().filter(|(_, device)| device.replicas() > 1);
        let reduce = |(d, device): (usize, &VerifiedDevice)| {
            let last = (0..self.pieces.len()).rev().find(|&piece| self.device(piece) == d)?;
            let nodes = (0..self.place_of.len()).filter(|&v| self.places[self.place_of[v]].device == d);
            let bytes = nodes.map(|v| self.problem.parameter_bytes[v]).sum();
            let time = ring_all_reduce(bytes, device.replicas(), replication.bandwidth);
            Some(AllReduce::lasting(vec![last], time))
        };
        replicated.filter_map(reduce).collect()
    }
}

impl Members {
    fn pieces(&self) -> impl Iterator<Item = usize> {
        self.forward.iter().chain(&self.backward).copied()
    }

    /// One stage for each forward piece and its mirror image, if there are as many of both or only one kind.
    fn mirrored(self) -> Vec<Self> {
        let (forward, backward) = (self.forward.len(), self.backward.len());
        if forward != backward && forward.min(backward) > 0 {
            return vec![self];
        }
        let part = |j: usize| Self {
            device: self.device,
            forward: self.forward.get(j).copied().into_iter().collect(),
            backward: self.backward.iter().rev().nth(j).copied().into_iter().collect(),
        };
        (0..forward.max(backward)).map(part).collect()
    }
}

/// Ranks stages by their forward pieces, those without one behind the others by their backward pieces, last first.
fn rank(stages: &mut [Stage], members: &[Members], pieces: usize) {
    let key = |&stage: &usize| match members[stage].forward.first() {
        Some(&first) => (0, first),
        None => (1, pieces - members[stage].backward.first().copied().unwrap_or(0)),
    };
    let mut by_rank: Vec<usize> = (0..stages.len()).collect();
    by_rank.sort_by_key(key);
    for (rank, stage) in by_rank.into_iter().enumerate() {
        stages[stage].rank = rank;
        stages[stage].name = format!("stage {rank}");
    }
}

/// What to call each of `devices`: kinds are counted apart, from 0.
fn names(devices: &[VerifiedDevice]) -> Vec<String> {
    let (mut accelerators, mut cpus) = (0.., 0..);
    let mut name = |device: &VerifiedDevice| match device.kind() {
        DeviceKind::Accelerator(_) => format!("accelerator {}", accelerators.next().unwrap_or(0)),
        DeviceKind::Cpu => format!("CPU {}", cpus.next().unwrap_or(0)),
    };
    devices.iter().map(&mut name).collect()
}
