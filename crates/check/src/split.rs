//! Splits in the published shape, and their largest load: what stands beside a claim.

use std::collections::{BTreeSet, HashMap};

use crate::instance::{Instance, Node};
use crate::json::{self, Object, Value};
use crate::order::components;
use crate::problem::{Problem, Terms};
use crate::question::{Question, Scope};

/// Devices that share a set of nodes.
struct Device {
    kind: usize,
    replicas: u32,
    nodes: Vec<u64>,
}

/// The load of the split in `text` in units of the claim, rounded down where replicas share it; or why it is none of the
/// splits that are asked for.
pub fn value(instance: &Instance, question: &Question, text: &str) -> Result<i128, String> {
    let problem = Problem::new(instance, question)?;
    let devices = read(text, instance)?;
    let device_of = placed(instance, &devices)?;
    let mut of_unit = vec![None; problem.order.units];
    for (&unit, &d) in problem.order.unit_of.iter().zip(&device_of) {
        if *of_unit[unit].get_or_insert(d) != d {
            return Err("nodes that have to share a device are on two".into());
        }
    }
    are_there(&problem, &devices)?;
    is_in_scope(&problem, &of_unit, devices.len())?;
    let mut largest = [0; 2];
    for (d, device) in devices.iter().enumerate() {
        let loads =
            loads(&problem, device, |u| of_unit[u] == Some(d)).map_err(|cause| format!("device {d}: {cause}"))?;
        largest = [0, 1].map(|i| largest[i].max(loads[i]));
    }
    Ok(largest[0] + largest[1])
}

fn read(text: &str, instance: &Instance) -> Result<Vec<Device>, String> {
    let device = |value: Value, is_cpu: bool| {
        let device = Object::parse(value.get())?;
        let kind = if is_cpu { instance.classes } else { device.optional("class", json::whole)?.unwrap_or(0) };
        if !is_cpu && kind >= instance.classes {
            return Err(format!("there is no class {kind}"));
        }
        let replicas = if is_cpu { None } else { device.optional("replicas", json::whole)? };
        Ok(Device { kind, replicas: replicas.unwrap_or(1), nodes: device.get("nodes", json::list(json::whole))? })
    };
    let file = Object::parse(text)?;
    let accelerators = file.optional("fpgas", json::list(|value| device(value, false)))?.unwrap_or_default();
    let cpus = file.optional("cpus", json::list(|value| device(value, true)))?.unwrap_or_default();
    Ok(accelerators.into_iter().chain(cpus).filter(|device| !device.nodes.is_empty()).collect())
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
    let ids: BTreeSet<u64> = instance.nodes.iter().map(|node| node.id).collect();
    if let Some(id) = device_of_id.keys().find(|id| !ids.contains(id)) {
        return Err(format!("there is no node {id}"));
    }
    let known = |node: &Node| device_of_id.get(&node.id).copied();
    let of_color: HashMap<u64, usize> =
        instance.nodes.iter().filter_map(|node| Some((node.color?, known(node)?))).collect();
    let with_class = |node: &Node| of_color.get(&node.color.filter(|_| node.backward)?).copied();
    let of = |node| known(node).or_else(|| with_class(node)).ok_or_else(|| format!("node {} is on no device", node.id));
    instance.nodes.iter().map(of).collect()
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

/// The loads of a device that holds some units.
fn loads(problem: &Problem, device: &Device, is_in: impl Fn(usize) -> bool) -> Result<[i128; 2], String> {
    let kind = &problem.kinds[device.kind];
    let (mut passes, mut memory, mut parameters) = ([Terms::default(); 2], 0, 0);
    for u in (0..problem.order.units).filter(|&u| is_in(u)) {
        let times = kind.passes(u).ok_or("it cannot run a node")?;
        passes.iter_mut().zip(times).for_each(|(terms, time)| terms[0] += time);
        memory += problem.memory[u];
        parameters += problem.parameters[u];
    }
    for net in &problem.nets {
        let cost_if = |is_paid: bool| if is_paid { net.cost } else { 0 };
        let terms = &mut passes[net.pass];
        terms[1] += cost_if(!is_in(net.source) && net.sinks.iter().any(|&u| is_in(u)));
        terms[2] += cost_if(is_in(net.source) && net.sinks.iter().any(|&u| !is_in(u)));
    }
    if kind.capacity.is_some_and(|capacity| memory > capacity) {
        return Err("its memory is exceeded".into());
    }
    Ok(problem.loads(kind, device.replicas, &passes, parameters))
}

/// Whether the order graph, each device's nodes drawn together, has no cycle; for convex sets, where one device's are alone.
fn is_in_scope(problem: &Problem, of_unit: &[Option<usize>], devices: usize) -> Result<(), String> {
    let order = &problem.order;
    let device = |variable: usize| of_unit[order.unit_of_variable[variable]].unwrap_or(devices);
    // Vertices from `devices` on are order nodes by themselves.
    let drawn = |end: usize, of: &dyn Fn(usize) -> bool| if of(device(end)) { device(end) } else { devices + end };
    let is_alone = |of: &dyn Fn(usize) -> bool| {
        let edges = order.edges.iter().map(|&(a, b)| (drawn(a, of), drawn(b, of)));
        let component = components(devices + order.unit_of_variable.len(), edges);
        let is_cyclic = |d: usize| component.iter().filter(|&&other| other == component[d]).count() > 1;
        !(0..devices).filter(|&d| of(d)).any(is_cyclic)
    };
    match problem.scope {
        Scope::Acyclic if !is_alone(&|_| true) => Err("its devices wait for each other in a cycle".into()),
        Scope::Convex if !(0..devices).all(|d| is_alone(&|other| other == d)) => {
            Err("a path leaves a device and returns to it".into())
        }
        _ => Ok(()),
    }
}
