//! What can be wrong with a spec string.

/// Why a spec string names no method.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// No method has the name asked for.
    #[error("there is no method `{name}`; there are {}", known.join(", "))]
    UnknownMethod {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// A method has no parameter of this name.
    #[error("{method} has no parameter `{name}`; {}", listed(known))]
    UnknownParameter {
        /// The method.
        method: &'static str,
        /// The name given.
        name: String,
        /// The names it has.
        known: Vec<&'static str>,
    },
    /// A parameter is given twice.
    #[error("{method}: parameter `{name}` is given twice; give it once")]
    Twice {
        /// The method.
        method: &'static str,
        /// The parameter.
        name: String,
    },
    /// A parameter has a value that it cannot take.
    #[error("{method}: parameter `{name}` cannot be `{value}`: it is {meaning}; give {range}")]
    BadValue {
        /// The method.
        method: &'static str,
        /// The parameter.
        name: &'static str,
        /// The value given.
        value: String,
        /// What it stands for.
        meaning: &'static str,
        /// What it can be.
        range: String,
    },
    /// The steps of a chain are not in order.
    #[error(
        "`{spec}` is no chain of steps: it needs clusterings, then one method that is no program, then refinements, joined by +"
    )]
    NoChain {
        /// The spec string.
        spec: String,
    },
}

fn listed(known: &[&str]) -> String {
    if known.is_empty() { "it has none".into() } else { format!("it has {}", known.join(", ")) }
}
