//! Parameters of the searches for the sharding cost.

use super::Parameter;

/// Starts.
pub(super) const STARTS: Parameter =
    Parameter { name: "starts", default: "16", meaning: "random placements, at least 1" };

/// Sweeps.
pub(super) const SWEEPS: Parameter =
    Parameter { name: "sweeps", default: "1000", meaning: "the most sweeps over all pairs of devices" };

/// Passes after the sweeps.
pub(super) const PASSES: Parameter =
    Parameter { name: "passes", default: "0", meaning: "the most passes of Kernighan and Lin after them" };

/// The authors' search in place of ours.
pub(super) const PUBLISHED: Parameter = Parameter {
    name: "published",
    default: "false",
    meaning: "search as the authors' program does, with costs from scratch and sweeps that end early: true or false",
};
