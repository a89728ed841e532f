//! The layers of a model's list, and on which stage each lies.

use std::collections::{BTreeMap, BTreeSet};

use super::names;
use super::pipeline::{Pipeline, Stage};
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
    /// How many of them compute activations once more.
    pub recomputed: Vec<usize>,
    /// Whether each stage is a CPU.
    pub on_cpu: Vec<bool>,
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
    /// The layers of the list `list`. O(n + m) and sorting.
    ///
    /// Views and inputs cost nothing anywhere, so it does not matter on which stage they lie.
    ///
    /// # Errors
    /// Every layer that the split cuts, and whatever else is not where a framework would put it; CPUs unless it
    /// `takes_cpus`.
    pub fn new(instance: &Instance, pipeline: &Pipeline, list: &str, takes_cpus: bool) -> Result<Self, Problems> {
        let mut found = Problems::default();
        let places = places(instance, list);
        let mut parts: BTreeMap<Place, Part> = BTreeMap::new();
        for (v, node) in instance.nodes.iter().enumerate().filter(|(_, node)| names::costs(node)) {
            if let Some(stage) = pipeline.stage_of[v] {
                let part = parts.entry(places[v]).or_default();
                part.stages.insert(stage);
                part.modules.extend(names::part(node, list).or(node.name.as_deref()));
                part.recomputes |= pipeline.recomputes[v];
            }
        }
        for stage in pipeline.idle(instance) {
            let cause = "nothing on it costs anything, such as a layer does";
            found.add(format!("stage {stage}"), cause, "solve with fewer accelerators");
        }
        let is_cpu = |stage: &Stage| stage.kind == DeviceKind::Cpu;
        let refused = |(_, stage): &(usize, &Stage)| is_cpu(stage) && !takes_cpus;
        for (s, stage) in pipeline.stages.iter().enumerate().filter(refused) {
            let cause = format!("it is a CPU, with {} nodes", stage.nodes.len());
            found.add(format!("stage {s}"), cause, "solve with --cpus 0");
        }
        check(pipeline.stages.len() - 1, list, &parts, &mut found);
        found.into_result()?;
        let (mut counts, mut recomputed) = (vec![0; pipeline.stages.len()], vec![0; pipeline.stages.len()]);
        for (_, part) in parts.iter().filter(|(place, _)| matches!(place, Place::Layer(_))) {
            for &stage in &part.stages {
                counts[stage] += 1;
                recomputed[stage] += usize::from(part.recomputes);
            }
        }
        let on_cpu = pipeline.stages.iter().map(is_cpu).collect();
        let (before, after) = (parts.contains_key(&Place::Before), parts.contains_key(&Place::After));
        Ok(Self { list: list.to_owned(), counts, recomputed, on_cpu, before, after })
    }
}

/// A layer, or what comes before or after all layers.
#[derive(Debug, Default)]
struct Part<'a> {
    /// The stages that it lies on.
    stages: BTreeSet<usize>,
    /// Its modules, or the names of nodes that belong to none.
    modules: BTreeSet<&'a str>,
    recomputes: bool,
}

fn check(last: usize, list: &str, parts: &BTreeMap<Place, Part>, found: &mut Problems) {
    if !parts.keys().any(|place| matches!(place, Place::Layer(_))) {
        found.add("the list", format!("no node lies in a layer of `{list}`"), "name another list with --layers");
    }
    let mut reached = 0;
    for (place, part) in parts {
        let on = &part.stages;
        let shown = on.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let (allowed, name, wish) = match place {
            Place::Before => (0..=0, "what comes before the layers".to_owned(), "the first stage"),
            Place::Layer(layer) if list.is_empty() => (0..=last, format!("layer {layer}"), "one stage"),
            Place::Layer(layer) => (0..=last, format!("layer {layer} of `{list}`"), "one stage"),
            Place::After => (last..=last, "what comes after the layers".to_owned(), "the last stage"),
        };
        if on.len() > 1 || on.iter().any(|stage| !allowed.contains(stage)) {
            let cause = format!("it lies on stage {shown}, and the framework keeps it on {wish}");
            let modules = part.modules.iter().copied().collect::<Vec<_>>().join(",");
            let cure = match on.len() {
                1 => "export to pytorch-pipelining".to_owned(),
                _ => format!("solve with --together {modules}, or export to pytorch-pipelining"),
            };
            found.add(name, cause, cure);
        } else if on.iter().any(|&stage| stage < reached) {
            found.add(name, format!("it lies on stage {shown}, before a lower layer's"), "solve with --scope acyclic");
        }
        reached = on.iter().copied().fold(reached, usize::max);
    }
}

/// The list `named`, or the longest one.
///
/// # Errors
/// There is none.
pub(super) fn list(instance: &Instance, named: Option<&str>) -> Result<String, Problems> {
    named.map(str::to_owned).or_else(|| longest_list(instance)).ok_or_else(|| {
        let mut found = Problems::default();
        let cause = "their names state no layer, such as `encoder.layer.3/linear`";
        found.add("nodes", cause, "trace the model with dagsplit-profile, or export to pytorch-pipelining");
        found
    })
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
