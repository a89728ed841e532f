//! Tables I, II and V: partitioners and mappings on a hierarchy and on DGX-1 servers.

use super::workloads::{Network, bert_large, resnet152, swin_large, swin_large_384, swin_ultra};
use super::{BLOCKS, COARSE, FEW_WAYS, LAYERS, OURS, SIMULATED, STAGES, WORKLOADS, by_rule};
use crate::generate::topology::{Dgx1, Hierarchical, TopologyRecipe};
use crate::reproduce::{Figure, OTHER_COSTS, OWN_PARTITIONER, Plan, Published, Quantity, Run, Study};

pub(super) const HIERARCHY: Study = Study {
    name: "parmesan-hierarchy",
    title: "speed-up over PipeDream with consecutive mapping, on four nodes of four devices",
    source: "Parmesan 2024, Table I",
    plan: hierarchy,
};

pub(super) const DGX1: Study = Study {
    name: "parmesan-dgx1",
    title: "speed-up over PipeDream with consecutive mapping, on four DGX-1",
    source: "Parmesan 2024, Table II",
    plan: dgx1,
};

pub(super) const NONREGULAR: Study = Study {
    name: "parmesan-nonregular",
    title: "speed-up over consecutive mapping where the best mapping is neither consecutive nor point to point",
    source: "Parmesan 2024, Table V",
    plan: nonregular,
};

/// Who splits.
#[derive(Clone, Copy)]
enum Partitioner {
    PipeDream,
    Rannc,
    Parmesan,
    /// Ours, which is not in the paper.
    Own,
}

impl Partitioner {
    fn spec(self, network: &Network) -> String {
        match self {
            // On operator graphs PipeDream did not end, so the authors gave it graphs of layers.
            Self::PipeDream => "layers+dp".into(),
            Self::Rannc => "rannc:k=32".into(),
            Self::Parmesan => network.partitioner(),
            Self::Own => OWN_PARTITIONER.into(),
        }
    }

    /// Why the row of its splits, with our map or not, may have another direction where there are so many replicas.
    fn because(self, ours: bool, replicas: usize) -> &'static str {
        match self {
            Self::Rannc => BLOCKS,
            Self::Parmesan => COARSE,
            Self::PipeDream if ours && replicas <= 2 => FEW_WAYS,
            Self::PipeDream | Self::Own => OTHER_COSTS,
        }
    }
}

/// The published speed-ups of one way to split and map, by column.
struct Row<const N: usize> {
    name: &'static str,
    partitioner: Partitioner,
    ours: bool,
    values: [Option<f64>; N],
}

/// A column: task, network, stages and replicas.
struct Task {
    name: &'static str,
    network: fn() -> Network,
    stages: usize,
    replicas: usize,
}

impl Task {
    /// The run of this task with a split by `partitioner` and a mapping by `mapping`, options of `plan`.
    fn run(&self, partitioner: Partitioner, topology: &TopologyRecipe, mapping: &str) -> Run {
        let network = (self.network)();
        let (spec, &Self { stages, replicas, .. }) = (partitioner.spec(&network), self);
        Run::planned(network.workload, spec, topology, (stages, replicas), mapping)
    }

    fn title(&self) -> String {
        format!("{} ({},{})", self.name, self.stages, self.replicas)
    }
}

/// All rows in all columns, each over the first row.
fn against_first<const N: usize>(rows: &[Row<N>], tasks: &[Task; N], topology: &TopologyRecipe) -> Plan {
    let mut plan = Plan { notes: vec![WORKLOADS, SIMULATED, LAYERS, STAGES], ..Plan::default() };
    for row in rows {
        for (task, value) in tasks.iter().zip(row.values) {
            let baseline = plan.run(task.run(Partitioner::PipeDream, topology, &by_rule("consecutive")));
            let mapping = if row.ours { OURS.to_owned() } else { by_rule("consecutive") };
            let run = plan.run(task.run(row.partitioner, topology, &mapping));
            plan.figures.push(Figure {
                row: row.name.into(),
                column: task.title(),
                quantity: Quantity::ObjectiveRatio(baseline, run),
                published: value.map_or(Published::Nothing, Published::speed_up),
                because: Some(row.partitioner.because(row.ours, task.replicas)),
            });
        }
    }
    plan
}

const fn task(name: &'static str, network: fn() -> Network, stages: usize, replicas: usize) -> Task {
    Task { name, network, stages, replicas }
}

