//! Table IV and Figure 5: refinement and clustering.

use super::workloads::{Network, bert_large, resnet152, swin_large};
use super::{SIMULATED, WORKLOADS, by_rule};
use crate::generate::topology::{Hierarchical, TopologyRecipe};
use crate::reproduce::{Figure, Plan, Published, Quantity, Run, Study};

pub(super) const REFINEMENT: Study = Study {
    name: "parmesan-refinement",
    title: "speed-up by refinement after clustering and DP, with S stages in R copies",
    source: "Parmesan 2024, Table IV",
    plan: refinement,
};

pub(super) const CLUSTERS: Study = Study {
    name: "parmesan-clusters",
    title: "effect of the number of clusters K, with S = 4",
    source: "Parmesan 2024, Fig. 5",
    plan: clusters,
};

const MAPPING: &str = "The mapping that the paper fixes is not told; ours is consecutive. The last columns compare the \
                       largest loads of the splits alone.";

/// Why refinement gains another part.
const LITTLE: &str = "another workload and another cost model; refinement moves a node only where the largest load falls, and how \
                      little there is to gain tell the columns by load and to the DP without clusters";

/// S accelerators. The paper recomputes activations, which our graphs keep, so that memory is no limit.
fn stages(count: usize) -> String {
    format!("--scope acyclic --memory unlimited --accelerators {count}")
}

/// Stages and replicas of the columns of Table IV.
const COLUMNS: [(usize, usize); 3] = [(4, 4), (8, 2), (16, 1)];

/// A task's name, its network, and the published speed-ups by column.
type Row = (&'static str, fn() -> Network, [f64; 3]);

/// Its rows, by task.
const TASKS: [Row; 3] = [
    ("Res152 classification", resnet152, [1.04, 1.09, 1.14]),
    ("BERT-L pre-training", bert_large, [1.00, 1.17, 1.25]),
    ("Swin-L pre-training", swin_large, [1.38, 1.28, 1.12]),
];

fn refinement() -> Plan {
    let mut plan = Plan { notes: vec![WORKLOADS, SIMULATED, MAPPING], ..Plan::default() };
    let topology = TopologyRecipe::new(Hierarchical::default());
    for (row, network, values) in TASKS {
        let Network { workload, clusters } = network();
        let (plain, refined) = (format!("cluster:k={clusters}+dp"), network().partitioner());
        for ((s, r), value) in COLUMNS.into_iter().zip(values) {
            let mapping = by_rule("consecutive");
            let mut planned =
                |method: &str| plan.run(Run::planned(workload.clone(), method, &topology, (s, r), &mapping));
            let simulated = Quantity::ObjectiveRatio(planned(&plain), planned(&refined));
            let mut split = |method: &str| plan.run(Run::new(workload.clone(), method, &stages(s)));
            let loads = Quantity::ObjectiveRatio(split(&plain), split(&refined));
            let optimum = Quantity::ObjectiveRatio(split(&refined), split("dp"));
            let published = Published::within(value, 0.05);
            let mut add = |column: String, quantity, published, because| {
                plan.figures.push(Figure { row: row.into(), column, quantity, published, because });
            };
            add(format!("({s},{r})"), simulated, published, Some(LITTLE));
            add(format!("({s},{r}), by load"), loads, Published::Nothing, None);
            add(format!("({s},{r}), refined to DP without clusters"), optimum, Published::Nothing, None);
        }
    }
    plan.columns = vec![
        "(4,4)",
        "(8,2)",
        "(16,1)",
        "(4,4), by load",
        "(8,2), by load",
        "(16,1), by load",
        "(4,4), refined to DP without clusters",
        "(8,2), refined to DP without clusters",
        "(16,1), refined to DP without clusters",
    ];
    plan
}

/// Numbers of clusters.
const COUNTS: [usize; 6] = [8, 16, 24, 32, 48, 64];

fn clusters() -> Plan {
    let shape = "Published as a plot without figures: throughput changes little with K and not at all once K is large; the \
                 DP's time grows steeply.";
    let mut plan = Plan { notes: vec![shape, WORKLOADS], ..Plan::default() };
    let networks = [("Res152", resnet152().workload), ("BERT-L", bert_large().workload)];
    let rows = COUNTS.map(|k| (format!("K = {k}"), format!("cluster:k={k}+dp")));
    for (row, method) in rows.into_iter().chain([("no clusters".to_owned(), "dp".to_owned())]) {
        for (network, workload) in &networks {
            let run = plan.run(Run::new(workload.clone(), method.as_str(), &stages(4)));
            for (what, quantity) in [("load", Quantity::Objective(run)), ("seconds", Quantity::Seconds(run))] {
                plan.figures.push(Figure {
                    row: row.clone(),
                    column: format!("{network}, {what}"),
                    quantity,
                    published: Published::Nothing,
                    because: None,
                });
            }
        }
    }
    plan
}
