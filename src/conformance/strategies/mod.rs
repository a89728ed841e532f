//! Strategies that generate whole problems, for [`mod@proptest`].
//!
//! All weights are integers, so that sums are exact and ties are frequent; shrinking leads to few nodes with zero
//! costs. Every instance is valid: each colour class has a kind of device that runs it. A split need not exist.

mod backward;
mod build;
mod costs;
mod cycles;
mod dag;

pub use cycles::odd_cycles;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::instance::Instance;
use crate::problem::{CostKind, Interconnect, MemoryModel, Objective, Problem, ProblemSpec, Replication, Scope};

/// The form of a forward graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Any of the others.
    Any,
    /// One path.
    Chain,
    /// Two-terminal series-parallel graphs.
    SeriesParallel,
    /// Layers of up to three nodes, edges between neighbouring layers.
    Layered,
    /// Any DAG.
    Random,
    /// Blocks of parallel branches with shortcuts and skip connections, as in deep networks.
    Dnn,
}

/// How costs are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weights {
    /// Small integers.
    Small,
    /// All costs are 1, so that many splits tie.
    Equal,
    /// Most costs are zero.
    MostlyZero,
    /// Zeros, small integers and powers of two up to 2³⁰ beside each other.
    Extreme,
    /// Multiples of 2³⁴ and numbers next to them, by parts in 10⁴ or in 10¹⁰, so that many splits nearly tie. Memory is
    /// small.
    NearTies,
}

/// What generated instances may contain.
#[derive(Debug, Clone, Copy)]
pub struct InstanceOptions {
    /// The form of the forward graph.
    pub shape: Shape,
    /// How costs are drawn.
    pub weights: Weights,
    /// Backward passes: mirrored nodes, nodes without forward partner, edges that oppose the mirrored order.
    pub training: bool,
    /// Colour classes with several forward nodes, or several nodes of an inference graph.
    pub shared_colors: bool,
    /// Nodes that some kinds of device cannot run; one kind can run each colour class.
    pub unsupported: bool,
    /// Accelerators with little memory, now and then with just what the nodes need.
    pub memory_limits: bool,
    /// Accelerators whose memory together is just what the nodes need, or a little more.
    pub tight_memory: bool,
    /// The most accelerator classes; 1 or 2.
    pub max_classes: usize,
    /// The most accelerators of a class.
    pub max_accelerators: usize,
    /// The most CPUs.
    pub max_cpus: usize,
}

impl InstanceOptions {
    /// Everything at once.
    pub const ALL: Self = Self {
        shape: Shape::Any,
        weights: Weights::Small,
        training: true,
        shared_colors: true,
        unsupported: true,
        memory_limits: true,
        tight_memory: false,
        max_classes: 2,
        max_accelerators: 3,
        max_cpus: 3,
    };

    /// Inference graphs whose nodes run anywhere and fit anywhere.
    pub const PLAIN: Self = Self {
        shape: Shape::Any,
        weights: Weights::Small,
        training: false,
        shared_colors: false,
        unsupported: false,
        memory_limits: false,
        tight_memory: false,
        max_classes: 1,
        max_accelerators: 3,
        max_cpus: 2,
    };
}

/// Valid instances of at least one forward node and at most `max_groups` colour groups (at least 1).
pub fn instances(max_groups: usize, options: InstanceOptions) -> impl Strategy<Value = Instance> {
    let graphs = dag::forward_graphs(options.shape, max_groups);
    let plans = backward::backward_plans(max_groups);
    let pass = if options.training { option::of(plans).boxed() } else { Just(None).boxed() };
    let shares = if options.shared_colors { vec(any::<(Index, Index)>(), 0..=2).boxed() } else { Just(vec![]).boxed() };
    let costs = vec(costs::node_costs(options), 2 * max_groups);
    (graphs, pass, shares, costs, costs::platforms(options))
        .prop_map(move |(dag, plan, shares, costs, platform)| build::build(dag, plan, &shares, &costs, platform))
}

