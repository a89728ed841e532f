//! The layers of a model's list, and on which stage each lies.

use std::collections::{BTreeMap, BTreeSet};

use super::names;
use super::pipeline::Pipeline;
use crate::graph::{Graph, topological};
use crate::instance::{Instance, Node, Problems};
use crate::problem::DeviceKind;

/// How many layers of a list each stage holds. What comes before the list is on the first stage, what comes after it
/// on the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layers {
    /// The list's name, such as `model.layers`; empty where the model itself is the list.
    pub list: String,
    /// How many layers each stage holds.
    pub counts: Vec<usize>,
    /// Whether something that costs comes before the first layer, such as an embedding.
    pub before: bool,
    /// Whether something that costs comes after the last layer, such as a head.
    pub after: bool,
}

/// Where a node belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Before,
    Layer(usize),
    After,
}

impl Layers {
    /// The layers of the list `list`, or of the longest one. O(n + m) and sorting.
    ///
    /// Views and inputs cost nothing anywhere, so it does not matter on which stage they lie.
    ///
    /// # Errors
    /// Every layer that the split cuts, and whatever else is not where a framework would put it.
    pub fn new(instance: &Instance, pipeline: &Pipeline, list: Option<&str>) -> Result<Self, Problems> {
        let mut found = Problems::default();
        let Some(list) = list.map(str::to_owned).or_else(|| longest_list(instance)) else {
            let cause = "their names state no layer, such as `encoder.layer.3/linear`";
            found.add("nodes", cause, "trace the model with dagsplit-profile, or export to pytorch-pipelining");
            return Err(found);
        };
        let places = places(instance, &list);
        let mut stages: BTreeMap<Place, BTreeSet<usize>> = BTreeMap::new();
        for (v, _) in instance.nodes.iter().enumerate().filter(|(_, node)| names::costs(node)) {
            if let Some(stage) = pipeline.stage_of[v] {
                stages.entry(places[v]).or_default().insert(stage);
            }
        }
        for stage in pipeline.idle(instance) {
            let cause = "nothing on it costs anything, such as a layer does";
            found.add(format!("stage {stage}"), cause, "solve with fewer accelerators");
        }
        check(pipeline, &list, &stages, &mut found);
        found.into_result()?;
        let mut counts = vec![0; pipeline.stages.len()];
        for (_, on) in stages.iter().filter(|(place, _)| matches!(place, Place::Layer(_))) {
            on.iter().for_each(|&stage| counts[stage] += 1);
        }
        let (before, after) = (stages.contains_key(&Place::Before), stages.contains_key(&Place::After));
        Ok(Self { list, counts, before, after })
    }
}

fn check(pipeline: &Pipeline, list: &str, stages: &BTreeMap<Place, BTreeSet<usize>>, found: &mut Problems) {
    for (s, stage) in pipeline.stages.iter().enumerate().filter(|(_, stage)| stage.kind == DeviceKind::Cpu) {
        let cause = format!("it is a CPU, with {} nodes", stage.nodes.len());
        found.add(format!("stage {s}"), cause, "solve with --cpus 0");
    }
    if !stages.keys().any(|place| matches!(place, Place::Layer(_))) {
        found.add("the list", format!("no node lies in a layer of `{list}`"), "name another list with --layers");
    }
    let last = pipeline.stages.len() - 1;
    let mut reached = 0;
    for (place, on) in stages {
        let shown = on.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let (allowed, name, wish) = match place {
            Place::Before => (0..=0, "what comes before the layers".to_owned(), "the first stage"),
            Place::Layer(layer) if list.is_empty() => (0..=last, format!("layer {layer}"), "one stage"),
            Place::Layer(layer) => (0..=last, format!("layer {layer} of `{list}`"), "one stage"),
            Place::After => (last..=last, "what comes after the layers".to_owned(), "the last stage"),
        };
        if on.len() > 1 || on.iter().any(|stage| !allowed.contains(stage)) {
            let cause = format!("it lies on stage {shown}, and the framework keeps it on {wish}");
            found.add(name, cause, "profile with one node for each layer (--atomic), or export to pytorch-pipelining");
        } else if on.iter().any(|&stage| stage < reached) {
            found.add(name, format!("it lies on stage {shown}, before a lower layer's"), "solve with --scope acyclic");
        }
        reached = on.iter().copied().fold(reached, usize::max);
    }
}

/// The list of modules with the most entries, by names such as `encoder.layer.3`; ties go to the first in the alphabet.
fn longest_list(instance: &Instance) -> Option<String> {
    let mut lists: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for module in instance.nodes.iter().filter_map(names::module) {
        if let Some((list, layer)) = first_entry(module) {
            lists.entry(list.to_owned()).or_default().insert(layer);
        }
    }
    let longest = lists.values().map(BTreeSet::len).max()?;
    lists.into_iter().find(|(_, layers)| layers.len() == longest).map(|(list, _)| list)
}

/// The outermost list that `module` lies in, and its place there: `a.b`, 3 for `a.b.3.c`.
fn first_entry(module: &str) -> Option<(&str, usize)> {
    names::ancestors(module).find_map(|ancestor| match ancestor.rsplit_once('.') {
        Some((list, last)) => Some((list, last.parse().ok()?)),
        None => Some(("", ancestor.parse().ok()?)),
    })
}

/// The layer of `list` that the node belongs to.
fn layer(node: &Node, list: &str) -> Option<usize> {
    let module = names::module(node)?;
    let rest = if list.is_empty() { module } else { module.strip_prefix(list)?.strip_prefix('.')? };
    rest.split('.').next()?.parse().ok()
}

/// Where each node belongs: one outside the list comes after it if it depends on a layer, else before.
fn places(instance: &Instance, list: &str) -> Vec<Place> {
    let index: BTreeMap<u64, usize> = instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
    let edges: Vec<(usize, usize)> = instance.edges.iter().map(|e| (index[&e.source], index[&e.target])).collect();
    let mut places: Vec<Place> =
        instance.nodes.iter().map(|node| layer(node, list).map_or(Place::Before, Place::Layer)).collect();
    let Ok(graph) = Graph::new(instance.nodes.len(), &edges) else { return places };
    for v in topological::smallest_first(&graph) {
        let depends = graph.predecessors(v).iter().any(|&u| places[u as usize] != Place::Before);
        if places[v] == Place::Before && depends {
            places[v] = Place::After;
        }
    }
    places
}
