//! What is still to be decided: the nodes of the problem, and blocks of accelerators that are decided.
//!
//! A decided block is an item like a node that only the CPU can run. It takes what the block takes, whatever becomes of the
//! others, and who needs what it makes fetches it from there. So a problem with decided blocks is one of the same kind.

use super::super::model::Model;
use crate::graph::{Graph, NodeId, NodeSet, paths, reachability, topological};
use crate::problem::{DeviceKind, fits};

/// Items in the place of nodes, and what they cost.
#[derive(Debug, Clone)]
pub struct Items {
    /// The nodes of the problem that each item stands for.
    pub members: Vec<Vec<NodeId>>,
    /// Which items feed which.
    pub graph: Graph,
    /// The items that feed each one, each with the number of that edge.
    pub before: Vec<Vec<(usize, usize)>>,
    /// The items that each one feeds, each with the number of that edge.
    pub after: Vec<Vec<(usize, usize)>>,
    /// What each item takes outside the blocks that are to be found: time of the CPU, or of a decided block.
    pub outside: Vec<f64>,
    /// Whether a block has to take the item, since no CPU can.
    pub needs_block: Vec<bool>,
    /// What moves between devices.
    pub transfers: Vec<Transfer>,
    /// The transfers that each item makes.
    pub makes: Vec<Vec<usize>>,
    /// The transfers that each item needs.
    pub needs: Vec<Vec<usize>>,
    /// The classes of accelerators.
    pub classes: Vec<Class>,
    /// A topological order, by the longest paths to the items.
    pub order: Vec<usize>,
    /// For each item those that follow it, itself included.
    pub below: Vec<NodeSet>,
    /// For each item those that it follows, itself included.
    pub above: Vec<NodeSet>,
}

/// What one item makes and others need.
#[derive(Debug, Clone)]
pub struct Transfer {
    pub source: usize,
    /// Ascending.
    pub consumers: Vec<usize>,
}

/// What a block of one class takes, by the piece of the load that weighs compute the most.
#[derive(Debug, Clone)]
pub struct Class {
    /// How many accelerators are left.
    pub count: usize,
    /// Bytes of each; `None` is unlimited.
    pub memory_limit: Option<f64>,
    /// Compute time of each item; `None` where the class cannot run it.
    pub compute: Vec<Option<f64>>,
    /// Bytes of each item.
    pub memory: Vec<f64>,
    /// Time of each transfer that leaves a block.
    pub outward: Vec<f64>,
    /// Time of each transfer that comes into a block.
    pub inward: Vec<f64>,
}

/// What items are put together from.
struct Parts {
    members: Vec<Vec<NodeId>>,
    edges: Vec<(usize, usize)>,
    outside: Vec<f64>,
    needs_block: Vec<bool>,
    transfers: Vec<Transfer>,
    classes: Vec<Class>,
}

impl Items {
    /// The most nodes for which configurations are searched: the program has a row for each edge.
    pub const MOST: usize = 4096;

