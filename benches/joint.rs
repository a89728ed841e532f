//! What Parmesan's decoupling of partition and mapping loses: the best mapping of the best split for a flat topology,
//! against split and mapping decided together. What a transfer takes on the flat topology is PCIe's time, or the mean of
//! the topology's links; the loss is that of the better one.
//!
//! `cargo bench --bench joint -- [SECONDS]` prints one line for each network, shape and topology, with so many seconds (30)
//! for each search. Networks are joined to clusters first; both ways split the same clusters.

use std::time::{Duration, Instant};

use dagsplit::generate::topology::{GridShape, Hierarchical, Mesh, TopologyRecipe, UniformDist, generate as topology};
use dagsplit::generate::{Recipe, Resnet, SemanticFpn, Swin, Transformer, generate};
use dagsplit::instance::{Instance, Platform};
use dagsplit::mapping::{Counted, StageCost, Topology};
use dagsplit::mapping::{JointOutcome, JointProblem, JointRun, JointSearch, UnitGraph};
use dagsplit::problem::{Problem, ProblemSpec};
use dagsplit::solve::Clustering;
use dagsplit::solve::IdealDp;
use dagsplit::solve::OperatorClustering;
use dagsplit::solve::{SearchContext, Solver, Stats, Status};

/// Clusters of each network.
const CLUSTERS: usize = 24;

/// Numbers of stages, at most, and of replicas.
const SHAPES: [(usize, usize); 3] = [(4, 1), (4, 2), (8, 1)];

fn main() {
    let seconds = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(30);
    let limit = Duration::from_secs(seconds);
    println!(
        "| network | S, R | topology | two phases, PCIe | mean link | together | loss | proven | labels | seconds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (name, instance) in networks() {
        for (stages, replicas) in SHAPES {
            for topology in topologies(stages * replicas) {
                line(name, &instance, stages, replicas, &topology, limit);
            }
        }
    }
}

fn networks() -> Vec<(&'static str, Instance)> {
    let training = |recipe: Recipe| {
        let recipe = Recipe { training: true, cpus: 0, memory: Some(1e13), ..recipe };
        generate(&recipe).unwrap_or_else(|error| panic!("{error}"))
    };
    vec![
        ("ResNet-50", training(Recipe::new(Resnet::default()))),
        ("BERT-base", training(Recipe::new(Transformer::bert_base()))),
        ("Swin-T", training(Recipe::new(Swin::tiny()))),
        ("SemanticFPN", training(Recipe::new(SemanticFpn::default()))),
    ]
}

fn topologies(devices: usize) -> Vec<Topology> {
    let hierarchy = Hierarchical { nodes: devices / 2, node_size: 2, ..Hierarchical::default() };
    let grid = GridShape::new(vec![2, devices / 2]).unwrap_or_else(|error| panic!("{error}"));
    let recipes = [
        TopologyRecipe::new(hierarchy),
        TopologyRecipe::new(Mesh { shape: grid }),
        TopologyRecipe::new(UniformDist { devices, ..UniformDist::default() }),
    ];
    recipes.iter().map(|recipe| topology(recipe).unwrap_or_else(|error| panic!("{error}"))).collect()
}

