//! Checks proofs that no split of a workload is better than one that is known.
//!
//! A proof file (`dagsplit-proof/1`, see `docs/proofs.md`) states a question about an instance and a claim: *every split has
//! a load of at least so much*. Its lines give reasons, which this crate recomputes in whole numbers by the plainest code
//! there is. It shares nothing with the solvers and depends on a JSON reader alone, `serde` with `serde_json`; decisions take no floating-point number.

/// What comes of something, or what is wrong, in words.
type Result<T, E = String> = std::result::Result<T, E>;

/// Ends with what is wrong, in words, unless a condition holds.
macro_rules! ensure {
    ($condition:expr, $($words:tt)+) => {
        bool::then_some($condition, ()).ok_or_else(|| format!($($words)+))?
    };
}

/// Reads these structs from objects alone; what serde derives takes an array of the fields' values, too.
macro_rules! read_from_objects {
    ($($name:ident)+) => {$(
        impl<'a> serde::Deserialize<'a> for $name {
            fn deserialize<D: serde::Deserializer<'a>>(value: D) -> Result<Self, D::Error> {
                let text = <&serde_json::value::RawValue>::deserialize(value)?.get();
                let read = || Self::deserialize(&mut serde_json::Deserializer::from_str(text));
                let fields = text.starts_with('{').then(read).ok_or_else(|| format!("{text} is no object"));
                fields.map_err(serde::de::Error::custom)?.map_err(serde::de::Error::custom)
            }
        }
    )+};
}

mod cases;
mod crowd;
mod decimal;
mod ideals;
mod instance;
mod json;
mod order;
mod problem;
mod profits;
mod proof;
mod question;
mod split;
mod stability;
mod work;

use std::fmt;

pub use question::{FORMAT, hash};

use instance::Instance;
use question::Question;

/// A proof that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Every split has a load of at least this many units of 10^-`digits` of the instance's time unit; or, of a proof of
    /// stability, its split is never that much above the best one.
    pub claim: i128,
    /// The decimals that the claim counts.
    pub digits: u32,
    /// Whether it is a proof of stability.
    pub is_stability: bool,
}

/// Why a proof is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// A file is not what it should be: which one and, where it has lines, which of these, and what is wrong with it.
    Unreadable(String),
    /// The proof does not prove its claim, or the split does not reach it.
    Refused {
        /// The line of the proof.
        line: usize,
        /// Why it does not hold.
        cause: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(cause) => write!(f, "unreadable: {cause}"),
            Self::Refused { line, cause } => write!(f, "refused: line {line}: {cause}"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    fn unreadable(what: impl fmt::Display) -> impl Fn(String) -> Self {
        move |cause| Self::Unreadable(format!("{what}: {cause}"))
    }

    fn refused(line: usize) -> impl Fn(String) -> Self {
        move |cause| Self::Refused { line, cause }
    }
}

/// Checks that a proof proves its claim about an instance and, where a split is given, that this reaches the claim: then no
/// split is better, where replicas share a load by a unit of the claim.
///
/// # Errors
/// What cannot be read, or the first line of the proof that does not hold, and why.
pub fn check(instance: &str, proof: &str, split: Option<&str>) -> Result<Accepted, Error> {
    let (instance, question) = proof::check(instance, proof, None)?;
    if let Some(split) = split {
        let value = split::value(&instance, &question, split).map_err(Error::unreadable("split"))?;
        question.is_reached(value).map_err(Error::refused(1))?;
    }
    Ok(Accepted { claim: question.claim, digits: question.digits, is_stability: question.stability.is_some() })
}

/// Checks what a proof of stability says of one device of its split.
///
/// # Errors
/// As for [`check`].
pub fn check_device(instance: &str, proof: &str, device: usize) -> Result<(), Error> {
    proof::check(instance, proof, Some(device)).map(|_| ())
}

/// The decimals that a claim about an instance has to count: those of its times, and of transfer times times `scale`, where
/// that is a decimal number.
///
/// # Errors
/// What cannot be read.
pub fn digits(instance: &str, scale: &str) -> Result<u32, Error> {
    let digits = Instance::parse(instance).and_then(|instance| instance.digits(scale));
    digits.map_err(Error::unreadable("instance"))
}

/// The largest load of a split in units of the claim of a proof's first line, whose claim itself does not matter: what the
/// claim of an optimal split is. Where replicas share it, it is rounded down.
///
/// # Errors
/// What cannot be read, or why the split is none of those that are asked for.
pub fn split_value(instance: &str, first_line: &str, split: &str) -> Result<i128, Error> {
    let instance = Instance::parse(instance).map_err(Error::unreadable("instance"))?;
    let question = Question::parse(first_line).map_err(Error::unreadable("proof, line 1"))?;
    split::value(&instance, &question, split).map_err(Error::unreadable("split"))
}
