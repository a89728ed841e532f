//! Tables III and VI: mappings of SemanticFPN on meshes, tori and random topologies.

use super::workloads::semantic_fpn;
use super::{OURS, SIMULATED, STAGES, WORKLOADS, by_rule};
use crate::generate::topology::{
    GridShape, Mesh, RandomBlk1, RandomBlk2, TopologyFamily, TopologyRecipe, Torus, UniformDist,
};
use crate::reproduce::{Figure, OTHER_COSTS, Plan, Published, Quantity, Run, Study};

pub(super) const OVER_CONSECUTIVE: Study = Study {
    name: "parmesan-topologies",
    title: "speed-up over consecutive mapping on 64 devices, SemanticFPN",
    source: "Parmesan 2024, Table III",
    plan: || speed_ups(&[SMALL], &CONSECUTIVE, "consecutive"),
};

pub(super) const OVER_CONSECUTIVE_LARGE: Study = Study {
    name: "parmesan-topologies-large",
    title: "speed-up over consecutive mapping on 256 and 512 devices, SemanticFPN",
    source: "Parmesan 2024, Table III",
    plan: || speed_ups(&LARGE, &CONSECUTIVE, "consecutive"),
};

pub(super) const OVER_RULES: Study = Study {
    name: "parmesan-ensemble",
    title: "speed-up over the better of consecutive and point-to-point mapping on 64 devices, SemanticFPN",
    source: "Parmesan 2024, Table VI",
    plan: || speed_ups(&[SMALL], &RULES, "consecutive,p2p"),
};

pub(super) const OVER_RULES_LARGE: Study = Study {
    name: "parmesan-ensemble-large",
    title: "speed-up over the better of consecutive and point-to-point mapping on 256 and 512 devices, SemanticFPN",
    source: "Parmesan 2024, Table VI",
    plan: || speed_ups(&LARGE, &RULES, "consecutive,p2p"),
};

pub(super) const RANDOM: Study = Study {
    name: "parmesan-random",
    title: "speed-up over consecutive mapping on 64 devices of random topologies, SemanticFPN, by the number of nodes",
    source: "Parmesan 2024, Table III",
    plan: random,
};

const NOTE: &str = "The published random topologies are drawn with seeds that are not told; ours have seed 0, and those \
                    of blocks one node for eight devices; parmesan-random has others.";

const DRAWN: &str = "Ours is the median of five seeds, with the least and the largest. How many nodes a random topology of blocks \
                     has is not told; the published figure stands beside each number.";

/// Why a median is another one than the figure of one topology.
const ONE_DRAW: &str =
    "another workload, another cost model and another number of nodes; published is one draw of each kind";

/// Numbers of nodes of random blocks, and seeds.
const NODES: [usize; 4] = [2, 4, 8, 16];
const SEEDS: u64 = 5;

/// Numbers of devices with the numbers of stages.
const COUNTS: [usize; 3] = [4, 8, 16];

/// Numbers of devices, by their place among the published columns.
const SMALL: (usize, usize) = (64, 0);
const LARGE: [(usize, usize); 2] = [(256, 3), (512, 6)];

