//! RaNNC (Tanaka et al. 2021): atomic, block and stage partitioning. Its throughputs stand in plots; what its text says of
//! them is reproduced on graphs of our own.

use super::{Figure, OTHER_COSTS, Plan, Published, Quantity, Run, Study, Workload};
use crate::generate::{Architecture, Hardware, Head, Link, Model, Recipe, Resnet, Transformer};
use crate::solve::heuristic::rannc::BATCH_TIME;

pub(super) const STUDIES: &[Study] = &[
    Study {
        name: "rannc-bert",
        title: "throughput of RaNNC over that of uniform stages (GPipe-Hybrid) on enlarged BERT models",
        source: "RaNNC 2021, Fig. 4",
        plan: bert,
    },
    Study {
        name: "rannc-resnet",
        title: "throughput of RaNNC over that of eight uniform stages (GPipe-Model) on ResNets",
        source: "RaNNC 2021, Fig. 5",
        plan: resnet,
    },
    Study {
        name: "rannc-coarsening",
        title: "throughput without blocks over that with them, and the times of both searches",
        source: "RaNNC 2021, section IV-C",
        plan: coarsening,
    },
];

const WORKLOADS: &str = "Workloads differ: operator graphs of the same networks with modelled costs of a V100 in FP32, in \
                         place of profiles, and links of 31.5 GB/s between two GPUs, where NVLink has 25 or 50.";

/// BERT with this many layers of this width, for one sequence of 512 tokens.
fn enlarged(layers: u32, hidden: u32) -> Workload {
    let network = Transformer {
        layers,
        hidden,
        heads: hidden / 64,
        feed_forward: 4 * hidden,
        sequence: 512,
        batch: 1,
        head: Head::LanguageModel,
        ..Transformer::bert_base()
    };
    modelled(network)
}

/// The training of a network on V100s with links of PCIe 4.0.
fn modelled(network: impl Into<Architecture>) -> Workload {
    let hardware = Hardware { link: Some(Link::Pcie4), ..Hardware::default() };
    let model = Model { architecture: network.into(), hardware };
    Workload::Generated(Box::new(Recipe { training: true, cpus: 0, ..Recipe::new(model) }))
}

/// 32 GPUs of 32 GB, of which any number may share a stage. Weights are synchronised once in a batch of 256 sequences over
/// InfiniBand of 12.5 GB/s, as if at 256 times that bandwidth after each.
const CLUSTER: &str = "--scope acyclic --objective gpipe --accelerators 32 --memory 32GB --replicas 32 \
                       --sync-bandwidth 3.2e9";

/// Four nodes of 8 GPUs and a batch of 256 sequences; GPipe-Hybrid does not work with one stage.
const RANNC: &str = "rannc:k=32,node=8,batch=256";
const UNIFORM: &str = "uniform:batch=256,stages=2";

/// Why RaNNC is not ahead of uniform stages here.
const EVEN: &str = "another workload and another cost model; layers of a transformer are modelled as even as they are, so that \
                    uniform stages are balanced already, and blocks of 1/32 of the network are coarser than they";

/// Depths and widths; the paper also has 48, 144 and 192 layers, width 1536, and 96 layers of width 2048.
const MODELS: [(u32, u32); 5] = [(24, 1024), (96, 1024), (256, 1024), (24, 2048), (256, 2048)];

fn bert() -> Plan {
    let claim =
        "Published as a plot: RaNNC is faster than GPipe-Hybrid in all settings, and less so the larger the model.";
    let measures = "A batch of a synchronous pipeline takes (microbatches + stages − 1) times a microbatch of its slowest \
                    stage, and one synchronisation. RaNNC looks for few stages, which pays where pipelines drain, and not in the steady \
                    state, in which uniform stages and many of them cost nothing.";
    let even = "Transformer layers are even, so that there is little for RaNNC to balance; uneven layers are in \
                rannc-resnet. At 256 layers of width 2048 eight uniform stages fit with 1 % of the memory to spare, which \
                blocks of 1/32 of the network do not: RaNNC is left with nine, which cannot share 16 GPUs evenly.";
    let mut plan = Plan { notes: vec![claim, measures, even, WORKLOADS], ..Plan::default() };
    for (layers, hidden) in MODELS {
        let row = format!("{layers} layers, width {hidden}");
        compare(&mut plan, row.clone(), enlarged(layers, hidden), [UNIFORM, RANNC], (CLUSTER, EVEN));
        let mut run = |method| plan.run(Run::new(enlarged(layers, hidden), method, CLUSTER));
        let quantity = Quantity::StatRatio(BATCH_TIME, run(UNIFORM), run("rannc:k=128,node=8,batch=256"));
        let (column, published) = ("with 128 blocks".into(), Published::Nothing);
        plan.figures.push(Figure { row, column, quantity, published, because: None });
    }
    plan
}

/// One node of 8 GPUs, and a batch of 128 images, in 64 microbatches where stages are uniform.
const NODE: &str = "--scope acyclic --objective gpipe --accelerators 8 --replicas 8 --sync-bandwidth 1.6e9";

fn resnet() -> Plan {
    let claim = "Published as a plot: RaNNC outperforms GPipe-Model by a large margin in all settings, by the balance of its \
                 stages: layers of ResNet are uneven.";
    let smaller = "The networks are not enlarged to eight times their width: a GPU has as much less memory, so that none \
                   holds the whole training.";
    let mut plan = Plan { notes: vec![claim, smaller, WORKLOADS], ..Plan::default() };
    for (depth, memory) in [(50, "500MB"), (101, "900MB"), (152, "1200MB")] {
        let network = Resnet { depth, batch: 1, ..Resnet::default() };
        let options = format!("{NODE} --memory {memory}");
        let methods = ["uniform:batch=128,stages=8", "rannc:k=32,node=8,batch=128"];
        let row = format!("ResNet-{depth}, GPUs of {memory}");
        compare(&mut plan, row, modelled(network), methods, (&options, OTHER_COSTS));
    }
    plan
}

/// RaNNC's speed over that of uniform stages, batch by batch and in the steady state.
fn compare(
    plan: &mut Plan,
    row: String,
    workload: Workload,
    [uniform, rannc]: [&str; 2],
    (options, because): (&str, &'static str),
) {
    let mut run = |method| plan.run(Run::new(workload.clone(), method, options));
    let (uniform, rannc) = (run(uniform), run(rannc));
    let (of_batches, of_state) =
        (Quantity::StatRatio(BATCH_TIME, uniform, rannc), Quantity::ObjectiveRatio(uniform, rannc));
    for (column, quantity, published) in [
        ("RaNNC over uniform", of_batches, Published::AtLeast(1.0)),
        ("in the steady state", of_state, Published::Nothing),
    ] {
        let (row, column) = (row.clone(), column.into());
        plan.figures.push(Figure { row, column, quantity, published, because: Some(because) });
    }
}

fn coarsening() -> Plan {
    let claim = "Published: without blocks throughput is 33 % lower up to 48 layers, and with more layers the search does \
                 not end in 24 hours.";
    let mut plan = Plan { notes: vec![claim, WORKLOADS], ..Plan::default() };
    for layers in [24, 48, 96] {
        let mut run = |method| plan.run(Run::new(enlarged(layers, 1024), method, CLUSTER));
        let (with, without) = (run(RANNC), run("rannc:k=32,node=8,batch=256,coarsen=false"));
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
