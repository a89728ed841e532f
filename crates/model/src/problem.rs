//! What is to be solved: a graph, the devices, what a load is, and which splits count.

pub use crate::graph::{Graph, NodeId, NodeSet};
pub use crate::solution::{DeviceAssignment, Solution};
pub use crate::spec::{
    ChunkMemory, Chunks, ChunksInFlight, CostKind, Degrees, DeviceKind, InFlight, Interconnect, MOST_IN_FLIGHT,
    MemoryModel, MemoryParts, NodeWeight, Objective, Optimizer, Placement, Precision, ProblemSpec, Replication, Scope,
    Sharding, StageMemory, Training, first_together, fits, most_bytes,
};

use std::sync::Arc;

use petgraph::unionfind::UnionFind;
use rustc_hash::FxHashMap;

use crate::cost::{CostModel, Costs, ProfiledCost};
use crate::graph::CycleError;
use crate::graph::order_graph::{Groups, OrderGraph};
use crate::instance::{Instance, Node, Problems, validate};

/// A validated instance together with what is asked of it. Nodes are indexed `0..n` in file order.
#[derive(Clone)]
pub struct Problem {
    /// The instance as it is written, for what is not solved here: programs of their own.
    pub instance: Arc<Instance>,
    /// The operator or layer graph: every node and edge of the instance.
    pub graph: Graph,
    /// The instance's edges in the order of its file, by which published programs break ties.
    pub edges: Vec<(NodeId, NodeId)>,
    /// Ids of the nodes in the instance's file.
    pub ids: Vec<u64>,
    /// Which nodes belong to the backward pass.
    pub backward: Vec<bool>,
    /// Colour class of each node; nodes of one class share a device.
    pub color_class: Vec<Option<u64>>,
    /// Colour class of each node before any clustering, which says how backward nodes are ordered.
    pub given_class: Vec<Option<u64>>,
    /// Layer of each node, where its file states one.
    pub layer: Vec<Option<u64>>,
    /// Parameter bytes of each node.
    pub parameter_bytes: Vec<f64>,
    /// What each node weighs under [`Objective::Sharding`]; 0 under other objectives.
    pub shard_weights: Vec<f64>,
    /// Devices, objective, scope and options.
    pub spec: ProblemSpec,
    /// What nodes, transfers and memory cost, and what a load is.
    pub costs: Arc<Costs>,
}

impl Problem {
    /// Validates `instance` and compiles it with `spec` to a problem, with the costs of [`ProfiledCost`].
    ///
    /// Of the subgraphs that the latency allows an accelerator no more are kept than there are nodes: the others would
    /// be empty.
    ///
    /// # Errors
    /// Every problem of the instance and of the spec at once.
    pub fn new(instance: &Instance, spec: ProblemSpec) -> Result<Self, Problems> {
        Self::with_costs(instance, spec, &ProfiledCost)
    }

    /// The same with the costs of another model.
    ///
    /// # Errors
    /// Every problem of the instance and of the spec at once, or every problem of the model's data.
    pub fn with_costs(instance: &Instance, mut spec: ProblemSpec, model: &dyn CostModel) -> Result<Self, Problems> {
        validate(instance)?;
        spec.validate(instance)?;
        if let Objective::Latency { subgraphs } = &mut spec.objective {
            *subgraphs = instance.nodes.len().min(*subgraphs);
        }
        let index: FxHashMap<u64, NodeId> = instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
        let edges: Vec<(NodeId, NodeId)> =
            instance.edges.iter().map(|e| (index[&e.source], index[&e.target])).collect();
        let graph = Graph::new(instance.nodes.len(), &edges)
            .unwrap_or_else(|CycleError(_)| unreachable!("validated instances are acyclic"));
        let costs = model.costs(instance, &spec);
        costs.validate(&graph, &spec)?;
        let problem = Self {
            instance: Arc::new(instance.clone()),
            graph,
            edges,
            ids: instance.nodes.iter().map(|v| v.id).collect(),
            backward: instance.nodes.iter().map(|v| v.backward).collect(),
            color_class: instance.nodes.iter().map(|v| v.color_class).collect(),
            given_class: instance.nodes.iter().map(|v| v.color_class).collect(),
            layer: instance.nodes.iter().map(|v| v.layer).collect(),
            parameter_bytes: instance.nodes.iter().map(|v| v.parameter_bytes).collect(),
            shard_weights: instance.nodes.iter().map(|v| shard_weight(v, spec.objective)).collect(),
            costs: Arc::new(costs),
            spec,
        };
        if problem.spec.together.is_empty() { Ok(problem) } else { problem.kept_together() }
    }

