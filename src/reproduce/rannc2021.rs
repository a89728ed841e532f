//! RaNNC (Tanaka et al. 2021): atomic, block and stage partitioning. Its throughputs stand in plots; what its text says of
//! them is reproduced on graphs of our own.

use super::{Figure, OTHER_COSTS, Plan, Published, Quantity, Run, Study, Workload};
use crate::generate::{Head, Recipe, Transformer};

pub(super) const STUDIES: &[Study] = &[
    Study {
        name: "rannc-bert",
        title: "throughput of RaNNC over that of uniform stages (GPipe-Hybrid) on enlarged BERT models",
        source: "RaNNC 2021, Fig. 4",
        plan: bert,
    },
    Study {
        name: "rannc-coarsening",
        title: "throughput without blocks over that with them, and the times of both searches",
        source: "RaNNC 2021, section IV-C",
        plan: coarsening,
    },
];

const WORKLOADS: &str = "Workloads differ: operator graphs of the same networks with modelled costs of a V100 in FP32, in \
                         place of profiles; PCIe in place of NVLink and InfiniBand; one micro-batch of 8 sequences.";

/// BERT with this many layers of this width, 8 sequences of 512 tokens at a time.
fn enlarged(layers: u32, hidden: u32) -> Workload {
    let network = Transformer {
        layers,
        hidden,
        heads: hidden / 64,
        feed_forward: 4 * hidden,
        sequence: 512,
        head: Head::LanguageModel,
        ..Transformer::bert_base()
    };
    Workload::Generated(Box::new(Recipe { training: true, cpus: 0, ..Recipe::new(network) }))
}

/// 32 GPUs of 32 GB, of which any number may share a stage.
const CLUSTER: &str = "--scope acyclic --accelerators 32 --memory 32GB --replicas 32";

/// Depths and widths; the paper also has 48, 144 and 192 layers, width 1536, and 96 layers of width 2048.
const MODELS: [(u32, u32); 5] = [(24, 1024), (96, 1024), (256, 1024), (24, 2048), (256, 2048)];

fn bert() -> Plan {
    let claim =
        "Published as a plot: RaNNC is faster than GPipe-Hybrid in all settings, and less so the larger the model.";
    let mut plan = Plan { notes: vec![claim, WORKLOADS], ..Plan::default() };
    for (layers, hidden) in MODELS {
        let mut run = |method| plan.run(Run::new(enlarged(layers, hidden), method, CLUSTER));
        let (uniform, rannc) = (run("uniform"), run("rannc:k=32"));
        plan.figures.push(Figure {
            row: format!("{layers} layers, width {hidden}"),
            column: "RaNNC over uniform".into(),
            quantity: Quantity::ObjectiveRatio(uniform, rannc),
            published: Published::AtLeast(1.0),
            because: Some(OTHER_COSTS),
        });
    }
    plan
}

fn coarsening() -> Plan {
    let claim = "Published: without blocks throughput is 33 % lower up to 48 layers, and with more layers the search does \
                 not end in 24 hours.";
    let mut plan = Plan { notes: vec![claim, WORKLOADS], ..Plan::default() };
    for layers in [24, 48, 96] {
        let mut run = |method| plan.run(Run::new(enlarged(layers, 1024), method, CLUSTER));
        let (with, without) = (run("rannc:k=32"), run("rannc:k=32,coarsen=false"));
        let mut add = |column: &str, quantity, published| {
            plan.figures.push(Figure {
                row: format!("{layers} layers, width 1024"),
                column: column.into(),
                quantity,
                published,
                because: Some(
                    "without blocks the paper sums the times of operators, which it says overestimates stages; our costs \
                     are such sums in both cases",
                ),
            });
        };
        let published = if layers <= 48 { Published::within(0.67, 0.05) } else { Published::Nothing };
        add("throughput without over with blocks", Quantity::ObjectiveRatio(with, without), published);
        add("seconds with blocks", Quantity::Seconds(with), Published::Nothing);
        add("seconds without", Quantity::Seconds(without), Published::Nothing);
    }
    plan
}
