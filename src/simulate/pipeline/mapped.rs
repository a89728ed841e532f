//! The pipeline of a stage graph whose copies are mapped to the devices of a topology.

use super::{AllReduce, Block, Flow, Pass, Pipeline, Stage, Transfers, WEIGHT_GRADIENT, Way};
use crate::mapping::{Mapping, MappingProblem, MessageTime, StageGraph};
use crate::simulate::collective::Collective;
use crate::simulate::error::SimulateError;

/// How messages between mapped stages are paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Links {
    /// Both ends of a message are busy with it, one after the other, and compute nothing meanwhile.
    #[default]
    Blocking,
    /// Messages pass beside the compute, as many at a time as there are.
    Overlapped,
    /// Messages pass beside the compute, but those from one device to another, or over one channel, one after another.
    Contended,
}

/// How what devices send each other is paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Communication {
    /// Messages between stages.
    pub links: Links,
    /// What the copies of a stage send each other.
    pub all_reduce: Collective,
}

impl From<Links> for Communication {
    /// With all-reduces in rings.
    fn from(links: Links) -> Self {
        Self { links, all_reduce: Collective::Ring }
    }
}

impl Pipeline {
    /// The pipelines of `problem` under `mapping`: one for each replica.
    ///
    /// `mapping` has a device for each copy; one device may hold several stages of a replica, as the interleaved
    /// schedule has it. Activations go from a stage to a later one, gradients from a stage to an earlier one, and each
    /// takes the time that the topology says, with the same message of all replicas at once on its
    /// channels, or one after another where they are contended. A stage waits for gradients from wherever it sends activations to, also
    /// where no message says so. What a stage's memory holds beyond what lasts it keeps for each microbatch in
    /// flight. What `problem` counts to a stage's time does not matter: everything is simulated.
    /// O(copies + replicas · messages), and O(stages · replicas² log
    /// replicas) for all-reduces that know hosts.
    ///
    /// # Errors
    /// [`SimulateError::SentBack`] where a message goes to an earlier stage and no stage has a backward pass.
    ///
    /// # Panics
    /// If `mapping` names a device that the topology does not have, or not one for each copy.
    pub fn of_mapping(
        problem: &MappingProblem,
        mapping: &Mapping,
        communication: impl Into<Communication>,
    ) -> Result<Self, SimulateError> {
        let Communication { links, all_reduce } = communication.into();
        let (graph, copies, replicas) = (&problem.stages, problem.copies(), problem.replicas);
        assert_eq!(mapping.devices.len(), copies, "a device for each copy");
        let has_backward = graph.stages.iter().any(|stage| stage.backward > 0.0);
        if let Some(back) = graph.messages.iter().find(|message| !has_backward && message.source > message.target) {
            return Err(SimulateError::SentBack { from: back.source, to: back.target });
        }
        let mut used = mapping.devices.clone();
        used.sort_unstable();
        used.dedup();
        let placed = Placed { problem, mapping, links };
        let index = |copy: usize| used.binary_search(&mapping.devices[copy]).unwrap_or_default();
        let mut pipeline = Self {
            name: graph.name.clone(),
            devices: used.iter().map(|&device| problem.topology.devices[device].name.clone()).collect(),
            memory: used.iter().map(|&device| problem.topology.devices[device].memory).collect(),
            stages: (0..copies).map(|copy| placed.stage(copy, index(copy))).collect(),
            blocks: (0..copies).map(|copy| placed.block(copy, Pass::Forward)).collect(),
            channels: problem.topology.channels.iter().map(|channel| channel.among(&used)).collect(),
            flows: Vec::new(),
            all_reduces: Vec::new(),
            transfers: match links {
                Links::Blocking => Transfers::OnDevice,
                Links::Overlapped => Transfers::Links { contended: false },
                Links::Contended => Transfers::Links { contended: true },
            },
            replicas,
            weight_gradient: WEIGHT_GRADIENT,
            buckets: 1,
        };
        if has_backward {
            pipeline.blocks.extend((0..copies).rev().map(|copy| placed.block(copy, Pass::Backward)));
            pipeline.all_reduces = placed.all_reduces(all_reduce);
        }
        placed.connect(&mut pipeline, has_backward);
        Ok(pipeline)
    }
}

/// A mapping, and how to read it.
struct Placed<'a> {
    problem: &'a MappingProblem,
    mapping: &'a Mapping,
    links: Links,
}

