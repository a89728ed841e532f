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

const WORKLOADS: &str = "Workloads and costs differ: random graphs of ours, with 96 devices in servers of 8 between which \
                         an edge costs ten times as much as inside.";

fn random(family: RandomFamily) -> Workload {
    // Weights from 1 to 8 bytes, so that both parts of the cost count.
    let random = RandomDag { family, seed: 0, costs: Costs { max_memory: 16.0, ..Costs::default() } };
    let workload = crate::generate::Workload::Random(random);
    Workload::Generated(Box::new(Recipe { cpus: 0, ..Recipe::new(workload) }))
}

fn hierarchy() -> Plan {
    let options = "--objective sharding --scope arbitrary --accelerators 96 --server-size 8 --between-factor 10";
    let published = "Published: cost 384.63 in 181.12 s flat, 96.63 in 5.78 s over the hierarchy. The text speaks of 36 times \
                     less time; its seconds, which count here, give 31.3.";
    let mut plan = Plan { notes: vec![published, WORKLOADS], ..Plan::default() };
    let graphs = [
        ("cells, 201 nodes", RandomFamily::Dnn(Dnn { nodes: 201, ..Dnn::default() })),
        ("chain, 201 nodes", RandomFamily::Chain(Chain { nodes: 201 })),
    ];
    for (row, family) in graphs {
        let mut run = |method| plan.run(Run::new(random(family.clone()), method, options));
        let (flat, hierarchical) = (run("kernighan-lin:starts=1"), run("hierarchical:starts=1"));
        let mut add = |column: &str, quantity, value: f64| {
            plan.figures.push(Figure {
                row: row.into(),
                column: column.into(),
                quantity,
                published: Published::within(value, 0.1),
                because: Some("another graph, and a flat search that updates costs in place of computing them anew"),
            });
        };
        add("cost, flat over hierarchical", Quantity::ObjectiveRatio(flat, hierarchical), 384.63 / 96.63);
        add("time, flat over hierarchical", Quantity::SecondsRatio(flat, hierarchical), 181.12 / 5.78);
    }
    plan
}

fn heuristic() -> Plan {
    let claim = "Published as a plot for 1001 nodes: within the same time the heuristic's cost is orders of magnitude below \
                 that of brute force, in place of which our branch and bound stands.";
    let mut plan = Plan { notes: vec![claim, WORKLOADS], ..Plan::default() };
    for nodes in [11, 101, 1001] {
        let options = "--objective sharding --scope arbitrary --accelerators 8";
        let workload = random(RandomFamily::Dnn(Dnn { nodes, ..Dnn::default() }));
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
