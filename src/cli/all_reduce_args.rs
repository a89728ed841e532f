//! How all-reduces are done.

use crate::simulate::Collective;
use clap::ValueEnum;

/// The names of [`Collective`].
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
pub enum AllReduceArg {
    /// One ring of all copies.
    Ring,
    /// Rings inside hosts and rings of the copies of the same number in each host, on groups of copies that fast links join.
    Hierarchical,
    /// Recursive halving and doubling: as few steps as a tree.
    Tree,
    /// Whichever is quickest for each stage.
    Auto,
}

impl AllReduceArg {
    /// The same for the library.
    pub fn collective(self) -> Collective {
        match self {
            Self::Ring => Collective::Ring,
            Self::Hierarchical => Collective::Hierarchical,
            Self::Tree => Collective::Tree,
            Self::Auto => Collective::Auto,
        }
    }
}
