//! Random problems for property tests, and solving with every answer verified.
//!
//! All weights are small integers, so that sums are exact and ties are frequent; shrinking leads to few nodes with
//! zero costs.

// Each test binary uses its own part of this module.
#![allow(dead_code)]

use dagsplit::instance::{AcceleratorClass, Edge, Instance, Node, Platform};
use dagsplit::problem::{CostKind, Interconnect, Objective, Problem, ProblemSpec, Replication, Scope};
use dagsplit::solve::{Guarantee, Outcome, SearchContext, Solver};
use dagsplit::verify;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::FileFailurePersistence;

/// What generated instances may contain.
#[derive(Debug, Clone, Copy)]
pub struct InstanceOptions {
    /// Backward passes: mirrored nodes, nodes without forward partner, edges that oppose the mirrored order.
    pub training: bool,
    /// Colour classes with several forward nodes, or several nodes of an inference graph.
    pub shared_colors: bool,
    /// Nodes that some kinds of device cannot run; one kind can run each colour class.
    pub unsupported: bool,
    /// Accelerators with little memory.
    pub memory_limits: bool,
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
        training: true,
        shared_colors: true,
        unsupported: true,
        memory_limits: true,
        max_classes: 2,
        max_accelerators: 3,
        max_cpus: 3,
    };

    /// Inference graphs whose nodes run anywhere and fit anywhere.
    pub const PLAIN: Self = Self {
        training: false,
        shared_colors: false,
        unsupported: false,
        memory_limits: false,
        max_classes: 1,
        max_accelerators: 3,
        max_cpus: 2,
    };
}

/// A configuration of `cases` cases that keeps failing ones in a file beside the test.
pub fn config(cases: u32) -> ProptestConfig {
    let failure_persistence = FileFailurePersistence::WithSource("regressions");
    ProptestConfig { cases, failure_persistence: Some(Box::new(failure_persistence)), ..ProptestConfig::default() }
}

/// Valid instances of at least one forward node and at most `max_groups` colour groups (at least 1).
pub fn instances(max_groups: usize, options: InstanceOptions) -> impl Strategy<Value = Instance> {
    let pass = if options.training { option::of(backward_plans(max_groups)).boxed() } else { Just(None).boxed() };
    let shares = if options.shared_colors { vec(any::<(Index, Index)>(), 0..=2).boxed() } else { Just(vec![]).boxed() };
    (forward_graphs(max_groups), pass, shares, vec(node_costs(options), 2 * max_groups), platforms(options))
        .prop_map(|(dag, plan, shares, costs, platform)| build(dag, plan, &shares, &costs, platform))
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
        })
}