fn line(name: &str, instance: &Instance, stages: usize, replicas: usize, topology: &Topology, limit: Duration) {
    let spec = ProblemSpec { platform: Platform::uniform(stages, None, 0), ..ProblemSpec::of(instance) };
    let problem = Problem::new(instance, spec).unwrap_or_else(|problems| panic!("{problems}"));
    let clustering = OperatorClustering { clusters: CLUSTERS, ..OperatorClustering::default() };
    let clusters = clustering.clusters(&problem, &mut SearchContext::new()).unwrap_or_else(|error| panic!("{error}"));
    let clustered = problem.clustered(&clusters);
    let (units, members) = UnitGraph::new(instance, &clustered).unwrap_or_else(|problems| panic!("{problems}"));
    let cost = StageCost::additive(Counted::Both);
    let joint = JointProblem { units, stages, replicas, topology: topology.clone(), cost };
    let as_given = two_phases(&joint, &members, &clustered, limit);
    let on_mean =
        two_phases(&joint, &members, &on_mean_links(instance, &problem, topology).clustered(&clusters), limit);
    let start = Instant::now();
    let together = at_most(&joint, limit);
    let seconds = start.elapsed().as_secs_f64();
    let time = |run: &JointRun| run.outcome.solution().map_or(f64::NAN, |plan| plan.time);
    let (first, mean, second) = (time(&as_given), time(&on_mean), time(&together));
    println!(
        "| {name} | {stages}, {replicas} | {} | {first:.2} | {mean:.2} | {second:.2} | {:.1} % | {} | {} | {seconds:.1} |",
        topology.name,
        100.0 * (first.min(mean) / second - 1.0),
        match together.outcome.status() {
            Status::Optimal => "yes".to_owned(),
            _ => format!("gap {:.1} %", 100.0 * (1.0 - bound(&together) / second)),
        },
        labels(&together),
    );
}

/// The problem where transfers take the mean time of the topology's links, in place of PCIe as in the file.
fn on_mean_links(instance: &Instance, problem: &Problem, topology: &Topology) -> Problem {
    let pairs = || (0..topology.len()).flat_map(|a| (0..topology.len()).filter(move |&b| b != a).map(move |b| (a, b)));
    let per_byte = pairs().map(|(a, b)| 1.0 / topology.bandwidth(a, b)).sum::<f64>() / pairs().count() as f64;
    let mut flat = instance.clone();
    flat.nodes.iter_mut().for_each(|node| node.transfer_time = node.output_bytes.unwrap_or(0.0) * per_byte);
    Problem::new(&flat, problem.spec.clone()).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The best mapping of the best split for a flat topology.
fn two_phases(joint: &JointProblem, members: &[Vec<u64>], problem: &Problem, limit: Duration) -> JointRun {
    let mut cx = SearchContext::new().with_time_limit(limit);
    let run = IdealDp::default().solve(problem, &mut cx).unwrap_or_else(|error| panic!("{error}"));
    let split = run.outcome.solution().map(|split| split.devices.clone()).unwrap_or_default();
    let held = split.iter().filter(|device| !device.nodes.is_empty()).map(|device| {
        let units = members.iter().enumerate().filter(|(_, nodes)| device.nodes.contains(&nodes[0]));
        units.map(|(unit, _)| unit).collect()
    });
    let stages: Vec<Vec<usize>> = held.collect();
    search(&joint.with_stages(&stages), limit)
}

/// The best plan of at most so many stages, for a split that is made for a flat topology may have fewer, too.
fn at_most(joint: &JointProblem, limit: Duration) -> JointRun {
    let runs = (1..=joint.stages).map(|stages| search(&JointProblem { stages, ..joint.clone() }, limit));
    let time = |run: &JointRun| run.outcome.solution().map_or(f64::MAX, |plan| plan.time);
    let both = |a: JointRun, b: JointRun| {
        let stats = Stats::of([("labels", labels(&a) + labels(&b))]);
        let least = bound(&a).min(bound(&b));
        let better = if time(&a) <= time(&b) { a } else { b };
        let outcome = match better.outcome {
            JointOutcome::Optimal { solution, .. } | JointOutcome::Feasible { solution, .. } => {
                let time = solution.time;
                JointOutcome::found(solution, time, least)
            }
            other => other,
        };
        JointRun { outcome, stats }
    };
    runs.reduce(both).unwrap_or_else(|| panic!("there is at least one stage"))
}

/// What no plan is below: anything, where there is none.
fn bound(run: &JointRun) -> f64 {
    run.outcome.bound().copied().unwrap_or(f64::MAX)
}

fn labels(run: &JointRun) -> f64 {
    run.stats.get("labels").unwrap_or(0.0)
}

fn search(problem: &JointProblem, limit: Duration) -> JointRun {
    let cx = SearchContext::new().with_time_limit(limit);
    JointSearch::default().solve(problem, &cx).unwrap_or_else(|error| panic!("{error}"))
}
