//! Splits in the published shape, and their largest load: what stands beside a claim.

use std::collections::{BTreeSet, HashMap};

use crate::Result;
use crate::instance::Instance;
use crate::json::{self, Object};
use crate::order::components;
use crate::problem::{Problem, Terms};
use crate::question::{Device, Question, Scope};

/// The load of the split in `text` in units of the claim, rounded down where replicas share it; or why it is none of the
/// splits that are asked for.
pub fn value(instance: &Instance, question: &Question, text: &str) -> Result<i128> {
    let loads = loads(&Problem::new(instance, question)?, &read(text, instance)?)?;
    Ok([0, 1].iter().filter_map(|&pass: &usize| loads.iter().map(|loads| loads[pass]).max()).sum())
}

/// The loads of each device of a split; or why it is none that is asked for.
pub fn loads(problem: &Problem, devices: &[Device]) -> Result<Vec<[i128; 2]>> {
    let device_of = placed(problem.instance, devices)?;
    for (v, (device, &unit)) in device_of.iter().zip(&problem.order.unit_of).enumerate() {
        ensure!(device.is_some(), "node {} is on no device", problem.instance.nodes[v].id);
        let is_whole = *device == device_of[problem.order.of_unit[unit][0]];
        ensure!(is_whole, "nodes that have to share a device are on two");
    }
    for (k, kind) in problem.kinds.iter().enumerate() {
        let own = devices.iter().filter(|device| device.kind == k);
        let taken: u64 = own.map(|device| u64::from(device.replicas.unwrap_or(1))).sum();
        ensure!(taken <= kind.count.into(), "it takes {taken} devices of kind {k}, of which there are {}", kind.count);
    }
    is_in_scope(problem, &device_of.into_iter().flatten().collect::<Vec<_>>(), devices.len())?;
    let loads = |(d, device)| load(problem, device).map_err(|cause| format!("device {d}: {cause}"));
    devices.iter().enumerate().map(loads).collect()
}

/// Reads a split. A backward node that no device lists is where its colour class is.
fn read(text: &str, instance: &Instance) -> Result<Vec<Device>> {
    let positions: HashMap<u64, usize> = instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
    let position = |id: u64| positions.get(&id).copied().ok_or_else(|| format!("there is no node {id}"));
    let file: Object = json::read(text)?;
    let mut devices = Vec::new();
    for (list, is_cpu) in [("fpgas", false), ("cpus", true)] {
        for device in file.get::<Option<Vec<Object>>>(list)?.unwrap_or_default() {
            let nodes = device.get::<Vec<u64>>("nodes")?.into_iter().map(position).collect::<Result<_>>()?;
            let (class, replicas) = (device.get::<Option<usize>>("class")?.unwrap_or(0), device.get("replicas")?);
            let (kind, replicas) = if is_cpu { (instance.classes, None) } else { (class, replicas) };
            ensure!(is_cpu || kind < instance.classes, "there is no class {kind}");
            devices.push(Device { kind, replicas, nodes });
        }
    }
    devices.retain(|device| !device.nodes.is_empty());
    let device_of = placed(instance, &devices)?;
    let listed = instance.nodes.iter().zip(&device_of);
    let of_color: HashMap<u64, usize> = listed.filter_map(|(node, &d)| Some((node.color?, d?))).collect();
    for (v, node) in instance.nodes.iter().enumerate().filter(|&(v, node)| node.backward && device_of[v].is_none()) {
        let device = node.color.and_then(|color| of_color.get(&color));
        device.into_iter().for_each(|&d| devices[d].nodes.push(v));
    }
    Ok(devices)
}

/// The device of each node; `None` where no device lists it.
fn placed(instance: &Instance, devices: &[Device]) -> Result<Vec<Option<usize>>> {
    let mut device_of = vec![None; instance.nodes.len()];
    for (d, device) in devices.iter().enumerate() {
        for &v in &device.nodes {
            let before = device_of.get_mut(v).ok_or_else(|| format!("there is no node at {v}"))?.replace(d);
            ensure!(before.is_none(), "node {} is on two devices", instance.nodes[v].id);
        }
    }
    Ok(device_of)
}

/// The loads of a device.
fn load(problem: &Problem, device: &Device) -> Result<[i128; 2]> {
    let kind = problem.kinds.get(device.kind).ok_or("there is no such kind")?;
    let replicas = device.replicas.unwrap_or(1);
    ensure!((1..=kind.most_replicas.max(1)).contains(&replicas), "a set has {replicas} replicas");
    let units: BTreeSet<usize> = device.nodes.iter().map(|&v| problem.order.unit_of[v]).collect();
    let (mut passes, mut memory, mut parameters) = ([Terms::default(); 2], 0, 0);
    for &u in &units {
        let times = kind.time[u].ok_or("it cannot run a node")?;
        passes.iter_mut().zip(times).for_each(|(terms, time)| terms[0] += time);
        memory += problem.memory[u];
        parameters += problem.parameters[u];
    }
    for net in &problem.nets {
        let is_made = units.contains(&net.source);
        let is_cut = net.sinks.iter().any(|u| units.contains(u) != is_made);
        passes[net.pass][1 + usize::from(is_made)] += if is_cut { net.cost } else { 0 };
    }
    ensure!(kind.capacity.is_none_or(|capacity| memory <= capacity), "its memory is exceeded");
    Ok(problem.loads(kind, replicas, &passes, parameters))
}

/// Whether the order graph, each device's nodes drawn together, has no cycle; for convex sets, where one device's are alone.
fn is_in_scope(problem: &Problem, device_of: &[usize], devices: usize) -> Result<()> {
    let (drawn, cause) = match problem.question.scope {
        Scope::Arbitrary => (Vec::new(), ""),
        Scope::Convex => ((0..devices).map(|d| vec![d]).collect(), "a path leaves a device and returns to it"),
        Scope::Acyclic => (vec![(0..devices).collect()], "its devices wait for each other in a cycle"),
    };
    for drawn in drawn {
        // Vertices from `devices` on are nodes by themselves.
        let vertex = |v: usize| if drawn.contains(&device_of[v]) { device_of[v] } else { devices + v };
        let edges = problem.order.edges.iter().map(|&(a, b)| (vertex(a), vertex(b)));
        let component = components(devices + device_of.len(), edges);
        let is_alone = |&d: &usize| component.iter().filter(|&&other| other == component[d]).count() == 1;
        ensure!(drawn.iter().all(is_alone), "{cause}");
    }
    Ok(())
}
