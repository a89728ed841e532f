//! Time of the published clusterings against the size of the graph: RaNNC's blocks and Parmesan's clusters of BERT.
//!
//! `cargo bench --bench partitioners -- [MOST_NODES]` prints one line for each size, and RaNNC's ablation: its split of the
//! smallest network with and without blocks, beside those of other methods.

use std::time::Instant;

use dagsplit::generate::{Recipe, Transformer, generate};
use dagsplit::instance::Instance;
use dagsplit::problem::{Problem, ProblemSpec};
use dagsplit::registry::solver;
use dagsplit::solve::Clustering;
use dagsplit::solve::SearchContext;
use dagsplit::solve::{Blocks, OperatorClustering};

/// Layers of the networks. RaNNC's largest has 256, with about 15,000 atomic components at its granularity; here 300
/// layers have as many nodes.
const LAYERS: [u32; 7] = [12, 32, 64, 96, 128, 256, 300];

fn main() {
    let most = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(usize::MAX);
    println!("| layers | nodes | blocks, k = 32 | clusters, K = 48 | clusters, K = 48, α = 1 |");
    println!("|---|---|---|---|---|");
    for layers in LAYERS {
        let problem = problem(&bert(layers));
        let nodes = problem.node_count();
        if nodes > most {
            break;
        }
        let blocks = seconds(&Blocks::default(), &problem);
        let clusters = seconds(&OperatorClustering::default(), &problem);
        let single = seconds(&OperatorClustering { alphas: vec![1.0], ..Default::default() }, &problem);
        println!("| {layers} | {nodes} | {blocks:.2} s | {clusters:.2} s | {single:.2} s |");
    }
    ablation(&problem(&bert(LAYERS[0])));
}

/// BERT of so many layers, written in elementary operators, on 16 accelerators that hold any of it.
fn bert(layers: u32) -> Instance {
    let transformer = Transformer { layers, elementary: true, ..Transformer::bert_base() };
    let recipe = Recipe { accelerators: 16, cpus: 0, memory: Some(1e13), ..Recipe::new(transformer) };
    generate(&recipe).unwrap_or_else(|error| panic!("{error}"))
}

fn problem(instance: &Instance) -> Problem {
    Problem::new(instance, ProblemSpec::of(instance)).unwrap_or_else(|problems| panic!("{problems}"))
}

fn seconds(clustering: &dyn Clustering, problem: &Problem) -> f64 {
    let start = Instant::now();
    let clusters = clustering.clusters(problem, &mut SearchContext::new());
    assert!(clusters.is_ok_and(|clusters| clusters.len() == problem.node_count()));
    start.elapsed().as_secs_f64()
}

fn ablation(problem: &Problem) {
    println!("\n| method | time per sample | seconds |\n|---|---|---|");
    for name in ["rannc:k=32", "rannc:coarsen=false", "blocks:k=32+dp", "parmesan", "dpl"] {
        let start = Instant::now();
        let run = solver(name).map(|method| method.solve(problem, &mut SearchContext::new()));
        let objective = run.ok().and_then(Result::ok).and_then(|run| run.outcome.solution()?.objective);
        let seconds = start.elapsed().as_secs_f64();
        println!("| {name} | {} | {seconds:.2} |", objective.map_or("none".into(), |value| format!("{value:.4}")));
    }
}
