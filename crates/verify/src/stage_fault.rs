//! What can be wrong with the degrees and options of a stage.

/// One thing that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StageFault {
    /// Degrees or options are stated, but not asked for.
    #[error(
        "states a tensor degree or options, which are not asked for; ask for them by the microbatches of a batch, or take a split without"
    )]
    NotAskedFor,
    /// Chunks are stated, but not asked for.
    #[error("states chunks, which are not asked for; ask for so many on each device, or take a split without")]
    ChunksNotAskedFor,
    /// Its tensor degree is not allowed.
    #[error("has tensor degree {degree}, but {allowed:?} are allowed; take one of these")]
    TensorDegree {
        /// Its degree.
        degree: usize,
        /// Those that are allowed.
        allowed: Vec<usize>,
    },
    /// Its data degree is not allowed.
    #[error(
        "has data degree {degree}, which is not allowed; take one that is, and divides {microbatches} microbatches"
    )]
    DataDegree {
        /// Its degree.
        degree: usize,
        /// Microbatches in a batch.
        microbatches: usize,
    },
    /// It does not state one option for each of its nodes.
    #[error("states {options} options for {nodes} nodes; state one for each")]
    OptionCount {
        /// How many it states.
        options: usize,
        /// How many nodes it has.
        nodes: usize,
    },
    /// A node has no such option for the class of the stage's devices, or it is not allowed.
    #[error(
        "runs node {node} in option {option:?} at tensor degree {degree}, which it has not on these devices or which is not allowed; take another"
    )]
    UnknownOption {
        /// The node.
        node: u64,
        /// The option.
        option: String,
        /// The tensor degree of its stage.
        degree: usize,
    },
}
