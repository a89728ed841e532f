//! What a spec string comes to: every step with all its parameters.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::parameters::parts;
use super::spec::steps;
use super::{Method, Parameter, SpecError, StepKind, clusterings, methods, refinements, solver};

/// A step of a spec string, with the parameters given and the defaults of the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepSettings {
    /// Name of the clustering, the method or the refinement.
    pub step: String,
    /// The value of each parameter by name.
    pub parameters: BTreeMap<String, String>,
}

/// The steps that `spec` names.
///
/// # Errors
/// [`SpecError`] says what is wrong and what there is.
pub fn settings(spec: &str) -> Result<Vec<StepSettings>, SpecError> {
    solver(spec)?;
    let whole = methods().iter().any(|method| method.name == spec);
    let steps = if whole { vec![spec] } else { steps(spec) };
    Ok(steps.into_iter().map(step).collect())
}

fn step(text: &str) -> StepSettings {
    let (name, given) = parts(text);
    let defaults = declared(name).iter().map(|parameter| (parameter.name, parameter.default));
    let values = defaults.chain(given).map(|(name, value)| (name.into(), value.into()));
    StepSettings { step: name.into(), parameters: values.collect() }
}

fn declared(name: &str) -> &'static [Parameter] {
    let method = methods().iter().find(|method| method.name == name).map(|method: &Method| method.parameters);
    method.or_else(|| in_steps(clusterings(), name)).or_else(|| in_steps(refinements(), name)).unwrap_or_default()
}

fn in_steps<T: ?Sized>(kinds: &[StepKind<T>], name: &str) -> Option<&'static [Parameter]> {
    kinds.iter().find(|kind| kind.name == name).map(|kind| kind.parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_stand_beside_what_is_given() {
        let steps = settings("annealing:seed=7").unwrap();
        let [StepSettings { step, parameters }] = steps.as_slice() else { panic!("{steps:?}") };
        let text = |name: &str| parameters.get(name).map(String::as_str);
        assert_eq!((step.as_str(), text("patience"), text("seed")), ("annealing", Some("200"), Some("7")));
        let steps = settings("annealing:patience=3").unwrap();
        assert_eq!(steps[0].parameters["patience"], "3");
        assert!(settings("annealing:rounds=3").is_err());
    }
}
