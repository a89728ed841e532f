//! Parameters that several methods share.

use super::{Parameter, Values};

/// As many rounds, steps or starts as anyone waits for: no sum or product of such numbers overflows.
pub(crate) const COUNT: u64 = 1_000_000_000;

/// As many things as memory holds for each of them.
pub(super) const THINGS: u64 = 1_000_000;

/// Starts of a search for the sharding cost.
pub(super) const STARTS: Parameter =
    Parameter { name: "starts", default: "16", meaning: "random placements", values: Values::Whole(1, THINGS) };

/// Sweeps of that search.
pub(super) const SWEEPS: Parameter = Parameter {
    name: "sweeps",
    default: "1000",
    meaning: "the most sweeps over all pairs of devices",
    values: Values::Whole(0, COUNT),
};

/// Passes after the sweeps.
pub(super) const PASSES: Parameter = Parameter {
    name: "passes",
    default: "0",
    meaning: "the most passes of Kernighan and Lin after them",
    values: Values::Whole(0, COUNT),
};

/// The authors' search in place of ours.
pub(super) const PUBLISHED: Parameter = Parameter {
    name: "published",
    default: "false",
    meaning: "search as the authors' program does, with costs from scratch and sweeps that end early",
    values: Values::Switch,
};

/// Where an external partitioner is.
pub(super) const PROGRAM: Parameter = Parameter {
    name: "program",
    default: "",
    meaning: "the program's path; else it is looked for by its name",
    values: Values::Text,
};

/// How unequal the parts of an external partitioner may be.
pub(super) const IMBALANCE: Parameter = Parameter {
    name: "imbalance",
    default: "0.03",
    meaning: "how far a part may exceed the mean weight, relative to it",
    values: Values::Number(0.0, 1000.0),
};
