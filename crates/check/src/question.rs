//! What a proof is about: the question, as the first line of a proof file states it.

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::value::RawValue;

use crate::Result;
use crate::decimal::{Decimal, LARGEST};
use crate::json::read;

/// The name and version of the format.
pub const FORMAT: &str = "dagsplit-proof/1";

/// What splits are judged by: their largest load, or the sum of the largest loads of the two passes.
#[derive(Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    Throughput,
    Gpipe,
}

/// Which splits count: any assignment, those of convex sets, or those of successive ideals of the order graph.
#[derive(Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Arbitrary,
    Convex,
    Acyclic,
}

/// A kind of device: how many there are, bytes of each where they are limited, and the pieces of its load.
#[derive(Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Class {
    pub count: u32,
    pub memory: Option<Decimal>,
    pub load: Vec<[Decimal; 3]>,
}

/// Whether synchronisation is added to the load, or hidden behind it.
#[derive(Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Synchronisation {
    Added,
    Overlapped,
}

/// Replicas that may share a device's nodes.
#[derive(Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Replication {
    pub most: u32,
    pub bandwidth: Decimal,
    pub synchronisation: Synchronisation,
}

/// Devices that share a set of nodes, which are positions.
#[derive(Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Device {
    pub kind: usize,
    #[serde(skip)]
    pub replicas: Option<u32>,
    pub nodes: Vec<usize>,
}

/// A split, and by what part of themselves times move, up and down; where there is none, those of accelerators by what
/// measurements spread, and no others.
#[derive(Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Stability {
    #[serde(rename = "spread", deserialize_with = "spread")]
    pub part: Option<Decimal>,
    pub devices: Vec<Device>,
}

fn spread<'a, D: Deserializer<'a>>(value: D) -> Result<Option<Decimal>, D::Error> {
    match <&RawValue>::deserialize(value)?.get() {
        "\"measured\"" => Ok(None),
        part => Decimal::parse(part).map(Some).map_err(D::Error::custom),
    }
}

/// The first line of a proof; its fields are those of the file.
#[derive(Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Question {
    pub format: String,
    pub instance: String,
    pub objective: Objective,
    pub scope: Scope,
    /// The classes of accelerators, then the CPUs.
    #[serde(rename = "accelerators")]
    pub kinds: Vec<Class>,
    pub cpus: u32,
    pub transfer_scale: Option<Decimal>,
    pub replication: Option<Replication>,
    pub digits: u32,
    pub claim: i128,
    pub order: Option<Vec<usize>>,
    pub stability: Option<Stability>,
}

read_from_objects!(Class Replication Device Stability Question);

/// More devices than any machine room holds.
const MOST_DEVICES: u32 = 1_000_000;

/// More decimals than whole numbers of 120 bits leave room for.
const MOST_DIGITS: u32 = 36;

impl Question {
    /// Reads the first line.
    pub fn parse(line: &str) -> Result<Self> {
        ensure!(!line.is_empty(), "the file is empty");
        let mut question: Self = read(line)?;
        let (Self { format, cpus, digits, claim, .. }, is_gpipe) = (&question, question.objective == Objective::Gpipe);
        ensure!(format == FORMAT, "{format:?} is not {FORMAT}");
        let is_small = *digits <= MOST_DIGITS && claim.unsigned_abs() < LARGEST.unsigned_abs();
        ensure!(is_small, "a claim has at most {MOST_DIGITS} decimals, and is below 2^120");
        ensure!(!is_gpipe || question.replication.is_none(), "the objective gpipe knows no replicas");
        let is_shared = |ring: &Replication| ring.most > 0 && ring.bandwidth != Decimal::ZERO;
        ensure!(question.replication.iter().all(is_shared), "there is no replica, or no bandwidth");
        let load = vec![[Decimal::ONE, Decimal::ZERO, Decimal::ZERO]];
        question.kinds.push(Class { count: *cpus, memory: None, load });
        ensure!(question.kinds.iter().all(|kind| !kind.load.is_empty()), "a load has at least one piece");
        let devices = question.kinds.iter().fold(0, |sum: u32, kind| sum.saturating_add(kind.count));
        let are_known = (1..=MOST_DEVICES).contains(&devices);
        ensure!(are_known, "there are {devices} devices; known are from 1 to {MOST_DEVICES}");
        Ok(question)
    }

    /// Whether it is about an instance of this text.
    pub fn is_about(&self, instance: &str) -> Result<()> {
        let (named, found) = (&self.instance, hash(instance.as_bytes()));
        (*named == found).then_some(()).ok_or_else(|| format!("it is about an instance of hash {named}, not {found}"))
    }

    /// Whether a split of this load is one that the claim shows to be best.
    pub fn is_reached(&self, value: i128) -> Result<()> {
        ensure!(self.stability.is_none(), "a proof of stability has a split of its own");
        ensure!(value <= self.claim, "the split has a load of {value}, above the claim {}", self.claim);
        Ok(())
    }
}

/// The 64-bit FNV-1a hash of a file's bytes, as 16 hexadecimal digits. It tells files apart and guards nothing.
pub fn hash(bytes: &[u8]) -> String {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}