fn hierarchy() -> Plan {
    let tasks = [
        task("Res152", resnet152, 4, 4),
        task("Res152", resnet152, 8, 2),
        task("Res152", resnet152, 16, 1),
        task("BERT-L", bert_large, 4, 4),
        task("BERT-L", bert_large, 8, 2),
        task("BERT-L", bert_large, 16, 1),
        task("Swin-L", swin_large, 4, 4),
        task("Swin-L", swin_large, 8, 2),
        task("Swin-L", swin_large, 16, 1),
    ];
    let some = |values: [f64; 9]| values.map(Some);
    // RaNNC failed on Swin.
    let rannc = |values: [f64; 6]| std::array::from_fn(|i| values.get(i).copied());
    let row = |name, partitioner, ours, values| Row { name, partitioner, ours, values };
    let rows = [
        row("Pipedream", Partitioner::PipeDream, false, some([1.0; 9])),
        row("Pipedream + our map", Partitioner::PipeDream, true, some([7.6, 2.4, 1.0, 1.0, 1.0, 1.0, 2.5, 1.4, 1.2])),
        row("RaNNC", Partitioner::Rannc, false, rannc([0.9, 1.3, 0.8, 0.8, 0.9, 0.9])),
        row("RaNNC + our map", Partitioner::Rannc, true, rannc([7.2, 2.5, 0.9, 0.8, 0.9, 0.9])),
        row("Parmesan", Partitioner::Parmesan, true, some([8.1, 2.6, 1.2, 1.1, 1.1, 1.0, 2.5, 1.6, 1.3])),
        row("dagsplit plan", Partitioner::Own, true, [None; 9]),
    ];
    against_first(&rows, &tasks, &TopologyRecipe::new(Hierarchical::default()))
}

fn dgx1() -> Plan {
    let tasks = [
        task("Swin-L", swin_large_384, 4, 8),
        task("Swin-L", swin_large_384, 8, 4),
        task("Swin-L", swin_large_384, 16, 2),
        task("Swin-U", swin_ultra, 4, 8),
        task("Swin-U", swin_ultra, 8, 4),
        task("Swin-U", swin_ultra, 16, 2),
    ];
    let row = |name, partitioner, ours, values: [f64; 6]| Row { name, partitioner, ours, values: values.map(Some) };
    let rows = [
        row("Pipedream + CS map", Partitioner::PipeDream, false, [1.0; 6]),
        row("Pipedream + our map", Partitioner::PipeDream, true, [2.7, 2.5, 1.3, 1.9, 1.3, 1.2]),
        row("our partition + CS map", Partitioner::Parmesan, false, [1.9, 1.9, 1.2, 1.6, 1.2, 1.4]),
        row("Parmesan", Partitioner::Parmesan, true, [2.7, 2.5, 1.5, 1.9, 1.3, 1.5]),
        Row { name: "dagsplit plan", partitioner: Partitioner::Own, ours: true, values: [None; 6] },
    ];
    against_first(&rows, &tasks, &TopologyRecipe::new(Dgx1::default()))
}

fn nonregular() -> Plan {
    let topology = TopologyRecipe::new(Hierarchical::default());
    let rows = [
        (task("Res152", resnet152, 16, 1), Partitioner::Rannc, "RaNNC", [1.00, 1.12]),
        (task("Swin-L", swin_large, 8, 2), Partitioner::PipeDream, "Pipedream", [1.04, 1.38]),
        (task("Swin-L", swin_large, 16, 1), Partitioner::PipeDream, "Pipedream", [1.00, 1.17]),
    ];
    let mut plan = Plan { notes: vec![WORKLOADS, SIMULATED, LAYERS, STAGES], ..Plan::default() };
    for (task, partitioner, name, values) in rows {
        let baseline = plan.run(task.run(partitioner, &topology, &by_rule("consecutive")));
        let mappings = [("p2p map", by_rule("p2p")), ("our map", OURS.to_owned())];
        for ((column, mapping), value) in mappings.into_iter().zip(values) {
            let run = plan.run(task.run(partitioner, &topology, &mapping));
            plan.figures.push(Figure {
                row: format!("{}, {name}", task.title()),
                column: column.into(),
                quantity: Quantity::ObjectiveRatio(baseline, run),
                published: Published::within(value, 0.1),
                because: Some(if task.replicas == 1 { FEW_WAYS } else { OTHER_COSTS }),
            });
        }
    }
    plan
}
