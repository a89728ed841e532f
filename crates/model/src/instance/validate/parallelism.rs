//! What can be wrong with the options of nodes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Problems, check_amount, node_place, shorten};
use crate::instance::{Edge, Instance, Node, NodeOption, Parallelism};

/// Degrees above this are slips.
const MAX_DEGREE: usize = 1_000_000;

/// Adds what is wrong with the options of `instance` to `found`; its nodes have the indices of `index`.
pub(super) fn check(instance: &Instance, index: &HashMap<u64, usize>, found: &mut Problems) {
    let Some(parallelism) = &instance.parallelism else { return };
    if !parallelism.bandwidth.is_finite() || parallelism.bandwidth <= 0.0 {
        let cause = format!("its bandwidth is {}", parallelism.bandwidth);
        found.add("parallelism", cause, "give a positive finite number of bytes per time unit");
    }
    let edges: BTreeSet<(u64, u64)> = instance.edges.iter().map(|e| (e.source, e.target)).collect();
    check_edges(parallelism, &edges, found);
    check_options(instance, parallelism, index, &edges, found);
    check_totals(parallelism, found);
    let is_of_other_pass = |v: &&Node| v.backward || v.color_class.is_some();
    if let Some(node) = instance.nodes.iter().find(is_of_other_pass) {
        let cure = "leave out backward nodes and colour classes, whose part the options' times and memory have to hold";
        found.add(node_place(node), "options are of both passes, but it is of one of them", cure);
    }
}

fn check_edges(parallelism: &Parallelism, edges: &BTreeSet<(u64, u64)>, found: &mut Problems) {
    let mut missing = edges.clone();
    for edge in &parallelism.edges {
        let place = || format!("bytes of edge {} → {}", edge.source, edge.target);
        check_amount(place, "size", "bytes", edge.bytes, found);
        let ends = (edge.source, edge.target);
        if !edges.contains(&ends) {
            found.add(place(), "there is no such edge", "list edges of the instance alone");
        } else if !missing.remove(&ends) {
            found.add(place(), "they are given twice", "give them once");
        }
    }
    for (source, target) in missing {
        found.add(
            format!("edge {source} → {target}"),
            "`parallelism` does not say what it moves",
            "list its bytes there",
        );
    }
}

fn check_options(
    instance: &Instance,
    parallelism: &Parallelism,
    index: &HashMap<u64, usize>,
    edges: &BTreeSet<(u64, u64)>,
    found: &mut Problems,
) {
    let mut seen: BTreeMap<_, Vec<Option<usize>>> = BTreeMap::new();
    let classes = instance.platform.accelerators.len();
    let mut has_options = vec![false; instance.nodes.len()];
    for option in &parallelism.options {
        let Some(&v) = index.get(&option.node) else {
            found.add(place(option), "there is no such node", "add the node or drop the option");
            continue;
        };
        has_options[v] = true;
        check_option(option, edges, found);
        if let Some(class) = option.class.filter(|&class| class >= classes) {
            let cure = format!("number the {classes} classes of the platform from 0");
            found.add(place(option), format!("there is no accelerator class {class}"), cure);
        }
        let others = seen.entry((option.node, option.tensor_degree, option.name.as_str())).or_default();
        let is_known = |other: &Option<usize>| other.is_none() || option.class.is_none() || *other == option.class;
        if others.iter().any(is_known) {
            found.add(place(option), "the node has it twice", "give the options of a degree and class different names");
        }
        others.push(option.class);
    }
    for (node, _) in instance.nodes.iter().zip(has_options).filter(|&(_, has)| !has) {
        found.add(node_place(node), "`parallelism` gives it no option", "give every node at least one option");
    }
}

/// How an option is shown.
fn place(option: &NodeOption) -> String {
    format!("option {:?} of node {} at degree {}", shorten(&option.name, 40), option.node, option.tensor_degree)
}

fn check_option(option: &NodeOption, edges: &BTreeSet<(u64, u64)>, found: &mut Problems) {
    let place = || place(option);
    if option.tensor_degree == 0 || option.tensor_degree > MAX_DEGREE {
        found.add(place(), "there is no such degree", format!("give a tensor degree from 1 to {MAX_DEGREE}"));
    }
    check_amount(place, "time", "time units", option.time, found);
    for (what, bytes) in [
        ("parameter size", option.parameter_bytes),
        ("memory for a microbatch", option.memory_per_microbatch),
        ("memory", option.memory),
        ("memory for weights", option.weight_bytes),
        ("memory for gradients", option.gradient_bytes),
        ("memory for the optimizer", option.optimizer_bytes),
        ("working memory", option.working_bytes),
        ("memory for a token", option.cache_bytes_per_token),
    ] {
        check_amount(place, what, "bytes", bytes, found);
    }
    let incoming = option.sync_in.iter().map(|(&id, &bytes)| (Edge { source: id, target: option.node }, bytes));
    let outgoing = option.sync_out.iter().map(|(&id, &bytes)| (Edge { source: option.node, target: id }, bytes));
    for (Edge { source, target }, bytes) in incoming.chain(outgoing) {
        check_amount(place, &format!("exchange for edge {source} → {target}"), "bytes", bytes, found);
        if !edges.contains(&(source, target)) {
            let cause = format!("it exchanges bytes for edge {source} → {target}, which does not exist");
            found.add(place(), cause, "name neighbours of the node alone");
        }
    }
}

/// Sums over everything must stay finite, or loads would not.
fn check_totals(parallelism: &Parallelism, found: &mut Problems) {
    let sync = |o: &NodeOption| o.sync_in.values().chain(o.sync_out.values()).sum::<f64>();
    let lasting = |o: &NodeOption| o.memory + o.weight_bytes + o.gradient_bytes + o.optimizer_bytes + o.working_bytes;
    let multiplied = |o: &NodeOption| o.parameter_bytes + o.memory_per_microbatch + o.cache_bytes_per_token;
    let bytes = |o: &NodeOption| sync(o) + lasting(o) + MAX_DEGREE as f64 * multiplied(o);
    let amounts = parallelism.options.iter().map(|o| [o.time, bytes(o)]);
    let [time, bytes] = amounts.fold([0.0; 2], |[time, bytes], [t, b]| [time + t, bytes + b]);
    let moved = bytes + parallelism.edges.iter().map(|e| e.bytes).sum::<f64>();
    let longest = time + 8.0 * moved / parallelism.bandwidth;
    if [time, moved].into_iter().all(f64::is_finite) && longest.is_finite() {
        return;
    }
    found.add("parallelism", "its times or sizes exceed all numbers together", "choose larger units, or correct them");
}
