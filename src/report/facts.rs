//! What can be told of a workload before it is solved.

use serde::Serialize;

use super::record::InstanceRecord;
use crate::bound;
use crate::graph::{Graph, TreeDecomposition, topological};
use crate::instance::{Instance, Platform};
use crate::preprocess::{Net, Reduced, Unordered};
use crate::problem::{DeviceKind, Problem};
use crate::solve::SearchContext;
use crate::solve::dp::frontier::Frontier;
use crate::text::escaped;
use crate::units::{bytes, number, percent};

/// The times of all nodes on one kind of device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimesRecord {
    /// `accelerator`, with the class where there are several, or `CPU`.
    pub kind: String,
    /// Sum of the times of the nodes it can run.
    pub total: f64,
    /// The largest time of one node.
    pub largest: f64,
    /// Id of that node; `None` where it can run no node.
    pub largest_node: Option<u64>,
    /// How many nodes it cannot run.
    pub unsupported: usize,
}

/// Size, costs and devices of a workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Facts {
    /// Version of this record.
    pub schema: &'static str,
    /// Which instance.
    pub instance: InstanceRecord,
    /// Forward nodes.
    pub forward: usize,
    /// Backward nodes.
    pub backward: usize,
    /// Colour classes of at least two nodes.
    pub color_classes: usize,
    /// Nodes without a producer.
    pub sources: usize,
    /// Nodes without a consumer.
    pub sinks: usize,
    /// Nodes on a longest path.
    pub depth: usize,
    /// The most nodes of equal depth; nodes of one depth form an antichain.
    pub width_at_least: usize,
    /// Units that contiguous splits keep whole, after lossless reductions.
    pub units: usize,
    /// Ideals of the graph of units, exact up to 2⁵³; `None` where its frontier is too wide to count them.
    pub ideals: Option<f64>,
    /// The most states of one frontier: how many kinds of ideals differ to what follows.
    pub frontier_states: Option<usize>,
    /// An upper bound on the treewidth of the graph of colour classes, joined where one sends to another; `None` above 32
    /// and for large graphs.
    pub treewidth_at_most: Option<usize>,
    /// Times by kind of device.
    pub times: Vec<TimesRecord>,
    /// Sum of all transfer times.
    pub transfer_total: f64,
    /// The largest transfer time of one node.
    pub transfer_largest: f64,
    /// Bytes of all nodes.
    pub memory: f64,
    /// Bytes of the accelerators' memories together; `None` where one is unlimited.
    pub memory_available: Option<f64>,
    /// A time per sample that no split of any scope is below, without replication.
    pub lower_bound: f64,
    /// A time per sample that no acyclic split is below, without replication.
    pub lower_bound_acyclic: f64,
    /// The devices.
    pub platform: Platform,
}

/// Wider graphs do not get their ideals counted, so that `info` answers at once.
const MAX_STATES: usize = 1_000_000;

impl Facts {
    /// The facts of `instance` and of the devices of `problem`, which was made of it. O((n + m) log n).
    pub fn new(instance: &Instance, problem: &Problem) -> Self {
        let graph = &problem.graph;
        let n = graph.node_count();
        let depths = depths(graph);
        let nodes = || instance.nodes.iter();
        let (depth, width_at_least) = depth_and_width(&depths);
        let reduced = Reduced::new(problem);
        let classes = Unordered::new(problem).units;
        let arbitrary = lower_bound(problem, &classes);
        let is_same = (&reduced.members, &reduced.nets) == (&classes.members, &classes.nets);
        let frontier = Frontier::smallest(&reduced, MAX_STATES, &SearchContext::new()).ok();
        Self {
            schema: "dagsplit-info/1",
            instance: InstanceRecord::new(instance, graph.edge_count()),
            forward: nodes().filter(|v| !v.backward).count(),
            backward: nodes().filter(|v| v.backward).count(),
            color_classes: color_classes(instance),
            sources: (0..n).filter(|&v| graph.predecessors(v).is_empty()).count(),
            sinks: (0..n).filter(|&v| graph.successors(v).is_empty()).count(),
            depth,
            width_at_least,
            units: reduced.unit_count(),
            ideals: frontier.as_ref().map(Frontier::ideal_count),
            frontier_states: frontier.as_ref().map(Frontier::width),
            treewidth_at_most: treewidth(&classes),
            times: times(problem),
            transfer_total: nodes().map(|v| v.transfer_time).sum(),
            transfer_largest: nodes().map(|v| v.transfer_time).fold(0.0, f64::max),
            memory: nodes().map(|v| v.memory).sum(),
            memory_available: memory_available(&problem.spec.platform),
            lower_bound: arbitrary,
            lower_bound_acyclic: if is_same { arbitrary } else { arbitrary.max(lower_bound(problem, &reduced)) },
            platform: problem.spec.platform.clone(),
        }
    }

