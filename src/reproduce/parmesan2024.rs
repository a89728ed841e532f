//! Parmesan (2024): operator clustering, dynamic program, refinement. Its workloads are not public, so the shape of its
//! results is reproduced on graphs of our own that follow its Table VII.

use super::{Figure, OTHER_COSTS, Plan, Published, Quantity, Run, Study, Workload};
use crate::generate::{Head, Recipe, Resnet, Transformer};

pub(super) const STUDIES: &[Study] = &[
    Study {
        name: "parmesan-refinement",
        title: "speed-up by refinement after clustering and DP, with S stages",
        source: "Parmesan 2024, Table IV",
        plan: refinement,
    },
    Study {
        name: "parmesan-clusters",
        title: "effect of the number of clusters K, with S = 4",
        source: "Parmesan 2024, Fig. 5",
        plan: clusters,
    },
];

const WORKLOADS: &str = "Workloads differ: operator graphs of the same networks with modelled costs of a V100 in place of \
                         profiles of a Titan V, on links of one bandwidth.";
const OBJECTIVE: &str = "The published figures are throughputs of whole training steps with a device mapping; ours are \
                         largest loads. R replicas act on micro-batches of their own, so that S alone counts here.";

/// ResNet-152, 64 images of 224 × 224 at a time.
fn resnet152() -> Workload {
    training(Recipe::new(Resnet { depth: 152, batch: 64, ..Resnet::default() }))
}

/// BERT-L for pre-training, 4 sequences of 512 tokens at a time.
fn bert_large() -> Workload {
    training(Recipe::new(Transformer {
        layers: 24,
        hidden: 1024,
        heads: 16,
        feed_forward: 4096,
        sequence: 512,
        batch: 4,
        vocabulary: 30533,
        head: Head::LanguageModel,
        ..Transformer::bert_base()
    }))
}

fn training(recipe: Recipe) -> Workload {
    Workload::Generated(Box::new(Recipe { training: true, cpus: 0, ..recipe }))
}

/// S accelerators. The paper recomputes activations, which our graphs keep, so that memory is no limit.
fn stages(count: usize) -> String {
    format!("--scope acyclic --memory unlimited --accelerators {count}")
}

/// Stages and replicas of the columns of Table IV.
const COLUMNS: [(usize, usize); 3] = [(4, 4), (8, 2), (16, 1)];

/// Its rows, by task, with the number of clusters of Table VII.
const REFINEMENT: [(&str, usize, [f64; 3]); 3] = [
    ("Res152 classification", 32, [1.04, 1.09, 1.14]),
    ("BERT-L pre-training", 48, [1.00, 1.17, 1.25]),
    ("Swin-L pre-training", 32, [1.38, 1.28, 1.12]),
];

fn refinement() -> Plan {
    let mut plan = Plan { notes: vec![WORKLOADS, OBJECTIVE], ..Plan::default() };
    for (row, k, values) in REFINEMENT {
        let workload = match row {
            "Res152 classification" => Some(resnet152()),
            "BERT-L pre-training" => Some(bert_large()),
            _ => None,
        };
        for ((s, r), value) in COLUMNS.into_iter().zip(values) {
            let mut run = |method: String| workload.clone().map(|w| plan.run(Run::new(w, method, &stages(s))));
            let plain = run(format!("cluster:k={k}+dp"));
            let refined = run(format!("cluster:k={k}+dp+refine"));
            let optimum = run("dp".into());
            let ratio = |a: Option<usize>, b: Option<usize>| {
                let unavailable = Quantity::Unavailable("there is no generator of Swin transformers");
                a.zip(b).map_or(unavailable, |(a, b)| Quantity::ObjectiveRatio(a, b))
            };
            plan.figures.push(Figure {
                row: row.into(),
                column: format!("({s},{r})"),
                quantity: ratio(plain, refined),
                published: Published::within(value, 0.05),
                because: Some(OTHER_COSTS),
            });
            plan.figures.push(Figure {
                row: row.into(),
                column: format!("({s},{r}), refined to DP without clusters"),
                quantity: ratio(refined, optimum),
                published: Published::Nothing,
                because: None,
            });
        }
    }
    plan
}

/// Numbers of clusters.
const CLUSTERS: [usize; 6] = [8, 16, 24, 32, 48, 64];

fn clusters() -> Plan {
    let shape = "Published as a plot without figures: throughput changes little with K and not at all once K is large; the \
                 DP's time grows steeply.";
    let mut plan = Plan { notes: vec![shape, WORKLOADS], ..Plan::default() };
    let networks = [("Res152", resnet152()), ("BERT-L", bert_large())];
    let rows = CLUSTERS.map(|k| (format!("K = {k}"), format!("cluster:k={k}+dp")));
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