/// A published row; a missing figure where that many devices make no such grid.
type Row = (&'static str, [f64; 9]);

/// What a table prints as a dash.
const NONE: f64 = 0.0;

const CONSECUTIVE: [Row; 7] = [
    ("2d mesh", [1.1, 1.0, 2.7, 5.6, 2.5, 1.4, NONE, NONE, NONE]),
    ("2d torus", [1.1, 1.0, 2.6, 1.6, 1.5, 1.0, NONE, NONE, NONE]),
    ("3d mesh", [1.0, 1.1, 1.1, NONE, NONE, NONE, 1.3, 1.8, 1.2]),
    ("3d torus", [1.0, 1.1, 1.0, NONE, NONE, NONE, 1.1, 1.0, 2.6]),
    ("random_blk_1", [1.5, 1.8, 1.5, 1.1, 1.4, 1.9, 1.1, 1.7, 1.9]),
    ("random_blk_2", [2.1, 1.6, 3.0, 1.4, 1.3, 3.7, 1.5, 1.6, 4.5]),
    ("uniform_dist", [33.5, 11.4, 6.7, 8.1, 5.1, 7.2, 23.3, 8.9, 5.5]),
];

const RULES: [Row; 7] = [
    ("2d mesh", [1.0, 1.0, 1.2, 7.0, 2.5, 1.4, NONE, NONE, NONE]),
    ("2d torus", [1.0, 1.0, 1.0, 1.0, 1.1, 1.0, NONE, NONE, NONE]),
    ("3d mesh", [1.0, 1.0, 1.2, NONE, NONE, NONE, 1.6, 1.8, 1.0]),
    ("3d torus", [1.0, 1.0, 1.0, NONE, NONE, NONE, 1.0, 1.0, 1.0]),
    ("random_blk_1", [1.1, 1.0, 1.0, 1.3, 1.0, 1.0, 1.2, 1.0, 1.0]),
    ("random_blk_2", [2.1, 1.8, 1.0, 1.1, 1.1, 2.1, 1.2, 1.1, 1.7]),
    ("uniform_dist", [16.0, 11.7, 6.7, 12.1, 5.1, 9.8, 17.5, 7.7, 5.5]),
];

/// The published row's topology of so many devices; `None` where they make no such grid.
fn topology(name: &str, devices: usize) -> Option<TopologyRecipe> {
    let grid = |dimensions: u32| {
        let side = (2..=devices).find(|side| side.pow(dimensions) >= devices)?;
        let shape = GridShape::new(vec![side; dimensions as usize]).ok()?;
        (side.pow(dimensions) == devices).then_some(shape)
    };
    let family: TopologyFamily = match name {
        "2d mesh" => Mesh { shape: grid(2)? }.into(),
        "2d torus" => Torus { shape: grid(2)? }.into(),
        "3d mesh" => Mesh { shape: grid(3)? }.into(),
        "3d torus" => Torus { shape: grid(3)? }.into(),
        "random_blk_1" => RandomBlk1 { devices, ..RandomBlk1::default() }.into(),
        "random_blk_2" => RandomBlk2 { devices, ..RandomBlk2::default() }.into(),
        _ => UniformDist { devices, ..UniformDist::default() }.into(),
    };
    Some(TopologyRecipe::new(family))
}

/// Our mapping over the best of `rules`, on these numbers of devices.
fn speed_ups(sizes: &[(usize, usize)], rows: &[Row; 7], rules: &str) -> Plan {
    let mut plan = Plan { notes: vec![WORKLOADS, SIMULATED, STAGES, NOTE], ..Plan::default() };
    let columns = sizes.iter().flat_map(|&(devices, first)| (0..3).map(move |i| (devices, COUNTS[i], first + i)));
    let columns: Vec<(usize, usize, usize)> = columns.collect();
    for (name, values) in rows {
        for &(devices, stages, column) in &columns {
            let Some(topology) = topology(name, devices) else { continue };
            let replicas = devices / stages;
            let mut run = |mapping: &str| {
                let network = semantic_fpn();
                let partitioner = network.partitioner();
                plan.run(Run::planned(network.workload, partitioner, &topology, (stages, replicas), mapping))
            };
            let (baseline, ours) = (run(&by_rule(rules)), run(OURS));
            plan.figures.push(Figure {
                row: (*name).into(),
                column: format!("({stages},{replicas})"),
                quantity: Quantity::ObjectiveRatio(baseline, ours),
                published: Published::speed_up(values[column]),
                because: Some(OTHER_COSTS),
            });
        }
    }
    plan
}

/// Our mapping over consecutive mapping on 64 devices of random topologies: medians over seeds, by the number of nodes.
fn random() -> Plan {
    let mut plan = Plan { notes: vec![WORKLOADS, SIMULATED, STAGES, DRAWN], ..Plan::default() };
    let (devices, first) = SMALL;
    let blocks = NODES.into_iter().flat_map(|count| {
        let nodes = Some(count);
        let families: [(&str, TopologyFamily); 2] = [
            ("random_blk_1", RandomBlk1 { devices, nodes, ..RandomBlk1::default() }.into()),
            ("random_blk_2", RandomBlk2 { devices, nodes, ..RandomBlk2::default() }.into()),
        ];
        families.map(|(name, family)| (name, format!("{name}, {count} nodes"), family))
    });
    let uniform = UniformDist { devices, ..UniformDist::default() }.into();
    let mut families: Vec<(&str, String, TopologyFamily)> = blocks.collect();
    families.sort_by_key(|(name, ..)| *name);
    families.push(("uniform_dist", "uniform_dist".into(), uniform));
    for (name, row, family) in families {
        let published = CONSECUTIVE.iter().find(|(other, _)| *other == name);
        for (i, stages) in COUNTS.into_iter().enumerate() {
            let shape = (stages, devices / stages);
            let mut run = |seed, mapping: &str| {
                let network = semantic_fpn();
                let partitioner = network.partitioner();
                let topology = TopologyRecipe::seeded(family.clone(), seed);
                plan.run(Run::planned(network.workload, partitioner, &topology, shape, mapping))
            };
            let pairs = (0..SEEDS).map(|seed| [run(seed, &by_rule("consecutive")), run(seed, OURS)]).collect();
            plan.figures.push(Figure {
                row: row.clone(),
                column: format!("({stages},{})", shape.1),
                quantity: Quantity::ObjectiveRatios(pairs),
                published: published.map_or(Published::Nothing, |(_, values)| Published::speed_up(values[first + i])),
                because: Some(ONE_DRAW),
            });
        }
    }
    plan
}
