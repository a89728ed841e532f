//! What is simulated of a pipeline.

/// What is simulated of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How many microbatches pass through each pipeline; at least 1.
    pub microbatches: usize,
    /// Whether activations are not kept but computed once more before the backward pass of a stage. That may begin
    /// before the gradients come (Huang et al. 2019, section 2.3).
    pub recompute: bool,
}