impl Placed<'_> {
    fn graph(&self) -> &StageGraph {
        &self.problem.stages
    }

    fn copies(&self) -> usize {
        self.problem.copies()
    }

    fn device(&self, copy: usize) -> usize {
        self.mapping.devices[copy]
    }

    fn backward_block(&self, copy: usize) -> usize {
        2 * self.copies() - 1 - copy
    }

    fn stage(&self, copy: usize, device: usize) -> Stage {
        let rank = copy / self.problem.replicas;
        let stage = &self.graph().stages[rank];
        let activations = self.graph().messages.iter().filter(|m| m.target == rank && m.source < rank);
        let (lasting, kept) = stage.kept();
        let working = stage.working_bytes.min(lasting);
        Stage {
            name: stage.name.clone(),
            rank,
            replica: copy % self.problem.replicas,
            device,
            fixed: lasting - working,
            working,
            parameters: stage.parameter_bytes,
            activations: kept,
            boundary: activations.map(|message| message.bytes).sum::<f64>().min(kept),
        }
    }

    fn block(&self, copy: usize, pass: Pass) -> Block {
        let stage = &self.graph().stages[copy / self.problem.replicas];
        let time = if pass == Pass::Forward { stage.forward } else { stage.backward };
        let compute = time / self.problem.topology.devices[self.device(copy)].speed;
        Block { stage: copy, pass, input: 0.0, compute, output: 0.0 }
    }

    /// Adds the flows, and to the blocks what they pay for them.
    fn connect(&self, pipeline: &mut Pipeline, has_backward: bool) {
        let replicas = self.problem.replicas;
        let copies = |stage: usize| (0..replicas).map(move |replica| stage * replicas + replica);
        for message in &self.graph().messages {
            let is_gradient = message.source > message.target;
            let pairs: Vec<(usize, usize)> = copies(message.source).zip(copies(message.target)).collect();
            let devices: Vec<(usize, usize)> =
                pairs.iter().map(|&(from, to)| (self.device(from), self.device(to))).collect();
            for ((source, target), MessageTime { latency, transfer }) in
                pairs.into_iter().zip(self.times(&devices, message.bytes))
            {
                let time = latency + transfer;
                if !is_gradient {
                    self.send(pipeline, source, target, time);
                } else if has_backward {
                    self.send(pipeline, self.backward_block(source), self.backward_block(target), time);
                }
                if !is_gradient && has_backward {
                    let (source, target) = (self.backward_block(target), self.backward_block(source));
                    pipeline.flows.push(Flow { source, target, way: self.way(pipeline, source, target, 0.0) });
                }
            }
        }
        if has_backward {
            let own = |copy| Flow { source: copy, target: self.backward_block(copy), way: Way::Kept };
            pipeline.flows.extend((0..self.copies()).map(own));
        }
    }

    /// What the same message of all replicas takes between these devices: at once, but where channels have queues.
    fn times(&self, devices: &[(usize, usize)], bytes: f64) -> Vec<MessageTime> {
        let topology = &self.problem.topology;
        match self.links {
            Links::Contended => devices.iter().flat_map(|&ends| topology.at_once(&[ends], bytes)).collect(),
            Links::Blocking | Links::Overlapped => topology.at_once(devices, bytes),
        }
    }

    fn send(&self, pipeline: &mut Pipeline, source: usize, target: usize, time: f64) {
        if self.links == Links::Blocking {
            pipeline.blocks[source].output += time;
            pipeline.blocks[target].input += time;
        }
        let on_link = if self.links == Links::Blocking { 0.0 } else { time };
        pipeline.flows.push(Flow { source, target, way: self.way(pipeline, source, target, on_link) });
    }

    fn way(&self, pipeline: &Pipeline, source: usize, target: usize, time: f64) -> Way {
        if pipeline.device_of(source) == pipeline.device_of(target) { Way::Kept } else { Way::Sent(time) }
    }

    fn all_reduces(&self, collective: Collective) -> Vec<AllReduce> {
        let (problem, replicas) = (self.problem, self.problem.replicas);
        let reduce = |stage: usize| {
            let after = (0..replicas).map(|replica| self.backward_block(stage * replicas + replica));
            let devices = &self.mapping.devices[stage * replicas..][..replicas];
            let bytes = self.graph().stages[stage].parameter_bytes;
            AllReduce { after: after.collect(), ways: collective.ways(&problem.topology, devices, bytes) }
        };
        let has_bytes = |&stage: &usize| self.graph().stages[stage].parameter_bytes > 0.0;
        let all = (0..self.graph().stages.len()).filter(has_bytes).map(reduce);
        all.filter(|reduce| reduce.time(1) > 0.0).collect()
    }
}
