//! What became of a target.

/// Whether there is a solution within a target.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict<S> {
    /// There is none: the target is a bound.
    Refuted,
    /// Here is one.
    Found(S),
    /// A limit, or what this search cannot tell, came first.
    Unknown,
}
