//! Chen et al. 2024: the sharding cost, searched flat and over a hierarchy of devices. Its graphs are not public.

use super::{Figure, Plan, Published, Quantity, Run, Study, Workload};
use crate::generate::{Chain, Costs, Dnn, RandomDag, RandomFamily, Recipe};

pub(super) const STUDIES: &[Study] = &[
    Study {
        name: "chen-hierarchy",
        title: "flat search over the hierarchical one at 201 nodes and 96 devices",
        source: "Chen 2024, section 2.5",
        plan: hierarchy,
    },
    Study {
        name: "chen-heuristic",
        title: "sharding cost of the exact search over that of the heuristic within the same time",
        source: "Chen 2024, Figure 1",
        plan: heuristic,
    },
];

const WORKLOADS: &str = "Workloads and costs differ: random graphs of ours.";

fn random(family: RandomFamily, max_memory: f64) -> Workload {
    let random = RandomDag { family, seed: 0, costs: Costs { max_memory, ..Costs::default() } };
    let workload = crate::generate::Workload::Random(random);
    Workload::Generated(Box::new(Recipe { cpus: 0, ..Recipe::new(workload) }))
}

/// Two paths of 100 and 101 nodes that meet, each node of weight 2, over 96 devices. The authors' program gives a level
/// of the hierarchy 2, 3, 4, 4 a price of 0.5 wherever the remainders of two devices fall apart there, which they do in
/// the first level alone: an edge costs 0.5 but where devices 2i and 2i + 1 share it, where it costs nothing, or next to
/// nothing here. Nodes of one byte and a variance weight of 4 stand for the weight 2.
const SETTING: &str = "--objective sharding --scope arbitrary --shard-weight memory --variance-weight 4 \
                       --accelerators 96 --server-size 2 --edge-cost 1e-9 --between-factor 5e8";

/// How the authors' program searches: 20 starts, 10 sweeps, each of which ends early.
const AUTHORS: &str = "starts=20,sweeps=10,published=true";

fn hierarchy() -> Plan {
    let workload = "Graph, weights, prices and limits are those of the authors' program. Both published costs end in .63 \
                    because 201 nodes of weight 2 over 96 devices have squares that do.";
    let cause = "The authors' flat search is cut off: it makes 10 sweeps, and a sweep ends after the first device that gave \
                 a node away, so that hardly more than 10 of 96 devices are touched from each random start. With 2 to 4 \
                 groups in each level the same limit lets the hierarchical search converge. Our flat search goes on until \
                 no move helps, and is then the better one.";
    let times =
        "Times: Python against Rust; the text speaks of 36 times less time, its seconds, which count here, give 31.3.";
    let mut plan = Plan { notes: vec![workload, cause, times], ..Plan::default() };
    let graph = || random(RandomFamily::Chain(Chain { nodes: 201, paths: 2 }), 1.0);
    let mut run = |method: String| plan.run(Run::new(graph(), method, SETTING));
    let rows = [
        ("as the authors search", AUTHORS, Some([384.63, 181.12, 96.63, 5.78])),
        ("ours, as many starts", "starts=20", None),
    ];
    let runs = rows.map(|(row, parameters, published)| {
        let flat = run(format!("kernighan-lin:{parameters}"));
        (row, flat, run(format!("hierarchical:levels=2/3/4/4,{parameters}")), published)
    });
    for (row, flat, hierarchical, published) in runs {
        let starts = "random starts, of which neither program's are the other's";
        let machine = "another language and another machine";
        let mut add = |column: &str, quantity, value: Option<f64>, part, because| {
            let published = value.map_or(Published::Nothing, |value| Published::within(value, part));
            plan.figures.push(Figure { row: row.into(), column: column.into(), quantity, published, because });
        };
        let of = |value: fn([f64; 4]) -> f64| published.map(value);
        add("cost, flat", Quantity::Objective(flat), of(|p| p[0]), 0.05, Some(starts));
        add("cost, hierarchical", Quantity::Objective(hierarchical), of(|p| p[2]), 0.05, Some(starts));
        add(
            "flat over hierarchical",
            Quantity::ObjectiveRatio(flat, hierarchical),
            of(|p| p[0] / p[2]),
            0.1,
            Some(starts),
        );
        add("seconds, flat", Quantity::Seconds(flat), of(|p| p[1]), 0.1, Some(machine));
        add("seconds, hierarchical", Quantity::Seconds(hierarchical), of(|p| p[3]), 0.1, Some(machine));
        add(
            "time, flat over hierarchical",
            Quantity::SecondsRatio(flat, hierarchical),
            of(|p| p[1] / p[3]),
            0.5,
            Some(machine),
        );
    }
    plan
}

fn heuristic() -> Plan {
    let claim = "Published as a plot for 1001 nodes: within the same time the heuristic's cost is orders of magnitude below \
                 that of brute force, in place of which our branch and bound stands.";
    let mut plan = Plan { notes: vec![claim, WORKLOADS], ..Plan::default() };
    for nodes in [11, 101, 1001] {
        let options = "--objective sharding --scope arbitrary --accelerators 8";
        // Weights from 1 to 8 bytes, so that both parts of the cost count.
        let workload = random(RandomFamily::Dnn(Dnn { nodes, ..Dnn::default() }), 16.0);
        let mut run = |method| plan.run(Run::new(workload.clone(), method, options));
        let (exact, heuristic) = (run("sharding-bb"), run("kernighan-lin"));
        plan.figures.push(Figure {
            row: format!("{nodes} nodes, 8 devices"),
            column: "exact over heuristic".into(),
            quantity: Quantity::ObjectiveRatio(exact, heuristic),
            published: if nodes == 1001 { Published::AtLeast(10.0) } else { Published::Nothing },
            because: Some("another graph; our branch and bound starts from a good split, where brute force has none"),
        });
    }
    plan
}
