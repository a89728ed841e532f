//! Small valid problems whose numbers lie far apart, each from one number.

use dagsplit::instance::{AcceleratorClass, Edge, Instance, Node, Platform, validate};
use dagsplit::problem::{
    CostKind, Interconnect, MemoryModel, NodeWeight, Objective, ProblemSpec, Replication, Scope, Sharding,
};
use rand::rngs::Xoshiro256PlusPlus as Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

/// A problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    pub instance: Instance,
    pub spec: ProblemSpec,
}

/// How large numbers are, and how they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Magnitudes {
    /// Whole numbers below ten.
    Whole,
    /// Decimals that no double is.
    Decimal,
    /// One value, give or take some parts of 1e-10.
    NearTie,
    /// Powers of ten from 1e-12 to 1e15, and numbers between them.
    Wide,
    /// Decimals, and on one kind of device huge times that stand for "not here".
    NotHere,
    /// Any of these for each number.
    Mixed,
}

impl Magnitudes {
    pub const ALL: [Self; 6] = [Self::Whole, Self::Decimal, Self::NearTie, Self::Wide, Self::NotHere, Self::Mixed];

    /// Those of case `number`.
    pub fn of(number: u64) -> Self {
        Self::ALL[(number % 6) as usize]
    }

    fn draw(self, rng: &mut Rng) -> f64 {
        match self {
            _ if rng.random_bool(0.12) => 0.0,
            Self::Whole => f64::from(rng.random_range(0..10)),
            Self::Decimal | Self::NotHere => {
                pick(rng, &[0.1, 0.2, 0.3, 0.7, 1.1, 2.3]) * pick(rng, &[1.0, 1.0, 1.0, 10.0, 1e-3])
            }
            Self::NearTie => pick(rng, &[0.3, 1.0, 1.0, 2.0]) * (1.0 + 1e-10 * f64::from(rng.random_range(-3..=3))),
            Self::Wide => {
                let scale = 10f64.powi(rng.random_range(-12..15));
                if rng.random_bool(0.5) { scale } else { scale * rng.random_range(1.0..10.0) }
            }
            Self::Mixed => pick(rng, &Self::ALL[..5]).draw(rng),
        }
    }
}

/// Case `number` of its kind of numbers.
pub fn case(number: u64) -> Case {
    case_of(number, Magnitudes::of(number))
}

/// Case `number` with these `magnitudes`.
pub fn case_of(number: u64, magnitudes: Magnitudes) -> Case {
    let mut rng = Rng::seed_from_u64(number);
    loop {
        let instance = instance(&mut rng, magnitudes);
        if validate(&instance).is_ok() {
            for _ in 0..20 {
                let spec = spec(&mut rng, &instance, magnitudes);
                if spec.validate(&instance).is_ok() && is_small(&instance, &spec) {
                    return Case { instance, spec };
                }
            }
        }
    }
}

/// Whether every split can be looked at in about a millisecond.
fn is_small(instance: &Instance, spec: &ProblemSpec) -> bool {
    let mut colors: Vec<u64> = instance.nodes.iter().filter_map(|node| node.color_class).collect();
    let uncolored = instance.nodes.len() - colors.len();
    colors.sort_unstable();
    colors.dedup();
    let groups = colors.len() + uncolored;
    let most = match spec.objective {
        Objective::Latency { subgraphs: 1 } => 5,
        Objective::Latency { .. } => 4,
        Objective::Sharding(_) => 5,
        Objective::Throughput | Objective::GPipe | Objective::Step { .. } if spec.interconnect.is_some() => 5,
        Objective::Throughput | Objective::GPipe | Objective::Step { .. } => 8,
    };
    groups <= most && (spec.objective != Objective::Latency { subgraphs: 2 } || instance.nodes.len() <= 5)
}