/// Instances with a request of any kind.
pub fn problems(max_groups: usize, options: InstanceOptions) -> impl Strategy<Value = (Instance, ProblemSpec)> {
    instances(max_groups, options).prop_flat_map(|instance| {
        let specs = specs(&instance);
        (Just(instance), specs)
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

/// Solves without limits, has the verifier check the answer and its claimed objective, and returns the objective;
/// `None` where no split exists or a heuristic finds none. Panics with the whole problem otherwise.
pub fn solve_and_verify(solver: &dyn Solver, instance: &Instance, spec: &ProblemSpec) -> Option<f64> {
    let fail = |what: String| -> ! { panic!("{}: {what}\nspec: {spec:?}\ninstance: {instance:?}", solver.name()) };
    let problem = Problem::new(instance, spec.clone()).unwrap_or_else(|problems| fail(problems.to_string()));
    let run = solver.solve(&problem, &mut SearchContext::new()).unwrap_or_else(|error| fail(error.to_string()));
    let exact = solver.guarantee() == Guarantee::Exact;
    match &run.outcome {
        Outcome::Optimal { solution, bound } if !solution.objective.is_some_and(|value| proves(bound.value, value)) => {
            fail(format!("the bound {} does not prove the objective {:?}", bound.value, solution.objective))
        }
        Outcome::Feasible { .. } | Outcome::Unknown { .. } if exact => {
            fail(format!("an exact solver without limits gave up: {:?}", run.outcome))
        }
        _ => {}
    }
    let solution = run.outcome.solution()?;
    if solution.objective.is_none() {
        fail("the split claims no objective".into());
    }
    match verify::check(instance, spec, solution) {
        Ok(_) => solution.objective,
        Err(violations) => {
            let listed: Vec<String> = violations.iter().map(ToString::to_string).collect();
            fail(format!("the verifier rejects {solution:?}: {}", listed.join("; ")))
        }
    }
}

/// Whether a bound proves an objective optimal: it is no higher, and lower by no more than rounding.
pub fn proves(bound: f64, objective: f64) -> bool {
    bound <= objective && objective - bound <= verify::CLAIM_TOLERANCE * objective
}

/// An acyclic graph on nodes `0..nodes`.
#[derive(Debug, Clone, Default)]
struct Dag {
    nodes: usize,
    edges: Vec<(usize, usize)>,
}

impl Dag {
    /// Adds an edge unless it closes a cycle or is there already.
    fn add(&mut self, source: usize, target: usize) {
        if !self.reaches(target, source) && !self.edges.contains(&(source, target)) {
            self.edges.push((source, target));
        }
    }

    fn reaches(&self, from: usize, to: usize) -> bool {
        from == to || self.edges.iter().any(|&(u, v)| u == from && self.reaches(v, to))
    }
}

fn forward_graphs(max: usize) -> impl Strategy<Value = Dag> {
    prop_oneof![chains(max), random_dags(max), layered(max), series_parallel(max)]
}

/// Mostly the larger half of the sizes.
fn sizes(max: usize) -> impl Strategy<Value = usize> {
    prop_oneof![1 => 1..=max, 2 => max.div_ceil(2)..=max]
}

fn chains(max: usize) -> impl Strategy<Value = Dag> {
    sizes(max).prop_map(|nodes| Dag { nodes, edges: (1..nodes).map(|v| (v - 1, v)).collect() })
}

fn random_dags(max: usize) -> impl Strategy<Value = Dag> {
    (sizes(max), vec(any::<(Index, Index)>(), 0..=2 * max)).prop_map(|(nodes, pairs)| {
        let mut dag = Dag { nodes, edges: vec![] };
        pairs.iter().for_each(|(u, v)| dag.add(u.index(nodes), v.index(nodes)));
        dag
    })
}

/// Layers of up to three nodes; each node consumes some of the layer before it.
fn layered(max: usize) -> impl Strategy<Value = Dag> {
    vec((1..=3usize, any::<[[bool; 3]; 3]>()), 1..=max).prop_map(move |layers| {
        let mut dag = Dag::default();
        let mut previous = 0..0;
        for (width, links) in layers {
            let layer = dag.nodes..(dag.nodes + width).min(max);
            for (v, links) in layer.clone().zip(&links) {
                let mut sources: Vec<usize> =
                    previous.clone().zip(links).filter(|(_, l)| **l).map(|(u, _)| u).collect();
                if sources.is_empty() {
                    sources.extend(previous.clone().next());
                }
                dag.edges.extend(sources.into_iter().map(|u| (u, v)));
            }
            dag.nodes = layer.end;
            previous = layer;
        }
        dag
    })
}

/// Starts from one edge; each step puts a node into an edge or beside it.
fn series_parallel(max: usize) -> impl Strategy<Value = Dag> {
    vec(any::<(Index, bool)>(), 0..max.max(2) - 1).prop_map(move |steps| {
        if max < 2 {
            return Dag { nodes: 1, edges: vec![] };
        }
        let mut dag = Dag { nodes: 2, edges: vec![(0, 1)] };
        for (edge, parallel) in steps.into_iter().take(max - 2) {
            let chosen = edge.index(dag.edges.len());
            let (u, v) = dag.edges[chosen];
            if !parallel {
                dag.edges.remove(chosen);
            }
            dag.edges.extend([(u, dag.nodes), (dag.nodes, v)]);
            dag.nodes += 1;
        }
        dag
    })
}

/// How a backward pass is added to a forward graph.
#[derive(Debug, Clone)]
struct BackwardPlan {
    /// Which forward nodes have a backward partner of their colour.
    mirrored: Vec<bool>,
    /// Which partners consume the output of their forward node; those of sinks always do.
    saves: Vec<bool>,
    /// Whether the partners have the forward edges, reversed.
    mirrored_edges: bool,
    /// Backward nodes without forward partner.
    orphans: usize,
    /// Whether the orphans share a colour.
    orphans_share: bool,
    /// Further edges between backward nodes, taken where they close no cycle.
    extra: Vec<(Index, Index)>,
    /// Further edges from forward to backward nodes.
    feeds: Vec<(Index, Index)>,
}

fn backward_plans(max: usize) -> impl Strategy<Value = BackwardPlan> {
    (
        vec(prop::bool::weighted(0.8), max),
        vec(any::<bool>(), max),
        prop::bool::weighted(0.7),
        0..=2usize,
        any::<bool>(),
        vec(any::<(Index, Index)>(), 0..=max),
        vec(any::<(Index, Index)>(), 0..=2),
    )
        .prop_map(|(mirrored, saves, mirrored_edges, orphans, orphans_share, extra, feeds)| BackwardPlan {
            mirrored,
            saves,
            mirrored_edges,
            orphans,
            orphans_share,
            extra,
            feeds,
        })
}

#[derive(Debug, Clone)]
struct NodeCosts {
    accelerator_times: [Option<u8>; 2],
    cpu_time: Option<u8>,
    memory: u8,
    transfer_time: u8,
    parameter_bytes: u8,
}

fn node_costs(options: InstanceOptions) -> impl Strategy<Value = NodeCosts> {
    let time = move |most: u8| {
        let time = prop_oneof![1 => Just(0), 5 => 0..=most];
        if options.unsupported { option::weighted(0.9, time).boxed() } else { time.prop_map(Some).boxed() }
    };
    (time(9), time(9), time(15), 0..=4u8, 0..=4u8, 0..=6u8).prop_map(
        |(first, second, cpu_time, memory, transfer_time, parameter_bytes)| NodeCosts {
            accelerator_times: [first, second],
            cpu_time,
            memory,
            transfer_time,
            parameter_bytes,
        },
    )
}

fn platforms(options: InstanceOptions) -> impl Strategy<Value = Platform> {
    let memory = if options.memory_limits { option::of(0..=12u8).boxed() } else { Just(None).boxed() };
    let class = (0..=options.max_accelerators, memory).prop_map(|(count, memory)| AcceleratorClass {
        name: None,
        count,
        memory: memory.map(f64::from),
    });
    (vec(class, 1..=options.max_classes), 0..=options.max_cpus).prop_map(|(mut accelerators, cpus)| {
        if cpus == 0 && accelerators.iter().all(|class| class.count == 0) {
            accelerators[0].count = 1;
        }
        Platform { accelerators, cpus, bandwidth: None }
    })
}

fn build(
    mut dag: Dag,
    plan: Option<BackwardPlan>,
    shares: &[(Index, Index)],
    costs: &[NodeCosts],
    platform: Platform,
) -> Instance {
    let forward = dag.nodes;
    let mut colors = vec![None; forward];
    if let Some(mut plan) = plan {
        // There are costs for two nodes of each group.
        plan.orphans = plan.orphans.min(costs.len() / 2 - forward);
        add_backward_pass(&mut dag, &plan, &mut colors);
    }
    for (a, b) in shares {
        share_color(&mut colors, a.index(forward), b.index(forward));
    }
    // Ids fall as indices rise, so that no one can confuse the two.
    let id = |v: usize| 100 - v as u64;
    let node = |v: usize| Node {
        accelerator_times: costs[v].accelerator_times[..platform.accelerators.len()]
            .iter()
            .map(|time| time.map(f64::from))
            .collect(),
        cpu_time: costs[v].cpu_time.map(f64::from),
        memory: costs[v].memory.into(),
        transfer_time: costs[v].transfer_time.into(),
        parameter_bytes: costs[v].parameter_bytes.into(),
        backward: v >= forward,
        color_class: colors[v],
        ..Node::new(id(v))
    };
    let mut nodes: Vec<Node> = (0..dag.nodes).map(node).collect();
    make_runnable(&mut nodes);
    Instance {
        nodes,
        edges: dag.edges.iter().map(|&(u, v)| Edge { source: id(u), target: id(v) }).collect(),
        platform,
        ..Instance::default()
    }
}

/// Gives CPU times to the nodes of each colour class that no kind of device could run as a whole.
fn make_runnable(nodes: &mut [Node]) {
    let runs = |node: &Node, kind: usize| node.accelerator_times.get(kind).copied().unwrap_or(node.cpu_time).is_some();
    for v in 0..nodes.len() {
        let color = nodes[v].color_class;
        let group: Vec<usize> =
            (0..nodes.len()).filter(|&w| w == v || color.is_some() && nodes[w].color_class == color).collect();
        let kinds = 0..=nodes[v].accelerator_times.len();
        if !kinds.into_iter().any(|kind| group.iter().all(|&w| runs(&nodes[w], kind))) {
            group.iter().for_each(|&w| *nodes[w].cpu_time.get_or_insert(0.0) += 1.0);
        }
    }
}

fn add_backward_pass(dag: &mut Dag, plan: &BackwardPlan, colors: &mut Vec<Option<u64>>) {
    let forward = dag.nodes;
    let forward_edges = dag.edges.clone();
    let mut partner = vec![None; forward];
    for v in (0..forward).filter(|&v| plan.mirrored[v]) {
        let color = Some(v as u64);
        partner[v] = Some(dag.nodes);
        (colors[v], dag.nodes) = (color, dag.nodes + 1);
        colors.push(color);
    }
    for (v, partner) in partner.iter().enumerate() {
        let is_sink = !forward_edges.iter().any(|&(source, _)| source == v);
        if let Some(mirror) = partner.filter(|_| plan.saves[v] || is_sink) {
            dag.edges.push((v, mirror));
        }
    }
    for &(u, v) in forward_edges.iter().filter(|_| plan.mirrored_edges) {
        if let (Some(u), Some(v)) = (partner[u], partner[v]) {
            dag.edges.push((v, u));
        }
    }
    colors.extend(vec![plan.orphans_share.then_some(forward as u64); plan.orphans]);
    dag.nodes += plan.orphans;
    let backward = dag.nodes - forward;
    if backward == 0 {
        return;
    }
    for (u, v) in &plan.extra {
        dag.add(forward + u.index(backward), forward + v.index(backward));
    }
    for (u, v) in &plan.feeds {
        dag.add(u.index(forward), forward + v.index(backward));
    }
}

/// Gives the classes of two forward nodes one colour: layers that share weights.
fn share_color(colors: &mut [Option<u64>], a: usize, b: usize) {
    if a == b {
        return;
    }
    let color = colors[a].unwrap_or(50);
    let merged = colors[b];
    for (v, other) in colors.iter_mut().enumerate() {
        if v == a || v == b || (merged.is_some() && *other == merged) {
            *other = Some(color);
        }
    }
}
