//! Graph partitioners that are programs of their own: Scotch, METIS, KaHIP.
//!
//! They cut an undirected graph with integer weights into parts of equal weight with light cuts, and know neither
//! direction, nor memory, nor what a load is. The graph file, the run and the way back are one door for all.

mod program;

pub use program::{Partitioner, ProgramError};

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{outcome, refuse_recomputation, supports_loads, unsupported, work_bound};
use crate::formats::undirected::Undirected;
use crate::preprocess::{Reduced, Unordered, joint};
use crate::problem::{DeviceKind, Problem, Scope};
use crate::solve::certify::{Assignment, Setting};
use crate::solve::{Guarantee, Run, SearchContext, SolveError, Solver, Stats, Unsupported};

/// A graph partitioner as it is installed on this machine (Tarnawski 2020, section 6: Scotch).
///
/// Vertices are colour classes with their time on an accelerator; an edge weighs the transfer times of the producers in
/// one class with a consumer in the other, both ways. Parts become accelerators, which are of one class. Classes that no
/// accelerator can run are left out, and go to a CPU. The splits are arbitrary; one that does not fit in memory
/// is no answer. The program ends with the time limit of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalPartitioner {
    /// Whose graph files and options.
    pub partitioner: Partitioner,
    /// The program; `None` looks on the search path for the names it is installed under.
    pub program: Option<PathBuf>,
    /// How far a part may exceed the mean weight, relative to it.
    pub imbalance: f64,
}

impl ExternalPartitioner {
    /// The partitioner with its own default imbalance, from the search path.
    pub fn new(partitioner: Partitioner) -> Self {
        Self { partitioner, program: None, imbalance: partitioner.imbalance() }
    }
}

impl Solver for ExternalPartitioner {
    fn name(&self) -> &str {
        self.partitioner.name()
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        supports_loads(self.name(), problem)?;
        refuse_recomputation(self.name(), problem)?;
        let classes = problem.device_kinds().into_iter().filter(|&kind| kind != DeviceKind::Cpu).count();
        let reason = match problem.spec.scope {
            Scope::Arbitrary if classes == 1 => return Ok(()),
            Scope::Arbitrary => "its parts are for accelerators of one class",
            _ => "its parts need not be contiguous; ask for the scope `arbitrary`",
        };
        Err(unsupported(self.name(), reason))
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let unordered = Unordered::new(problem);
        let setting = Setting::new(problem, &unordered);
        let (accelerators, cpus): (Vec<usize>, Vec<usize>) =
            (0..setting.device_count()).partition(|&d| !setting.is_cpu(d));
        let (vertices, graph) = undirected(&unordered.units);
        let parts = match accelerators.len().min(vertices.len()) {
            0 | 1 => Some(vec![0; vertices.len()]),
            count => program::partition(self, &graph, count, cx)?,
        };
        let mut device_of = vec![cpus.first().or(accelerators.first()).map_or(0, |&d| d as u32); setting.unit_count()];
        let split = parts.map(|parts| {
            vertices.iter().zip(parts).for_each(|(&u, part)| device_of[u] = accelerators[part] as u32);
            Assignment { device_of }
        });
        let fitting = split.filter(|split| setting.objective(split).is_some());
        let solution = fitting.map(|split| setting.to_solution(&split));
        Ok(Run { outcome: outcome(solution, work_bound(&unordered)), stats: Stats::default() })
    }
}

/// The units that the accelerators can run, and the graph of them.
fn undirected(units: &Reduced) -> (Vec<usize>, Undirected) {
    let kind = &units.kinds[0];
    let (mut vertices, mut times) = (Vec::new(), Vec::new());
    let mut vertex_of = vec![None; units.unit_count()];
    for (u, vertex) in vertex_of.iter_mut().enumerate() {
        if let Some(terms) = kind.terms(u) {
            *vertex = Some(vertices.len());
            vertices.push(u);
            times.push(joint(&terms).compute);
        }
    }
    let mut weights: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (net, &transfer) in units.nets.iter().zip(&kind.transfers) {
        let Some(source) = vertex_of[net.source as usize] else { continue };
        for consumer in net.pins.iter().filter_map(|&u| vertex_of[u as usize]).filter(|&consumer| consumer != source) {
            *weights.entry((source.min(consumer), source.max(consumer))).or_default() += transfer;
        }
    }
    let edges: Vec<_> = weights.into_iter().map(|((u, v), weight)| (u, v, weight)).collect();
    (vertices, Undirected::new(&times, &edges))
}
