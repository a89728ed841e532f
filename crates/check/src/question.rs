//! What a proof is about: the question, as the first line of a proof file states it.

use crate::decimal::{Decimal, LARGEST};
use crate::json::{self, Object, Value};

/// The name and version of the format.
pub const FORMAT: &str = "dagsplit-proof/1";

/// Which splits count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Any assignment.
    Arbitrary,
    /// Each device holds a convex set of the order graph.
    Convex,
    /// Devices hold successive ideals of the order graph.
    Acyclic,
}

/// A class of accelerators.
#[derive(Debug, Clone)]
pub struct Class {
    /// How many there are.
    pub count: u32,
    /// Bytes of each; `None` is unlimited.
    pub memory: Option<Decimal>,
    /// The coefficients of compute, in and out of the linear pieces whose maximum is its load.
    pub load: Vec<[Decimal; 3]>,
}

/// Replicas that may share a device's nodes.
#[derive(Debug, Clone, Copy)]
pub struct Replication {
    /// The most replicas of a set.
    pub most: u32,
    /// Bytes per time unit of the ring.
    pub bandwidth: Decimal,
    /// Whether synchronisation is hidden behind the load in place of being added to it.
    pub is_overlapped: bool,
}

/// The first line of a proof.
#[derive(Debug, Clone)]
pub struct Question {
    /// The hash of the instance's file.
    pub instance: String,
    /// Which splits count.
    pub scope: Scope,
    /// The accelerators.
    pub accelerators: Vec<Class>,
    /// How many CPUs there are.
    pub cpus: u32,
    /// By what every transfer time is multiplied.
    pub transfer_scale: Decimal,
    /// Replicas, where they are allowed.
    pub replication: Option<Replication>,
    /// The decimals of a time unit that the claim counts.
    pub digits: u32,
    /// No split has a load below this many units of 10^-`digits`.
    pub claim: i128,
    /// In which order passes over the graph take the nodes.
    pub order: Vec<usize>,
}

const FIELDS: [&str; 11] = [
    "format",
    "instance",
    "objective",
    "scope",
    "accelerators",
    "cpus",
    "transfer_scale",
    "replication",
    "digits",
    "claim",
    "order",
];

/// More devices than any machine room holds.
const MOST_DEVICES: u32 = 1_000_000;

/// More decimals than whole numbers of 120 bits leave room for.
const MOST_DIGITS: u32 = 36;

impl Question {
    /// Reads the first line.
    ///
    /// # Errors
    /// What is wrong with it first.
    pub fn parse(line: &str) -> Result<Self, String> {
        let line = Object::of_fields(line, &FIELDS)?;
        let expect = |name: &str, wanted: &str| match line.get(name, json::text)? {
            found if found == wanted => Ok(()),
            found => Err(format!("{name}: {found:?} is not {wanted:?}")),
        };
        expect("format", FORMAT)?;
        expect("objective", "throughput")?;
        let question = Self {
            instance: line.get("instance", json::text)?,
            scope: line.get("scope", scope)?,
            accelerators: line.get("accelerators", |value| json::list(value, class))?,
            cpus: line.get("cpus", json::whole)?,
            transfer_scale: line.or("transfer_scale", Decimal::ONE, json::decimal)?,
            replication: line.or("replication", None, |value| replication(value).map(Some))?,
            digits: line.get("digits", json::whole)?,
            claim: line.get("claim", json::whole)?,
            order: line.or("order", Vec::new(), |value| json::list(value, json::whole))?,
        };
        let devices = question.accelerators.iter().fold(question.cpus, |sum, class| sum.saturating_add(class.count));
        if question.digits > MOST_DIGITS || question.claim.checked_abs().is_none_or(|claim| claim >= LARGEST) {
            return Err(format!("a claim has at most {MOST_DIGITS} decimals, and is below 2^120"));
        }
        if devices == 0 || devices > MOST_DEVICES {
            return Err(format!("there are {devices} devices; known are from 1 to {MOST_DEVICES}"));
        }
        Ok(question)
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
    let piece = |value| {
        let piece = json::list(value, json::decimal)?;
        <[Decimal; 3]>::try_from(piece).map_err(|_| "a piece has three coefficients".to_owned())
    };
    let load = class.get("load", |value| json::list(value, piece))?;
    if load.is_empty() {
        return Err("a load has at least one piece".into());
    }
    Ok(Class {
        count: class.get("count", json::whole)?,
        memory: class.or("memory", None, |value| json::decimal(value).map(Some))?,
        load,
    })
}

fn replication(value: Value) -> Result<Replication, String> {
    let replication = Object::of_fields(value.get(), &["most", "bandwidth", "synchronisation"])?;
    let found = Replication {
        most: replication.get("most", json::whole)?,
        bandwidth: replication.get("bandwidth", json::decimal)?,
        is_overlapped: match replication.get("synchronisation", json::text)?.as_str() {
            "added" => false,
            "overlapped" => true,
            other => return Err(format!("synchronisation {other:?} is neither added nor overlapped")),
        },
    };
    if found.most == 0 || found.bandwidth == Decimal::ZERO {
        return Err("there is no replica, or no bandwidth".into());
    }
    Ok(found)
}

/// The 64-bit FNV-1a hash of a file's bytes, as 16 hexadecimal digits. It tells files apart and guards nothing.
pub fn hash(bytes: &[u8]) -> String {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}
