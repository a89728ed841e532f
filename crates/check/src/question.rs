//! What a proof is about: the question, as the first line of a proof file states it.

use crate::decimal::{Decimal, LARGEST};
use crate::json::{self, Object, Value};

/// The name and version of the format.
pub const FORMAT: &str = "dagsplit-proof/1";

/// What a split is judged by: its largest load, or the sum of the largest loads of the two passes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Objective {
    Throughput,
    GPipe,
}

/// Which splits count: any assignment, those of convex sets, or those of successive ideals of the order graph.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Arbitrary,
    Convex,
    Acyclic,
}

/// A class of accelerators: how many there are, bytes of each where they are limited, and the pieces of its load.
#[derive(Clone)]
pub struct Class {
    pub count: u32,
    pub memory: Option<Decimal>,
    pub load: Vec<[Decimal; 3]>,
}

/// Replicas that may share a device's nodes; synchronisation is added to the load, or hidden behind it.
#[derive(Clone)]
pub struct Replication {
    pub most: u32,
    pub bandwidth: Decimal,
    pub is_overlapped: bool,
}

/// Devices that share a set of nodes, which are positions.
#[derive(Clone)]
pub struct Device {
    pub kind: usize,
    pub replicas: u32,
    pub nodes: Vec<usize>,
}

/// By how much times move, up and down.
#[derive(Clone)]
pub enum Spread {
    /// Each by this part of itself.
    Part(Decimal),
    /// Those of accelerators by what measurements spread, and no others.
    Measured,
}

/// A split, and how times move.
#[derive(Clone)]
pub struct Stability {
    pub spread: Spread,
    pub devices: Vec<Device>,
}

/// The first line of a proof; its fields are those of the file.
#[derive(Clone)]
pub struct Question {
    pub instance: String,
    pub objective: Objective,
    pub scope: Scope,
    pub accelerators: Vec<Class>,
    pub cpus: u32,
    pub transfer_scale: Decimal,
    pub replication: Option<Replication>,
    pub digits: u32,
    pub claim: i128,
    pub order: Vec<usize>,
    pub stability: Option<Stability>,
}

#[rustfmt::skip]
const FIELDS: [&str; 12] = [
    "format", "instance", "objective", "scope", "accelerators", "cpus", "transfer_scale", "replication", "digits",
    "claim", "order", "stability",
];

/// More devices than any machine room holds.
const MOST_DEVICES: u32 = 1_000_000;

/// More decimals than whole numbers of 120 bits leave room for.
const MOST_DIGITS: u32 = 36;

impl Question {
    /// Reads the first line.
    pub fn parse(line: &str) -> Result<Self, String> {
        let line = Object::of_fields(line, &FIELDS)?;
        let format = line.get("format", json::text)?;
        if format != FORMAT {
            return Err(format!("format: {format:?} is not {FORMAT:?}"));
        }
        let question = Self {
            instance: line.get("instance", json::text)?,
            objective: line.get("objective", objective)?,
            scope: line.get("scope", scope)?,
            accelerators: line.get("accelerators", json::list(class))?,
            cpus: line.get("cpus", json::whole)?,
            transfer_scale: line.optional("transfer_scale", json::decimal)?.unwrap_or(Decimal::ONE),
            replication: line.optional("replication", replication)?,
            digits: line.get("digits", json::whole)?,
            claim: line.get("claim", json::whole)?,
            order: line.optional("order", json::list(json::whole))?.unwrap_or_default(),
            stability: line.optional("stability", stability)?,
        };
        let devices = question.accelerators.iter().fold(question.cpus, |sum, class| sum.saturating_add(class.count));
        if question.digits > MOST_DIGITS || question.claim.unsigned_abs() >= LARGEST.unsigned_abs() {
            return Err(format!("a claim has at most {MOST_DIGITS} decimals, and is below 2^120"));
        }
        if question.objective == Objective::GPipe && question.replication.is_some() {
            return Err("the objective gpipe knows no replicas".into());
        }
        if devices == 0 || devices > MOST_DEVICES {
            return Err(format!("there are {devices} devices; known are from 1 to {MOST_DEVICES}"));
        }
        Ok(question)
    }
}

fn objective(value: Value) -> Result<Objective, String> {
    match json::text(value)?.as_str() {
        "throughput" => Ok(Objective::Throughput),
        "gpipe" => Ok(Objective::GPipe),
        other => Err(format!("{other:?} is neither throughput nor gpipe")),
    }
}

fn scope(value: Value) -> Result<Scope, String> {
    match json::text(value)?.as_str() {
        "arbitrary" => Ok(Scope::Arbitrary),
        "convex" => Ok(Scope::Convex),
        "acyclic" => Ok(Scope::Acyclic),
        other => Err(format!("{other:?} is none of arbitrary, convex and acyclic")),
    }
}

fn class(value: Value) -> Result<Class, String> {
    let class = Object::of_fields(value.get(), &["count", "memory", "load"])?;
    let load = class.get("load", json::list(json::array(json::decimal)))?;
    if load.is_empty() {
        return Err("a load has at least one piece".into());
    }
    Ok(Class { count: class.get("count", json::whole)?, memory: class.optional("memory", json::decimal)?, load })
}

fn replication(value: Value) -> Result<Replication, String> {
    let replication = Object::of_fields(value.get(), &["most", "bandwidth", "synchronisation"])?;
    let (most, bandwidth) = (replication.get("most", json::whole)?, replication.get("bandwidth", json::decimal)?);
    if most == 0 || bandwidth == Decimal::ZERO {
        return Err("there is no replica, or no bandwidth".into());
    }
    match replication.get("synchronisation", json::text)?.as_str() {
        how @ ("added" | "overlapped") => Ok(Replication { most, bandwidth, is_overlapped: how == "overlapped" }),
        other => Err(format!("synchronisation {other:?} is neither added nor overlapped")),
    }
}

/// Reads `{"spread": number or "measured", "devices": [{"kind": number, "nodes": [positions]}]}`.
fn stability(value: Value) -> Result<Stability, String> {
    let stability = Object::of_fields(value.get(), &["spread", "devices"])?;
    let spread = |value: Value| match value.get() {
        "\"measured\"" => Ok(Spread::Measured),
        _ => json::decimal(value).map(Spread::Part),
    };
    let device = |value: Value| {
        let device = Object::of_fields(value.get(), &["kind", "nodes"])?;
        let nodes = device.get("nodes", json::list(json::whole))?;
        Ok(Device { kind: device.get("kind", json::whole)?, replicas: 1, nodes })
    };
    Ok(Stability { spread: stability.get("spread", spread)?, devices: stability.get("devices", json::list(device))? })
}

/// The 64-bit FNV-1a hash of a file's bytes, as 16 hexadecimal digits. It tells files apart and guards nothing.
pub fn hash(bytes: &[u8]) -> String {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}
