//! The verifier by the costs that are asked for.

use crate::cost::CostModel;
use crate::instance::Instance;
use crate::problem::{ProblemSpec, Solution};
use crate::verify::{self, Verified, Violation};

/// What the verifier says of a split by the data of `model`; without one by that of profiled instances, which it puts
/// together itself.
pub fn checked(
    instance: &Instance,
    spec: &ProblemSpec,
    model: Option<&dyn CostModel>,
    split: &Solution,
) -> Result<Verified, Vec<Violation>> {
    match model {
        None => verify::check(instance, spec, split),
        Some(model) => verify::check_with(instance, spec, &model.costs(instance, spec), split),
    }
}
