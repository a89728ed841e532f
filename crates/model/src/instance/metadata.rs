//! Where a workload comes from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How the costs of a workload were obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// Measured on the named device.
    Profiled,
    /// Computed from a model of the named device, such as a roofline.
    Modelled,
}

/// A setting that a workload was made with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// Yes or no.
    Flag(bool),
    /// An amount, finite in a valid file.
    Number(f64),
    /// A choice.
    Text(String),
}

/// Where a workload comes from. Every field is optional.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Metadata {
    /// A name to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The network, with batch size and other settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The accelerator the times are for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Paper, program or command the workload comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whether the costs were measured or modelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The programs that took part, with their versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub software: Option<String>,
    /// When it was made, as year-month-day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// What else tells how to make it again, such as `batch`, `dtype`, `seed` or `repeats`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, Setting>,
}