fn instance(rng: &mut Rng, magnitudes: Magnitudes) -> Instance {
    let forward = pick(rng, &[3, 3, 4, 4, 5, 5, 6, 7, 8]);
    let mut edges = forward_edges(rng, forward);
    let classes = if rng.random_bool(0.25) { 2 } else { 1 };
    let mut nodes: Vec<Node> = (0..forward).map(|id| node(rng, id, classes, magnitudes)).collect();
    if forward <= 5 && rng.random_bool(0.3) {
        add_backward(rng, &mut nodes, &mut edges, classes, magnitudes);
    }
    if rng.random_bool(0.1) {
        for _ in 0..2 {
            let v = rng.random_range(0..nodes.len());
            nodes[v].color_class = Some(99);
        }
    }
    if magnitudes == Magnitudes::NotHere || magnitudes == Magnitudes::Mixed {
        banish(rng, &mut nodes, classes);
    }
    let platform = platform(rng, &nodes, classes);
    if rng.random_bool(0.2) {
        nodes.shuffle(rng);
        edges.shuffle(rng);
    }
    let edges = edges.into_iter().map(|(source, target)| Edge { source, target }).collect();
    Instance { platform, nodes, edges, ..Instance::default() }
}

/// A chain, layers of two, or any graph.
fn forward_edges(rng: &mut Rng, n: u64) -> Vec<(u64, u64)> {
    let density = pick(rng, &[0.2, 0.4, 0.7]);
    let shape = rng.random_range(0..3);
    let pairs = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
    let is_edge = |&(u, v): &(u64, u64)| match shape {
        0 => v == u + 1,
        1 => v / 2 == u / 2 + 1 && rng.random_bool(0.8),
        _ => rng.random_bool(density),
    };
    pairs.filter(is_edge).collect()
}

fn node(rng: &mut Rng, id: u64, classes: usize, magnitudes: Magnitudes) -> Node {
    let mut number = || magnitudes.draw(rng);
    let (cpu_time, transfer_time, memory) = (Some(number()), number(), number());
    let (parameter_bytes, output_bytes) = (number(), Some(number()));
    let accelerator_times = (0..classes).map(|_| Some(number())).collect();
    let mut node =
        Node { accelerator_times, cpu_time, transfer_time, memory, parameter_bytes, output_bytes, ..Node::new(id) };
    if rng.random_bool(0.08) {
        let kind = rng.random_range(0..=classes);
        *node.accelerator_times.get_mut(kind).unwrap_or(&mut node.cpu_time) = None;
    }
    node
}

/// Mirrors forward nodes, some of which lack; the mirrored edges, and what backward nodes take from forward nodes.
fn add_backward(
    rng: &mut Rng,
    nodes: &mut Vec<Node>,
    edges: &mut Vec<(u64, u64)>,
    classes: usize,
    magnitudes: Magnitudes,
) {
    let forward = nodes.len() as u64;
    let of = |v: u64| 100 + v;
    for v in 0..forward {
        if nodes.len() >= 10 || rng.random_bool(0.15) {
            continue;
        }
        let color_class = (!rng.random_bool(0.15)).then_some(v);
        nodes.push(Node { backward: true, color_class, ..node(rng, of(v), classes, magnitudes) });
        if !rng.random_bool(0.05) {
            nodes[v as usize].color_class = Some(v);
        }
    }
    let has = |id: u64, nodes: &[Node]| nodes.iter().any(|node| node.id == id);
    let mirrored: Vec<(u64, u64)> = edges.iter().map(|&(u, v)| (of(v), of(u))).collect();
    let taken = (0..forward).map(|v| (v, of(v))).filter(|_| rng.random_bool(0.6)).collect::<Vec<_>>();
    let known = mirrored.into_iter().chain(taken);
    edges.extend(known.filter(|&(u, v)| has(u, nodes) && has(v, nodes)));
}

/// Makes some nodes huge on one kind of device: "not here".
fn banish(rng: &mut Rng, nodes: &mut [Node], classes: usize) {
    let huge = pick(rng, &[1e6, 1e9, 1e9, 1e12, 1e15]);
    let kind = rng.random_range(0..=classes);
    let share = pick(rng, &[0.2, 0.5, 0.9]);
    for node in nodes {
        let time = node.accelerator_times.get_mut(kind).unwrap_or(&mut node.cpu_time);
        if time.is_some() && rng.random_bool(share) {
            *time = Some(huge);
        }
        if rng.random_bool(0.05) {
            node.transfer_time = huge;
        }
        if rng.random_bool(0.05) {
            node.memory = huge;
        }
    }
}