    /// The facts as people read them.
    pub fn text(&self) -> String {
        let mut lines = vec![
            ("instance", format!("{} ({})", self.instance.name, self.instance.hash)),
            ("nodes", format!("{} ({} forward, {} backward)", self.instance.nodes, self.forward, self.backward)),
            ("edges", self.instance.edges.to_string()),
            ("colour classes", self.color_classes.to_string()),
            ("ends", format!("{} sources, {} sinks", self.sources, self.sinks)),
            ("shape", format!("{} nodes on a longest path, width at least {}", self.depth, self.width_at_least)),
        ];
        lines.push(("contiguous sets", self.ideals_text()));
        lines.push(("treewidth", self.treewidth_text()));
        lines.extend(self.times.iter().map(|times| ("times", times.text())));
        let transfers = format!("total {}, largest {}", number(self.transfer_total), number(self.transfer_largest));
        lines.push(("transfers", transfers));
        lines.push(("memory", self.memory_text()));
        lines.push(("devices", self.platform_text()));
        let (any, acyclic) = (number(self.lower_bound), number(self.lower_bound_acyclic));
        lines.push(("lower bounds", format!("{any} for any split, {acyclic} for acyclic ones")));
        lines.into_iter().map(|(name, value)| format!("{name:<15} {}\n", escaped(&value))).collect()
    }

    fn ideals_text(&self) -> String {
        match (self.ideals, self.frontier_states) {
            (Some(ideals), Some(states)) if ideals < 1e15 => {
                format!("{} units with {ideals} ideals, at most {states} frontier states", self.units)
            }
            (Some(ideals), Some(states)) => {
                format!("{} units with {ideals:.1e} ideals, at most {states} frontier states", self.units)
            }
            _ => format!("{} units, whose frontier is too wide to count ideals", self.units),
        }
    }

    fn treewidth_text(&self) -> String {
        self.treewidth_at_most.map_or_else(|| "not bounded".into(), |width| format!("at most {width}"))
    }

    fn memory_text(&self) -> String {
        match self.memory_available {
            Some(available) if available > 0.0 => {
                let share = percent(self.memory / available);
                format!("{}, {share} of the accelerators' {}", bytes(self.memory), bytes(available))
            }
            _ => bytes(self.memory),
        }
    }

    fn platform_text(&self) -> String {
        let accelerators = self.platform.accelerators.iter().map(|class| {
            let name = class.name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
            let memory = class.memory.map_or_else(|| "unlimited memory".into(), bytes);
            format!("{}{name} accelerators with {memory}, ", class.count)
        });
        format!("{}{} CPUs", accelerators.collect::<String>(), self.platform.cpus)
    }
}

impl TimesRecord {
    fn text(&self) -> String {
        let node = self.largest_node.map_or_else(String::new, |id| format!(" (node {id})"));
        let mut text = format!("{}: total {}, largest {}{node}", self.kind, number(self.total), number(self.largest));
        if self.unsupported > 0 {
            text += &format!(", cannot run {} nodes", self.unsupported);
        }
        text
    }
}

fn times(problem: &Problem) -> Vec<TimesRecord> {
    let kinds = problem.device_kinds();
    let classes = problem.spec.platform.accelerators.len();
    let record = |kind: DeviceKind| {
        let time = |v| problem.costs.node(v, kind).map(|cost| cost.compute);
        let known = || (0..problem.node_count()).filter_map(|v| Some((v, time(v)?)));
        let largest = known().reduce(|a, b| if b.1 > a.1 { b } else { a });
        TimesRecord {
            kind: match kind {
                DeviceKind::Cpu => "CPU".into(),
                DeviceKind::Accelerator(_) if classes == 1 => "accelerator".into(),
                DeviceKind::Accelerator(class) => format!("accelerator class {class}"),
            },
            total: known().map(|(_, time)| time).sum(),
            largest: largest.map_or(0.0, |(_, time)| time),
            largest_node: largest.map(|(v, _)| problem.ids[v]),
            unsupported: problem.node_count() - known().count(),
        }
    };
    kinds.into_iter().map(record).collect()
}

/// Wider graphs do not get their treewidth bounded, nor do those with more neighbours of one unit.
const MAX_TREEWIDTH: usize = 32;
const MAX_NEIGHBOURS: usize = 256;

