//! dagsplit's own format: JSON that states its version and units. See `docs/format.md`.

use serde::{Deserialize, Serialize};

use crate::formats::ReadCause;
use crate::formats::json::{self, List, Object};
use crate::instance::{
    Edge, EdgeBytes, Instance, Metadata, Node, NodeOption, Parallelism, Platform, Problems, TimeUnit,
};

/// The version that this program reads and writes.
pub const SCHEMA: &str = "dagsplit-instance/1";

/// The units of a file, stated for its readers; no others are allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Units {
    time: String,
    memory: String,
}

impl Units {
    /// Milliseconds and bytes.
    pub fn standard() -> Self {
        Self { time: "ms".to_owned(), memory: "bytes".to_owned() }
    }

    /// Adds to `problems` when these are other units.
    pub fn check(&self, problems: &mut Problems) {
        if *self != Self::standard() {
            let cause = format!("time is in {:?} and memory in {:?}", self.time, self.memory);
            problems.add("units", cause, "convert times to \"ms\" and memory to \"bytes\"");
        }
    }
}

#[derive(Deserialize)]
struct Header {
    schema: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "schema")]
    _schema: String,
    #[serde(default = "Units::standard")]
    units: Units,
    #[serde(default)]
    metadata: Metadata,
    platform: Platform,
    nodes: List<Node>,
    edges: List<Edge>,
    #[serde(default)]
    parallelism: Option<FileParallelism>,
}

/// [`Parallelism`], whose malformed entries are all reported.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileParallelism {
    #[serde(default)]
    time: TimeUnit,
    bandwidth: f64,
    options: List<NodeOption>,
    edges: List<EdgeBytes>,
}

impl FileParallelism {
    fn take(self, problems: &mut Problems) -> Parallelism {
        Parallelism {
            time: self.time,
            bandwidth: self.bandwidth,
            options: self.options.take("parallelism.options", problems),
            edges: self.edges.take("parallelism.edges", problems),
        }
    }
}

pub(super) fn parse(text: &str, problems: &mut Problems) -> Result<Instance, ReadCause> {
    // The version comes first: a later version may have any other shape.
    let Header { schema } = json::parse(text)?;
    if schema != SCHEMA {
        let schema = crate::instance::validate::shorten(&schema, 40);
        return Err(ReadCause::Json(format!("the schema is {schema:?}; this program reads {SCHEMA:?}")));
    }
    let file: File = json::parse(text)?;
    file.units.check(problems);
    Ok(Instance {
        metadata: file.metadata,
        platform: file.platform,
        nodes: file.nodes.take("nodes", problems),
        edges: file.edges.take("edges", problems),
        parallelism: file.parallelism.map(|parallelism| parallelism.take(problems)),
    })
}

pub(super) fn write(instance: &Instance) -> String {
    with_metadata(instance, &instance.metadata)
}

fn with_metadata(instance: &Instance, metadata: &Metadata) -> String {
    let object = Object::begin()
        .field("schema", &SCHEMA)
        .field("units", &Units::standard())
        .field("metadata", metadata)
        .field("platform", &instance.platform)
        .list("nodes", &instance.nodes)
        .list("edges", &instance.edges);
    match &instance.parallelism {
        Some(parallelism) => object.object("parallelism", |inner| write_parallelism(inner, parallelism)).finish(),
        None => object.finish(),
    }
}

fn write_parallelism(object: Object, parallelism: &Parallelism) -> Object {
    object
        .field("time", &parallelism.time)
        .field("bandwidth", &parallelism.bandwidth)
        .list("options", &parallelism.options)
        .list("edges", &parallelism.edges)
}

/// A stable hash of what an instance states, its metadata aside: 16 hexadecimal digits (64-bit FNV-1a of the
/// native form). For records that tell which instance a result belongs to; not for security.
pub fn content_hash(instance: &Instance) -> String {
    let hash = with_metadata(instance, &Metadata::default())
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}