/// Requests of every kind for `instance`, on its own platform.
pub fn specs(instance: &Instance) -> impl Strategy<Value = ProblemSpec> + use<> {
    let platform = instance.platform.clone();
    let order: Vec<usize> = (0..instance.nodes.len()).collect();
    let scope = prop_oneof![
        Just(Scope::Acyclic),
        Just(Scope::Convex),
        Just(Scope::Arbitrary),
        Just(Scope::Linearized(order.clone())),
        Just(order).prop_shuffle().prop_map(Scope::Linearized),
    ];
    let sizes: Vec<usize> =
        (1..=3).filter(|size| platform.accelerators.iter().all(|class| class.count % size == 0)).collect();
    let interconnect = (select(sizes), 1..=3u8)
        .prop_map(|(server_size, factor)| Interconnect { server_size, between_factor: factor.into() });
    let replication = (1..=3usize, 1..=2u8)
        .prop_map(|(max_replicas, bandwidth)| Replication { max_replicas, bandwidth: bandwidth.into() });
    (
        scope,
        select(vec![Objective::Throughput, Objective::GPipe]),
        select(vec![CostKind::Additive, CostKind::Overlap, CostKind::Duplex]),
        option::weighted(0.3, replication),
        option::weighted(0.3, interconnect),
    )
        .prop_map(move |(scope, objective, cost, replication, interconnect)| ProblemSpec {
            platform: platform.clone(),
            scope,
            objective,
            cost,
            replication,
            interconnect,
            memory: MemoryModel::Additive,
            degrees: None,
            together: Vec::new(),
            chunks: None,
        })
}

/// Instances with a request of any kind.
pub fn problems(max_groups: usize, options: InstanceOptions) -> impl Strategy<Value = (Instance, ProblemSpec)> {
    instances(max_groups, options).prop_flat_map(|instance| {
        let specs = specs(&instance);
        (Just(instance), specs)
    })
}

/// Instances whose stages need memory as in training with recomputation, with a request of any other kind.
pub fn recomputation_problems(
    max_groups: usize,
    options: InstanceOptions,
) -> impl Strategy<Value = (Instance, ProblemSpec)> {
    (problems(max_groups, options), 1..=2usize).prop_map(|((instance, spec), microbatches)| {
        let memory = MemoryModel::Recomputation { microbatches };
        (instance, ProblemSpec { memory, ..spec })
    })
}

/// Instances with a request for the least time of a step of 1 to 9 microbatches.
pub fn step_problems(max_groups: usize, options: InstanceOptions) -> impl Strategy<Value = (Instance, ProblemSpec)> {
    (problems(max_groups, options), 1..=9usize).prop_map(|((instance, spec), microbatches)| {
        let (scope, objective) = (Scope::Acyclic, Objective::Step { microbatches });
        (instance, ProblemSpec { scope, objective, ..spec })
    })
}

/// The same problems with up to two sets of nodes to be kept together, where a kind of device can run them.
pub fn together(
    problems: impl Strategy<Value = (Instance, ProblemSpec)>,
) -> impl Strategy<Value = (Instance, ProblemSpec)> {
    (problems, vec(vec(any::<Index>(), 2..=3), 1..=2)).prop_map(|((instance, spec), sets)| {
        let nodes = instance.nodes.len();
        let set = |set: Vec<Index>| set.into_iter().map(|drawn| drawn.index(nodes)).collect();
        let asked = ProblemSpec { together: sets.into_iter().map(set).collect(), ..spec.clone() };
        let spec = if Problem::new(&instance, asked.clone()).is_ok() { asked } else { spec };
        (instance, spec)
    })
}

/// Instances whose latency is to be minimised, with 1 to `max_subgraphs` subgraphs on each accelerator.
pub fn latency_problems(
    max_groups: usize,
    max_subgraphs: usize,
    options: InstanceOptions,
) -> impl Strategy<Value = (Instance, ProblemSpec)> {
    let scopes = select(vec![Scope::Acyclic, Scope::Convex, Scope::Arbitrary]);
    let costs = select(vec![CostKind::Additive, CostKind::Overlap, CostKind::Duplex]);
    (instances(max_groups, options), 1..=max_subgraphs, scopes, costs).prop_map(|(instance, subgraphs, scope, cost)| {
        let objective = Objective::Latency { subgraphs };
        let spec = ProblemSpec { objective, scope, cost, ..ProblemSpec::of(&instance) };
        (instance, spec)
    })
}
