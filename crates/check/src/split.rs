//! Splits in the published shape, and their largest load: what stands beside a claim.

use std::collections::HashMap;

use crate::instance::Instance;
use crate::json::{self, Object, Value};
use crate::order::components;
use crate::problem::{Problem, Terms};
use crate::question::{Device, Question, Scope};

/// The load of the split in `text` in units of the claim, rounded down where replicas share it; or why it is none of the
/// splits that are asked for.
pub fn value(instance: &Instance, question: &Question, text: &str) -> Result<i128, String> {
    let loads = loads(instance, &Problem::new(instance, question)?, &read(text, instance)?)?;
    Ok([0, 1].iter().filter_map(|&pass: &usize| loads.iter().map(|loads| loads[pass]).max()).sum())
}

/// The loads of each device of a split; or why it is none that is asked for.
pub fn loads(instance: &Instance, problem: &Problem, devices: &[Device]) -> Result<Vec<[i128; 2]>, String> {
    let device_of = placed(instance, devices)?;
    let mut of_unit = vec![None; problem.order.units];
    for (&unit, &d) in problem.order.unit_of.iter().zip(&device_of) {
        if *of_unit[unit].get_or_insert(d) != d {
            return Err("nodes that have to share a device are on two".into());
        }
    }
    are_there(problem, devices)?;
    is_in_scope(problem, &of_unit, devices.len())?;
    let loads = devices.iter().enumerate().map(|(d, device)| load(problem, device, |u| of_unit[u] == Some(d)));
    loads.enumerate().map(|(d, loads)| loads.map_err(|cause| format!("device {d}: {cause}"))).collect()
}

/// Reads a split. A backward node that no device lists is where its colour class is.
fn read(text: &str, instance: &Instance) -> Result<Vec<Device>, String> {
    let positions: HashMap<u64, usize> = instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
    let position = |value: Value| {
        let id = json::whole(value)?;
        positions.get(&id).copied().ok_or_else(|| format!("there is no node {id}"))
    };
    let device = |value: Value, is_cpu: bool| {
        let device = Object::parse(value.get())?;
        let kind = if is_cpu { instance.classes } else { device.optional("class", json::whole)?.unwrap_or(0) };
        if !is_cpu && kind >= instance.classes {
            return Err(format!("there is no class {kind}"));
        }
        let replicas = if is_cpu { None } else { device.optional("replicas", json::whole)? };
        Ok(Device { kind, replicas: replicas.unwrap_or(1), nodes: device.get("nodes", json::list(position))? })
    };
    let file = Object::parse(text)?;
    let accelerators = file.optional("fpgas", json::list(|value| device(value, false)))?.unwrap_or_default();
    let cpus = file.optional("cpus", json::list(|value| device(value, true)))?.unwrap_or_default();
    let mut devices: Vec<Device> =
        accelerators.into_iter().chain(cpus).filter(|device| !device.nodes.is_empty()).collect();
    let listed = devices.iter().enumerate().flat_map(|(d, device)| device.nodes.iter().map(move |&v| (v, d)));
    let device_of: HashMap<usize, usize> = listed.collect();
    let with_color = device_of.iter().filter_map(|(&v, &d)| Some((instance.nodes[v].color?, d)));
    let of_color: HashMap<u64, usize> = with_color.collect();
    for (v, node) in instance.nodes.iter().enumerate().filter(|(v, node)| node.backward && !device_of.contains_key(v)) {
        if let Some(&d) = node.color.and_then(|color| of_color.get(&color)) {
            devices[d].nodes.push(v);
        }
    }
    Ok(devices)
}

/// The device of each node.
fn placed(instance: &Instance, devices: &[Device]) -> Result<Vec<usize>, String> {
    let mut device_of = vec![None; instance.nodes.len()];
    let id = |v: usize| instance.nodes[v].id;
    for (d, device) in devices.iter().enumerate() {
        for &v in &device.nodes {
            if device_of.get_mut(v).ok_or_else(|| format!("there is no node at {v}"))?.replace(d).is_some() {
                return Err(format!("node {} is on two devices", id(v)));
            }
        }
    }
    let of = |(v, d): (usize, Option<usize>)| d.ok_or_else(|| format!("node {} is on no device", id(v)));
    device_of.into_iter().enumerate().map(of).collect()
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
fn load(problem: &Problem, device: &Device, is_in: impl Fn(usize) -> bool) -> Result<[i128; 2], String> {
    let kind = problem.kinds.get(device.kind).ok_or("there is no such kind")?;
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
