//! The sharding cost of Chen 2024: flat against hierarchical search, priced against recomputed moves, and branch and
//! bound against brute force. `cargo bench --bench sharding` prints it as Markdown.

mod support;

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use dagsplit::generate::{Costs, Dnn, RandomDag, RandomFamily, Recipe};
use dagsplit::instance::Instance;
use dagsplit::internals::sharding::descent::{Descent, Effort, random_placement};
use dagsplit::internals::sharding::{Model, Placement, Shards};
use dagsplit::problem::{Interconnect, Objective, Problem, ProblemSpec, Scope, Sharding};
use dagsplit::solve::BruteForce;
use dagsplit::solve::ShardingBb;
use dagsplit::solve::{Hierarchical, KernighanLin, Levels};
use dagsplit::solve::{Outcome, SearchContext, Solver};
use dagsplit::verify;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use support::family::made;
use support::figures::{head, or_dash, row};
use support::limits::Searching;

/// Seconds that a solve may take.
const SECONDS: f64 = 60.0;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    search: Searching,
    /// How many seeds the first two tables are over.
    #[arg(long, default_value_t = 5)]
    seeds: u64,
}

/// The paper's size: 201 nodes over 96 devices.
const NODES: usize = 201;
const DEVICES: usize = 96;

/// Servers of six accelerators.
const SERVERS: Interconnect = Interconnect { server_size: 6, between_factor: 4.0 };

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.search.limits.is_asked("sharding") {
        return Ok(());
    }
    flat_against_hierarchical(&args)?;
    priced_against_recomputed(&args)?;
    proofs(&args)
}

/// Cells with skips as in deep networks; weights are integers from 0 to 5.
fn instance(nodes: usize, devices: usize, seed: u64) -> Instance {
    let family = RandomFamily::Dnn(Dnn { nodes, ..Dnn::default() });
    let costs = Costs { integer: true, max_memory: 10.0, ..Costs::default() };
    let random = RandomDag { costs, ..RandomDag::new(family, seed) };
    made(&Recipe { accelerators: devices, cpus: 0, ..Recipe::new(random) })
}

fn problem(instance: &Instance, interconnect: Option<Interconnect>) -> Result<Problem> {
    let objective = Objective::Sharding(Sharding::default());
    let spec = ProblemSpec { objective, interconnect, scope: Scope::Arbitrary, ..ProblemSpec::of(instance) };
    Problem::new(instance, spec).context("generated workloads are valid")
}

/// The verified cost of what `solver` finds, its outcome, and its seconds.
fn solved(solver: &dyn Solver, instance: &Instance, problem: &Problem, args: &Args) -> Result<(f64, Outcome, f64)> {
    let mut cx = args.search.context(SECONDS);
    let start = Instant::now();
    let outcome = solver.solve(problem, &mut cx)?.outcome;
    let seconds = start.elapsed().as_secs_f64();
    let split = outcome.solution().context("a split exists")?;
    let verified = verify::check(instance, &problem.spec, split)
        .map_err(|violations| anyhow::anyhow!("the split is wrong: {violations:?}"))?;
    Ok((verified.objective(), outcome, seconds))
}

fn flat_against_hierarchical(args: &Args) -> Result<()> {
    println!("\nFlat against hierarchical search, {NODES} nodes over {DEVICES} devices (16 servers of 6, factor 4).");
    println!(
        "Published (other workload, Python): 384.63 in 181.12 s against 96.63 in 5.78 s: 4 times better in 1/31.\n"
    );
    let titles = ["seed", "starts", "flat", "seconds", "levels", "hierarchical", "seconds", "cost ratio", "time ratio"];
    println!("{}", head(&titles, 0));
    for seed in 1..=args.seeds {
        let instance = instance(NODES, DEVICES, seed);
        let problem = problem(&instance, Some(SERVERS))?;
        for starts in [1, 16] {
            let (flat, _, flat_seconds) =
                solved(&KernighanLin { starts, ..KernighanLin::default() }, &instance, &problem, args)?;
            for (name, levels) in [("4/4/6", Levels::Given(vec![4, 4, 6])), ("auto", Levels::Automatic)] {
                let hierarchical = Hierarchical { levels, starts, ..Hierarchical::default() };
                let (found, _, seconds) = solved(&hierarchical, &instance, &problem, args)?;
                println!(
                    "{}",
                    row(&[
                        seed.to_string(),
                        starts.to_string(),
                        format!("{flat:.2}"),
                        format!("{flat_seconds:.4}"),
                        name.to_owned(),
                        format!("{found:.2}"),
                        format!("{seconds:.4}"),
                        format!("{:.2}", flat / found),
                        format!("{:.1}", flat_seconds / seconds),
                    ])
                );
            }
        }
    }
    Ok(())
}

