//! Figure 4: larger networks, more devices, other shapes of pipelines on DGX-1 servers.

use super::workloads::{Network, bert, swin_large_384, swin_ultra};
use super::{LAYERS, OURS, SIMULATED, STAGES, WORKLOADS, by_rule};
use crate::generate::topology::{Dgx1, TopologyRecipe};
use crate::reproduce::{Figure, OTHER_COSTS, Plan, Published, Quantity, Run, Study};

pub(super) const SCALING: Study = Study {
    name: "parmesan-scaling",
    title: "speed-up over consecutive mapping on DGX-1 servers, by network, devices and microbatches",
    source: "Parmesan 2024, Fig. 4",
    plan: scaling,
};

const CLAIM: &str = "Published as plots without figures: (a) Parmesan over PipeDream with consecutive mapping on larger BERTs and \
                     batches, (b) our map over consecutive mapping on more devices, (c) the same for other stages, replicas and \
                     microbatches; it is ahead in all of them. Rows that name no \
                     microbatches have 4.";

/// Stages and replicas on 32 devices.
const SHAPES: [(usize, usize); 3] = [(4, 8), (8, 4), (16, 2)];

fn scaling() -> Plan {
    let mut plan = Plan { notes: vec![CLAIM, WORKLOADS, SIMULATED, LAYERS, STAGES], ..Plan::default() };
    for layers in [24, 36, 48] {
        for (stages, replicas) in SHAPES {
            let network = bert(layers, 8);
            let rows = [("layers+dp".into(), by_rule("consecutive")), (network.partitioner(), OURS.to_owned())];
            let row = format!("(a) BERT-{layers}");
            add(&mut plan, (row, format!("({stages},{replicas})")), &network, rows, (4, (stages, replicas), 4));
        }
    }
    for (name, network) in [("Swin-L", swin_large_384()), ("Swin-U", swin_ultra())] {
        for servers in [1, 2, 4] {
            let column = format!("{} devices, S = 4", 8 * servers);
            let shape = (servers, (4, 2 * servers), 4);
            add(&mut plan, (format!("(b) {name}"), column), &network, maps(&network), shape);
        }
    }
    let network = swin_ultra();
    for microbatches in [4, 8, 16] {
        for (stages, replicas) in SHAPES {
            let row = format!("(c) Swin-U, {microbatches} microbatches");
            let place = (row, format!("({stages},{replicas})"));
            add(&mut plan, place, &network, maps(&network), (4, (stages, replicas), microbatches));
        }
    }
    plan
}

/// Parmesan's partitioner with consecutive mapping and with ours.
fn maps(network: &Network) -> [(String, String); 2] {
    [by_rule("consecutive"), OURS.to_owned()].map(|mapping| (network.partitioner(), mapping))
}

/// The second way to split and map over the first one, on so many servers with this shape and so many microbatches.
fn add(
    plan: &mut Plan,
    (row, column): (String, String),
    network: &Network,
    ways: [(String, String); 2],
    (servers, shape, microbatches): (usize, (usize, usize), usize),
) {
    let topology = TopologyRecipe::new(Dgx1 { nodes: servers, ..Dgx1::default() });
    let [baseline, ours] = ways.map(|(partitioner, mapping)| {
        let workload = network.workload.clone();
        plan.run(Run::planned_for(workload, partitioner, &topology, (shape, microbatches), &mapping))
    });
    let quantity = Quantity::ObjectiveRatio(baseline, ours);
    plan.figures.push(Figure { row, column, quantity, published: Published::AtLeast(1.0), because: Some(OTHER_COSTS) });
}