    /// The nodes of the problem. O(n · m / 64), n²/4 bytes.
    pub fn new(model: &Model) -> Self {
        let problem = model.problem;
        let n = problem.node_count();
        let has_cpu = problem.spec.platform.cpus > 0;
        let on_cpu = |v: NodeId| problem.costs.node(v, DeviceKind::Cpu).filter(|_| has_cpu).map(|cost| cost.compute);
        let transfers = problem.costs.transfers.iter();
        let parts = Parts {
            members: (0..n).map(|v| vec![v]).collect(),
            edges: problem.graph.edges().collect(),
            outside: (0..n).map(|v| on_cpu(v).unwrap_or(0.0)).collect(),
            needs_block: (0..n).map(|v| on_cpu(v).is_none()).collect(),
            transfers: transfers.map(|t| Transfer { source: t.source, consumers: t.consumers.clone() }).collect(),
            classes: model.classes.iter().map(|class| Class::new(model, class)).collect(),
        };
        parts.assemble().unwrap_or_else(|| unreachable!("the problem's graph has no cycle"))
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// How many edges there are.
    pub fn edge_count(&self) -> usize {
        self.graph.edge_count()
    }

    /// The least convex set that holds these items.
    pub fn hull(&self, set: &NodeSet) -> NodeSet {
        let (mut below, above) = self.around(set);
        below.intersect_with(&above);
        below
    }

    /// What follows some item of the set, and what some item of it follows, the set included.
    pub fn around(&self, set: &NodeSet) -> (NodeSet, NodeSet) {
        let (mut below, mut above) = (NodeSet::new(self.len()), NodeSet::new(self.len()));
        for v in set.iter() {
            below.union_with(&self.below[v]);
            above.union_with(&self.above[v]);
        }
        (below, above)
    }

    /// Bytes of a set on an accelerator of this class.
    pub fn memory(&self, class: usize, set: &NodeSet) -> f64 {
        set.iter().map(|v| self.classes[class].memory[v]).sum()
    }

    /// Whether an accelerator of this class has room for the set and can run all of it.
    pub fn can_hold(&self, class: usize, set: &NodeSet) -> bool {
        let Class { compute, memory_limit, .. } = &self.classes[class];
        set.iter().all(|v| compute[v].is_some()) && fits(self.memory(class, set), *memory_limit)
    }

    /// What an accelerator of this class takes for the set, at least.
    pub fn duration(&self, class: usize, set: &NodeSet) -> f64 {
        let Class { compute, outward, inward, .. } = &self.classes[class];
        let leaves = |&&t: &&usize| self.transfers[t].consumers.iter().any(|&w| !set.contains(w));
        let mut time = 0.0;
        let mut fetched: Vec<usize> = Vec::new();
        for v in set.iter() {
            time += compute[v].unwrap_or(0.0);
            time += self.makes[v].iter().filter(leaves).map(|&t| outward[t]).sum::<f64>();
            fetched.extend(self.needs[v].iter().filter(|&&t| !set.contains(self.transfers[t].source)).copied());
        }
        fetched.sort_unstable();
        fetched.dedup();
        time + fetched.into_iter().map(|t| inward[t]).sum::<f64>()
    }

    /// The items where an accelerator of this class runs the set as a block, which becomes the last item, and the new item of
    /// each. `None` where a block waits for what it feeds.
    pub fn decide(&self, class: usize, set: &NodeSet) -> Option<(Self, Vec<usize>)> {
        let kept: Vec<usize> = (0..self.len()).filter(|&v| !set.contains(v)).collect();
        let mut item = vec![kept.len(); self.len()];
        kept.iter().enumerate().for_each(|(i, &v)| item[v] = i);
        let with_block = |of_kept: &[f64], of_block: f64| -> Vec<f64> {
            kept.iter().map(|&v| of_kept[v]).chain([of_block]).collect()
        };
        let mut members: Vec<Vec<NodeId>> = kept.iter().map(|&v| self.members[v].clone()).collect();
        members.push(set.iter().flat_map(|v| self.members[v].iter().copied()).collect());
        let edges = self.graph.edges().map(|(u, v)| (item[u], item[v])).filter(|(u, v)| u != v).collect();
        let mut left = Vec::new();
        let transfers = self.transfers.iter().enumerate().filter_map(|(t, transfer)| {
            let source = item[transfer.source];
            let mut consumers: Vec<usize> =
                transfer.consumers.iter().map(|&w| item[w]).filter(|&w| w != source).collect();
            consumers.sort_unstable();
            consumers.dedup();
            (!consumers.is_empty()).then(|| {
                left.push(t);
                Transfer { source, consumers }
            })
        });
        let transfers = transfers.collect();
        let classes = self.classes.iter().enumerate().map(|(c, of_all)| Class {
            count: of_all.count - usize::from(c == class),
            memory_limit: of_all.memory_limit,
            compute: kept.iter().map(|&v| of_all.compute[v]).chain([None]).collect(),
            memory: with_block(&of_all.memory, 0.0),
            outward: left.iter().map(|&t| of_all.outward[t]).collect(),
            inward: left.iter().map(|&t| of_all.inward[t]).collect(),
        });
        let parts = Parts {
            members,
            edges,
            outside: with_block(&self.outside, self.duration(class, set)),
            needs_block: kept.iter().map(|&v| self.needs_block[v]).chain([false]).collect(),
            transfers,
            classes: classes.collect(),
        };
        Some((parts.assemble()?, item))
    }
}

impl Class {
    fn new(model: &Model, class: &super::super::model::Class) -> Self {
        let costs = model.problem.costs.kind(class.kind);
        let piece = class.piece_of_compute();
        Self {
            count: class.count,
            memory_limit: class.memory_limit,
            compute: costs.nodes.iter().map(|cost| Some(piece.compute * cost.as_ref()?.compute)).collect(),
            memory: costs.nodes.iter().map(|cost| cost.as_ref().map_or(0.0, |cost| cost.memory)).collect(),
            outward: costs.transfers.iter().map(|time| piece.comm_out * time).collect(),
            inward: costs.transfers.iter().map(|time| piece.comm_in * time).collect(),
        }
    }
}

impl Parts {
    /// The items; `None` where they wait for each other.
    fn assemble(self) -> Option<Items> {
        let Self { members, edges, outside, needs_block, transfers, classes } = self;
        let n = members.len();
        let graph = Graph::new(n, &edges).ok()?;
        let (mut before, mut after) = (vec![Vec::new(); n], vec![Vec::new(); n]);
        for (e, (u, v)) in graph.edges().enumerate() {
            before[v].push((u, e));
            after[u].push((v, e));
        }
        let (mut makes, mut needs) = (vec![Vec::new(); n], vec![Vec::new(); n]);
        for (t, transfer) in transfers.iter().enumerate() {
            makes[transfer.source].push(t);
            transfer.consumers.iter().for_each(|&w| needs[w].push(t));
        }
        let starts = paths::longest_to(&graph, &topological::smallest_first(&graph), &outside);
        let order = topological::by_priority(&graph, |v| starts[v].to_bits());
        let below = reachability::descendants(&graph);
        let above = reachability::ancestors(&graph);
        Some(Items {
            members,
            graph,
            before,
            after,
            outside,
            needs_block,
            transfers,
            makes,
            needs,
            classes,
            order,
            below,
            above,
        })
    }
}