/// The width of a greedy tree decomposition of the units, joined where one sends to another.
fn treewidth(units: &Reduced) -> Option<usize> {
    let sends = |net: &Net| {
        let source = net.source as usize;
        net.pins.iter().map(|&u| [source, u as usize]).filter(|[a, b]| a != b).collect::<Vec<_>>()
    };
    let edges: Vec<[usize; 2]> = units.nets.iter().flat_map(sends).collect();
    let mut neighbours = vec![0; units.unit_count()];
    edges.iter().flatten().for_each(|&u| neighbours[u] += 1);
    if units.unit_count() > MAX_UNITS || neighbours.into_iter().any(|count| count > MAX_NEIGHBOURS) {
        return None;
    }
    let tree =
        TreeDecomposition::min_fill(units.unit_count(), edges.iter().map(|edge| &edge[..]), MAX_TREEWIDTH, &|| false);
    tree.map(|tree| tree.width())
}

/// Larger graphs get neither what a target forces nor their treewidth, so that `info` answers at once.
const MAX_UNITS: usize = 2000;

/// A bound that exceeds the cheap one by less than this part of it is not looked for.
const LEAST_GAIN: f64 = 1e-6;

/// The best bound without search on splits that keep these units whole.
fn lower_bound(problem: &Problem, units: &Reduced) -> f64 {
    let cx = SearchContext::new();
    let cheap = f64::max(bound::work(units), bound::heaviest(problem, units, &cx));
    // Mostly nothing is refuted just above the cheap bound, and so nowhere above it.
    if units.unit_count() > MAX_UNITS || !bound::refutes(problem, units, cheap * (1.0 + LEAST_GAIN), &cx) {
        return cheap;
    }
    // No published workload's optimum is twice its cheap bound.
    bound::best(problem, units, 2.0 * cheap, &cx).0
}

fn memory_available(platform: &Platform) -> Option<f64> {
    let classes = platform.accelerators.iter().filter(|class| class.count > 0);
    classes.map(|class| class.memory.map(|memory| memory * class.count as f64)).sum()
}

fn color_classes(instance: &Instance) -> usize {
    let mut colors: Vec<u64> = instance.nodes.iter().filter_map(|v| v.color_class).collect();
    colors.sort_unstable();
    colors.chunk_by(|a, b| a == b).filter(|class| class.len() > 1).count()
}

/// How many nodes lie before each node on a longest path to it.
fn depths(graph: &Graph) -> Vec<usize> {
    let mut depth = vec![0; graph.node_count()];
    for u in topological::smallest_first(graph) {
        for &v in graph.successors(u) {
            depth[v as usize] = depth[v as usize].max(depth[u] + 1);
        }
    }
    depth
}

/// Nodes on a longest path, and nodes of the commonest depth: they form an antichain.
fn depth_and_width(depths: &[usize]) -> (usize, usize) {
    let depth = depths.iter().max().map_or(0, |deepest| deepest + 1);
    let mut count = vec![0; depth];
    depths.iter().for_each(|&d| count[d] += 1);
    (depth, count.into_iter().max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{Edge, Node};
    use crate::problem::ProblemSpec;

    fn diamond() -> Instance {
        let node = |id, time, cpu_time, color_class| Node {
            accelerator_times: vec![time],
            cpu_time,
            color_class,
            memory: 4.0,
            ..Node::new(id)
        };
        let edge = |source, target| Edge { source, target };
        Instance {
            platform: Platform::uniform(2, Some(10.0), 1),
            nodes: vec![
                node(10, Some(1.0), Some(9.0), Some(1)),
                node(11, None, Some(7.0), None),
                node(12, Some(3.0), Some(2.0), Some(1)),
                node(13, Some(4.0), None, Some(2)),
            ],
            edges: vec![edge(10, 11), edge(10, 12), edge(11, 13), edge(12, 13)],
            ..Instance::default()
        }
    }

    #[test]
    fn facts_of_a_diamond() {
        let instance = diamond();
        let problem = Problem::new(&instance, ProblemSpec::of(&instance)).unwrap();
        let facts = Facts::new(&instance, &problem);
        assert_eq!((facts.depth, facts.width_at_least, facts.sources, facts.sinks), (3, 2, 1, 1));
        assert_eq!(facts.color_classes, 1);
        // Least times 1 + 7 + 2 + 4 over three devices are below the heaviest node, 7.
        assert!((facts.lower_bound - 7.0).abs() < 1e-9, "{}", facts.lower_bound);
        assert_eq!((facts.memory, facts.memory_available), (16.0, Some(20.0)));
        let accelerator = &facts.times[0];
        assert_eq!((accelerator.total, accelerator.largest_node, accelerator.unsupported), (8.0, Some(13), 1));
    }
}