    /// The same problem with a colour class for each set of nodes that are kept together, and for what these share with it.
    fn kept_together(self) -> Result<Self, Problems> {
        let pairs = self.spec.together.iter().flat_map(|set| set.windows(2).map(|pair| (pair[0], pair[1])));
        let together = self.joined(pairs);
        let mut found = Problems::default();
        for members in Groups::new(&together.color_class).members.iter().filter(|members| members.len() > 1) {
            let runs = |kind| members.iter().all(|&v| together.costs.kind(kind).nodes[v].is_some());
            if !together.device_kinds().into_iter().any(runs) {
                let ids: Vec<String> = members.iter().take(8).map(|&v| together.ids[v].to_string()).collect();
                let cause = format!("no kind of device can run all of them ({})", ids.join(", "));
                found.add("nodes kept together", cause, "keep fewer of them together");
            }
        }
        found.into_result()?;
        Ok(together)
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.graph.node_count()
    }

    /// The same problem where the nodes of each cluster share a device, besides those of each colour class.
    /// `clusters` holds the cluster of each node. O(n α(n)).
    ///
    /// Its splits are splits of this problem in the same scope, but for that of one given order, which clusters interrupt.
    #[must_use]
    pub fn clustered(&self, clusters: &[usize]) -> Self {
        let mut first_of_cluster = FxHashMap::default();
        let pairs = clusters.iter().enumerate();
        self.joined(pairs.map(|(v, &cluster)| (v, *first_of_cluster.entry(cluster).or_insert(v))))
    }

    /// The same problem where the nodes of each pair share a device, besides those of each colour class.
    fn joined(&self, pairs: impl Iterator<Item = (NodeId, NodeId)>) -> Self {
        let mut joined = UnionFind::new(self.node_count());
        let mut first_of_class = FxHashMap::default();
        let classes = self.color_class.iter().enumerate().filter_map(|(v, class)| Some((v, (*class)?)));
        let of_classes = classes.map(|(v, class)| (v, *first_of_class.entry(class).or_insert(v)));
        for (u, v) in pairs.chain(of_classes) {
            joined.union(u, v);
        }
        let color_class = joined.into_labeling().into_iter().map(|root| Some(root as u64)).collect();
        Self { color_class, ..self.clone() }
    }

    /// The graph that contiguity is about, on `groups` of whole colour classes. A backward node without a forward partner
    /// in its own class is an orphan, also where a cluster gives it the company of forward nodes.
    pub fn order_graph(&self, groups: &Groups) -> OrderGraph {
        let classes = Groups::new(&self.given_class);
        let mut order = OrderGraph::new(&self.graph, &self.backward, &classes);
        order.group_of.iter_mut().for_each(|class| *class = groups.of_node[classes.members[*class][0]]);
        order
    }

    /// The device kinds of the platform: each accelerator class that has a device, then the CPU.
    pub fn device_kinds(&self) -> Vec<DeviceKind> {
        let platform = &self.spec.platform;
        let classes = platform.accelerators.iter().enumerate().filter(|(_, class)| class.count > 0);
        let mut kinds: Vec<DeviceKind> = classes.map(|(i, _)| DeviceKind::Accelerator(i)).collect();
        if platform.cpus > 0 {
            kinds.push(DeviceKind::Cpu);
        }
        kinds
    }

    /// The index of each node, by its id in the instance's file.
    pub fn index_of_ids(&self) -> FxHashMap<u64, NodeId> {
        self.ids.iter().copied().zip(0..).collect()
    }

    /// How many devices of `kind` there are.
    pub fn device_count(&self, kind: DeviceKind) -> usize {
        match kind {
            DeviceKind::Accelerator(class) => self.spec.platform.accelerators[class].count,
            DeviceKind::Cpu => self.spec.platform.cpus,
        }
    }

    /// Memory of one device of `kind` in bytes; `None` is unlimited.
    pub fn memory_limit(&self, kind: DeviceKind) -> Option<f64> {
        match kind {
            DeviceKind::Accelerator(class) => self.spec.platform.accelerators[class].memory,
            DeviceKind::Cpu => None,
        }
    }
}

fn shard_weight(node: &Node, objective: Objective) -> f64 {
    match objective {
        Objective::Sharding(sharding) => sharding.weight.of(node),
        Objective::Throughput | Objective::GPipe | Objective::Step { .. } | Objective::Latency { .. } => 0.0,
    }
}
