//! Splits in the published shape, and their largest load: what stands beside a claim.

use std::collections::{BTreeSet, HashMap};

use crate::instance::Instance;
use crate::json::{self, Object, Value};
use crate::problem::{Problem, Terms};
use crate::question::{Question, Scope};

/// Devices that share a set of nodes.
struct Device {
    kind: usize,
    replicas: u32,
    nodes: Vec<u64>,
}

/// The least whole number of the claim's units that no load of the split in `text` exceeds.
///
/// # Errors
/// It is no split, or none of those that are asked for.
pub fn value(instance: &Instance, question: &Question, text: &str) -> Result<i128, String> {
    let problem = Problem::new(instance, question)?;
    let devices = read(text, instance)?;
    let device_of = placed(instance, &devices)?;
    let mut of_unit = vec![usize::MAX; problem.order.units];
    for (&unit, &d) in problem.order.unit_of.iter().zip(&device_of) {
        if of_unit[unit] != usize::MAX && of_unit[unit] != d {
            return Err("nodes that have to share a device are on two".into());
        }
        of_unit[unit] = d;
    }
    are_there(&problem, &devices)?;
    is_in_scope(&problem, &of_unit, devices.len())?;
    let mut largest = 0;
    for (d, device) in devices.iter().enumerate() {
        let load = load(&problem, device, &|u| of_unit[u] == d).map_err(|cause| format!("device {d}: {cause}"))?;
        largest = largest.max(load);
    }
    Ok(largest)
}

fn read(text: &str, instance: &Instance) -> Result<Vec<Device>, String> {
    let file = Object::parse(text)?;
    let device = |value: Value| {
        let device = Object::parse(value.get())?;
        let kind = device.or("class", 0, json::whole)?;
        if kind >= instance.classes {
            return Err(format!("there is no class {kind}"));
        }
        let nodes = device.get("nodes", |value| json::list(value, json::whole))?;
        Ok(Device { kind, replicas: device.or("replicas", 1, json::whole)?, nodes })
    };
    let cpu = |value: Value| {
        let nodes = Object::parse(value.get())?.get("nodes", |value| json::list(value, json::whole))?;
        Ok(Device { kind: instance.classes, replicas: 1, nodes })
    };
    let mut devices = file.or("fpgas", Vec::new(), |value| json::list(value, device))?;
    devices.extend(file.or("cpus", Vec::new(), |value| json::list(value, cpu))?);
    devices.retain(|device| !device.nodes.is_empty());
    Ok(devices)
}

/// The device of each node. A backward node that none lists is where its colour class is.
fn placed(instance: &Instance, devices: &[Device]) -> Result<Vec<usize>, String> {
    let mut device_of_id = HashMap::new();
    for (d, device) in devices.iter().enumerate() {
        for &id in &device.nodes {
            if device_of_id.insert(id, d).is_some() {
                return Err(format!("node {id} is on two devices"));
            }
        }
    }
    let known = |id: u64| device_of_id.get(&id).copied();
    let of_color: HashMap<u64, usize> =
        instance.nodes.iter().filter_map(|node| Some((node.color?, known(node.id)?))).collect();
    let with_class = |node: &crate::instance::Node| of_color.get(&node.color.filter(|_| node.backward)?).copied();
    let of = |node: &crate::instance::Node| {
        known(node.id).or_else(|| with_class(node)).ok_or_else(|| format!("node {} is on no device", node.id))
    };
    let placed = instance.nodes.iter().map(of).collect::<Result<Vec<_>, _>>()?;
    let ids: BTreeSet<u64> = instance.nodes.iter().map(|node| node.id).collect();
    match device_of_id.keys().find(|id| !ids.contains(id)) {
        Some(id) => Err(format!("there is no node {id}")),
        None => Ok(placed),
    }
}

/// Whether there are as many devices as the split takes.
fn are_there(problem: &Problem, devices: &[Device]) -> Result<(), String> {
    for (k, kind) in problem.kinds.iter().enumerate() {
        let mut taken = 0_u32;
        for device in devices.iter().filter(|device| device.kind == k) {
            if device.replicas == 0 || device.replicas > kind.most_replicas.max(1) {
                return Err(format!("a set has {} replicas", device.replicas));
            }
            taken = taken.saturating_add(device.replicas);
        }
        if taken > kind.count {
            return Err(format!("it takes {taken} devices of kind {k}, of which there are {}", kind.count));
        }
    }
    Ok(())
}

/// The load of a device that holds some units.
fn load(problem: &Problem, device: &Device, is_in: &dyn Fn(usize) -> bool) -> Result<i128, String> {
    let kind = &problem.kinds[device.kind];
    let mut terms: Terms = [0; 3];
    let (mut memory, mut parameters) = (0, 0);
    for u in (0..problem.order.units).filter(|&u| is_in(u)) {
        terms[0] += kind.time[u].ok_or("it cannot run a node")?;
        memory += problem.memory[u];
        parameters += problem.parameters[u];
    }
    for net in &problem.nets {
        let sinks_in = net.sinks.iter().filter(|&&u| is_in(u)).count();
        terms[1] += if !is_in(net.source) && sinks_in > 0 { net.cost } else { 0 };
        terms[2] += if is_in(net.source) && sinks_in < net.sinks.len() { net.cost } else { 0 };
    }
    if kind.capacity.is_some_and(|capacity| memory > capacity) {
        return Err("its memory is exceeded".into());
    }
    Ok(problem.load(kind, device.replicas, &terms, parameters))
}

/// Whether sets are convex, or devices in an order.
fn is_in_scope(problem: &Problem, of_unit: &[usize], devices: usize) -> Result<(), String> {
    let order = &problem.order;
    let device = |variable: usize| of_unit[order.unit_of_variable[variable]];
    match problem.scope {
        Scope::Arbitrary => Ok(()),
        Scope::Acyclic => {
            let edges: BTreeSet<(usize, usize)> = order.edges.iter().map(|&(a, b)| (device(a), device(b))).collect();
            let mut left: BTreeSet<usize> = (0..devices).collect();
            while let Some(first) =
                left.iter().copied().find(|&d| !edges.iter().any(|&(a, b)| b == d && a != d && left.contains(&a)))
            {
                left.remove(&first);
            }
            if left.is_empty() { Ok(()) } else { Err("its devices wait for each other in a cycle".into()) }
        }
        Scope::Convex => {
            let mut after = vec![Vec::new(); order.unit_of_variable.len()];
            order.edges.iter().for_each(|&(a, b)| after[a].push(b));
            let returns = |d: usize| {
                let leaves = (0..after.len()).filter(|&a| device(a) == d).flat_map(|a| &after[a]).copied();
                let mut stack: Vec<usize> = leaves.filter(|&b| device(b) != d).collect();
                let mut seen = vec![false; after.len()];
                while let Some(v) = stack.pop() {
                    if !std::mem::replace(&mut seen[v], true) {
                        if after[v].iter().any(|&w| device(w) == d) {
                            return true;
                        }
                        stack.extend(&after[v]);
                    }
                }
                false
            };
            if (0..devices).any(returns) { Err("a path leaves a device and returns to it".into()) } else { Ok(()) }
        }
    }
}