fn priced_against_recomputed(args: &Args) -> Result<()> {
    println!("\nFlat search with moves priced by tables against the cost recomputed for each move: the same moves.\n");
    let titles = ["seed", "moves tried", "made", "priced ns", "recomputed ns", "ratio"];
    println!("{}", head(&titles, 0));
    for seed in 1..=args.seeds {
        let instance = instance(NODES, DEVICES, seed);
        // Without servers: whole parts then never change places, which the rival does not do.
        let problem = problem(&instance, None)?;
        let shards = Shards::new(&problem);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let start = random_placement(&shards.model, &mut rng).context("everything fits")?;
        let cx = SearchContext::new();
        let clock = Instant::now();
        let mut placement = Placement::new(&shards.model, start.clone());
        let effort = Descent { sweeps: usize::MAX, passes: 0 }.run(&mut placement, &cx);
        let priced = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let (rival, rival_effort) = descend_recomputing(&shards.model, start);
        let recomputed = clock.elapsed().as_secs_f64();
        ensure!(placement.part_of() == rival && effort == rival_effort, "the two searches went different ways");
        let per_move = |seconds: f64| seconds * 1e9 / effort.tried as f64;
        println!(
            "{}",
            row(&[
                seed.to_string(),
                effort.tried.to_string(),
                effort.made.to_string(),
                format!("{:.2}", per_move(priced)),
                format!("{:.1}", per_move(recomputed)),
                format!("{:.0}", recomputed / priced),
            ])
        );
    }
    Ok(())
}

/// The descent as the paper has it: the cost of all for each move.
fn descend_recomputing(model: &Model, mut part_of: Vec<u32>) -> (Vec<u32>, Effort) {
    let mut effort = Effort::default();
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); model.part_count()];
    part_of.iter().enumerate().for_each(|(u, &d)| members[d as usize].push(u));
    let mut cost = model.cost(&part_of);
    loop {
        let before = effort.made;
        for from in 0..members.len() {
            for to in (0..members.len()).filter(|&to| to != from) {
                for i in 0..members[from].len() {
                    let u = members[from][i];
                    part_of[u] = to as u32;
                    let moved = model.cost(&part_of);
                    effort.tried += 1;
                    // Costs that differ by rounding alone are equal.
                    if moved < cost - 1e-6 {
                        cost = moved;
                        effort.made += 1;
                        members[from].remove(i);
                        members[to].push(u);
                        break;
                    }
                    part_of[u] = from as u32;
                }
            }
        }
        if effort.made == before {
            return (part_of, effort);
        }
    }
}

/// More splits than brute force looks at in reasonable time.
const MOST_SPLITS: u32 = 30_000_000;

fn proofs(args: &Args) -> Result<()> {
    println!("\nBranch and bound against brute force, and what the heuristics are above the optimum.\n");
    let titles = [
        "nodes",
        "devices",
        "best",
        "brute force s",
        "branch and bound s",
        "placements",
        "gap %",
        "flat above %",
        "hierarchical above %",
        "flat with passes above %",
    ];
    println!("{}", head(&titles, 0));
    for (nodes, devices) in
        [(9, 3), (11, 4), (12, 4), (16, 4), (24, 4), (28, 4), (32, 4), (40, 4), (16, 8), (24, 8), (32, 8)]
    {
        let instance = instance(nodes, devices, 1);
        let problem = problem(&instance, None)?;
        let is_small = nodes <= BruteForce::MAX_GROUPS && (devices as u32).pow(nodes as u32) <= MOST_SPLITS;
        let brute = is_small.then(|| solved(&BruteForce, &instance, &problem, args)).transpose()?;
        let mut cx = args.search.context(SECONDS);
        let start = Instant::now();
        let run = ShardingBb::default().solve(&problem, &mut cx)?;
        let seconds = start.elapsed().as_secs_f64();
        let found = run.outcome.solution().and_then(|split| split.objective).context("a split exists")?;
        if let Some((optimum, ..)) = &brute {
            ensure!((found - optimum).abs() <= 1e-9 * optimum, "brute force finds {optimum}, branch and bound {found}");
        }
        let gap = run.outcome.bound().map_or(1.0, |bound| 1.0 - bound.value / found);
        let above = |value: f64| format!("{:.1}", 100.0 * (value / found - 1.0));
        let (flat, ..) = solved(&KernighanLin::default(), &instance, &problem, args)?;
        let passes = KernighanLin { passes: 100, ..KernighanLin::default() };
        let (passed, ..) = solved(&passes, &instance, &problem, args)?;
        let (hierarchical, ..) = solved(&Hierarchical::default(), &instance, &problem, args)?;
        println!(
            "{}",
            row(&[
                nodes.to_string(),
                devices.to_string(),
                format!("{found:.3}"),
                or_dash(brute.map(|(_, _, seconds)| format!("{seconds:.3}"))),
                format!("{seconds:.3}"),
                or_dash(run.stats.get("placements").map(|count| format!("{count:.0}"))),
                format!("{:.2}", 100.0 * gap),
                above(flat),
                above(hierarchical),
                above(passed),
            ])
        );
    }
    Ok(())
}
