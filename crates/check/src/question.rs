//! What a proof is about: the question, as the first line of a proof file states it.

use crate::Result;
use crate::decimal::{Decimal, LARGEST};
use crate::json::{Object, Read, Value};

/// The name and version of the format.
pub const FORMAT: &str = "dagsplit-proof/1";

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

/// A split, and by what part of themselves times move, up and down; where there is none, those of accelerators by what
/// measurements spread, and no others.
#[derive(Clone)]
pub struct Stability {
    pub part: Option<Decimal>,
    pub devices: Vec<Device>,
}

/// The first line of a proof; its fields are those of the file.
#[derive(Clone)]
pub struct Question {
    pub instance: String,
    /// Whether splits are judged by the sum of the largest loads of the two passes, and not by their largest load.
    pub is_gpipe: bool,
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

const FIELDS: &str =
    "format instance objective scope accelerators cpus transfer_scale replication digits claim order stability";

/// More devices than any machine room holds.
const MOST_DEVICES: u32 = 1_000_000;

/// More decimals than whole numbers of 120 bits leave room for.
const MOST_DIGITS: u32 = 36;

impl Question {
    /// Reads the first line.
    pub fn parse(line: &str) -> Result<Self> {
        ensure!(!line.is_empty(), "the file is empty");
        let line = Object::parse(line)?;
        line.are_fields(&Vec::from_iter(FIELDS.split(' ')))?;
        line.word("format", &[(FORMAT, ())])?;
        let scopes = [("arbitrary", Scope::Arbitrary), ("convex", Scope::Convex), ("acyclic", Scope::Acyclic)];
        let question = Self {
            instance: line.get("instance")?,
            is_gpipe: line.word("objective", &[("throughput", false), ("gpipe", true)])?,
            scope: line.word("scope", &scopes)?,
            accelerators: line.get("accelerators")?,
            cpus: line.get("cpus")?,
            transfer_scale: line.optional("transfer_scale")?.unwrap_or(Decimal::ONE),
            replication: line.optional("replication")?,
            digits: line.get("digits")?,
            claim: line.get("claim")?,
            order: line.optional("order")?.unwrap_or_default(),
            stability: line.optional("stability")?,
        };
        let devices = question.accelerators.iter().fold(question.cpus, |sum, class| sum.saturating_add(class.count));
        let is_small = question.digits <= MOST_DIGITS && question.claim.unsigned_abs() < LARGEST.unsigned_abs();
        ensure!(is_small, "a claim has at most {MOST_DIGITS} decimals, and is below 2^120");
        let is_known = !question.is_gpipe || question.replication.is_none();
        ensure!(is_known, "the objective gpipe knows no replicas");
        let are_known = (1..=MOST_DEVICES).contains(&devices);
        ensure!(are_known, "there are {devices} devices; known are from 1 to {MOST_DEVICES}");
        Ok(question)
    }

    /// How many devices it is about, one by one, where it is about stability.
    pub fn devices(&self) -> Option<usize> {
        self.stability.as_ref().map(|stability| stability.devices.len())
    }

    /// Whether it is about an instance of this text and, where there is one, about this device.
    pub fn is_about(&self, instance: &str, device: Option<usize>) -> Result<()> {
        let (named, found) = (&self.instance, hash(instance.as_bytes()));
        ensure!(*named == found, "it is about an instance of hash {named}, not {found}");
        ensure!(device.is_none() || device < self.devices(), "there is no device {}", device.unwrap_or_default());
        Ok(())
    }

    /// Whether a split of this load is one that the claim shows to be best.
    pub fn is_reached(&self, value: i128) -> Result<()> {
        ensure!(self.stability.is_none(), "a proof of stability has a split of its own");
        ensure!(value <= self.claim, "the split has a load of {value}, above the claim {}", self.claim);
        Ok(())
    }
}

impl Read<'_> for Class {
    fn read(value: Value) -> Result<Self> {
        let class = Object::of(value, &["count", "memory", "load"])?;
        let load: Vec<_> = class.get("load")?;
        ensure!(!load.is_empty(), "a load has at least one piece");
        Ok(Self { count: class.get("count")?, memory: class.optional("memory")?, load })
    }
}

impl Read<'_> for Replication {
    fn read(value: Value) -> Result<Self> {
        let replication = Object::of(value, &["most", "bandwidth", "synchronisation"])?;
        let (most, bandwidth) = (replication.get("most")?, replication.get("bandwidth")?);
        ensure!(most > 0 && bandwidth != Decimal::ZERO, "there is no replica, or no bandwidth");
        let is_overlapped = replication.word("synchronisation", &[("added", false), ("overlapped", true)])?;
        Ok(Self { most, bandwidth, is_overlapped })
    }
}

impl Read<'_> for Device {
    fn read(value: Value) -> Result<Self> {
        let device = Object::of(value, &["kind", "nodes"])?;
        Ok(Self { kind: device.get("kind")?, replicas: 1, nodes: device.get("nodes")? })
    }
}

impl Read<'_> for Stability {
    fn read(value: Value) -> Result<Self> {
        let stability = Object::of(value, &["spread", "devices"])?;
        let spread: Value = stability.get("spread")?;
        let part = if spread.get() == "\"measured\"" { None } else { Some(Decimal::read(spread)?) };
        Ok(Self { part, devices: stability.get("devices")? })
    }
}

/// The 64-bit FNV-1a hash of a file's bytes, as 16 hexadecimal digits. It tells files apart and guards nothing.
pub fn hash(bytes: &[u8]) -> String {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}