fn platform(rng: &mut Rng, nodes: &[Node], classes: usize) -> Platform {
    let accelerators: Vec<AcceleratorClass> = (0..classes)
        .map(|_| AcceleratorClass {
            name: None,
            count: pick(rng, &[0, 1, 1, 2, 2, 2, 3, 4]),
            memory: memory(rng, nodes),
            load: None,
        })
        .collect();
    let bandwidth = Some(pick(rng, &[1.0, 2.0, 0.1, 3e9, 1e-6]));
    Platform { accelerators, cpus: pick(rng, &[0, 1, 1, 2]), bandwidth }
}

/// No limit; or just what some nodes need, a little more or less.
fn memory(rng: &mut Rng, nodes: &[Node]) -> Option<f64> {
    if rng.random_bool(0.5) {
        return None;
    }
    let share = pick(rng, &[0.3, 0.5, 0.8]);
    let some: f64 = nodes.iter().filter(|_| rng.random_bool(share)).map(|node| node.memory).sum();
    // A set fits that needs up to 1e-9 more.
    Some(some * pick(rng, &[1.0, 1.0, 1.0 - 5e-10, 1.0 - 2e-9, 1.0 + 1e-10, 1.3]))
}

fn spec(rng: &mut Rng, instance: &Instance, magnitudes: Magnitudes) -> ProblemSpec {
    let objective = match rng.random_range(0..20) {
        0..11 => Objective::Throughput,
        11..15 => Objective::GPipe,
        15..18 => Objective::Latency { subgraphs: pick(rng, &[1, 1, 1, 2]) },
        _ => Objective::Sharding(Sharding {
            weight: pick(rng, &[NodeWeight::Parameters, NodeWeight::Memory]),
            variance: pick(rng, &[1.0, 1.0, 0.1, 0.0, 1e-6]),
            edge: if rng.random_bool(0.5) { 1.0 } else { magnitudes.draw(rng) },
        }),
    };
    let is_pipeline = matches!(objective, Objective::Throughput | Objective::GPipe);
    let mut line: Vec<usize> = (0..instance.nodes.len()).collect();
    let scope = match rng.random_range(0..20) {
        0..8 => Scope::Acyclic,
        8..12 => Scope::Convex,
        12..19 => Scope::Arbitrary,
        _ => {
            if rng.random_bool(0.5) {
                line.shuffle(rng);
            }
            Scope::Linearized(line)
        }
    };
    let replication = (is_pipeline && rng.random_bool(0.25)).then(|| Replication {
        max_replicas: rng.random_range(1..=3),
        bandwidth: instance.platform.bandwidth.unwrap_or(1.0),
    });
    let has_servers = !matches!(objective, Objective::Latency { .. }) && rng.random_bool(0.2);
    let interconnect = has_servers.then(|| Interconnect {
        server_size: pick(rng, &[1, 2, 2, 3]),
        between_factor: pick(rng, &[1.0, 1.5, 2.3, 10.0, 1e6]),
    });
    let recomputes = is_pipeline && rng.random_bool(0.15);
    let cost = pick(rng, &[CostKind::Additive, CostKind::Additive, CostKind::Overlap, CostKind::Duplex]);
    let has_steps = scope == Scope::Acyclic && objective == Objective::Throughput && rng.random_bool(0.3);
    let objective =
        if has_steps { Objective::Step { microbatches: pick(rng, &[1, 2, 3, 8, 1000]) } } else { objective };
    ProblemSpec {
        platform: instance.platform.clone(),
        scope,
        objective,
        cost,
        replication,
        interconnect,
        memory: if recomputes {
            MemoryModel::Recomputation { microbatches: pick(rng, &[1, 3, 4]) }
        } else {
            MemoryModel::Additive
        },
        degrees: None,
        together: Vec::new(),
        chunks: None,
    }
}

fn pick<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.random_range(0..of.len())]
}
