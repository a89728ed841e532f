//! What the tests, benches and fuzz targets of this crate reach beside its interface. It may change at any time.

pub use dagsplit_model::{graph, text};

/// Bounds without search.
pub mod bound {
    pub use crate::bound::*;
}

/// Contraction and reduction.
pub mod preprocess {
    pub use crate::preprocess::*;
}

/// The dynamic programs.
pub mod dp {
    pub use crate::solve::dp::*;
}

/// Branch and price.
pub mod certify {
    pub use crate::solve::certify::*;
}

/// The sharding cost.
pub mod sharding {
    pub use crate::solve::sharding::*;
}

/// Heuristics and their bounds.
pub mod heuristic {
    pub use crate::solve::heuristic::*;
}

/// Integer programs.
#[cfg(feature = "highs")]
pub mod ip {
    pub use crate::solve::ip::*;
}

/// ONNX messages.
#[cfg(feature = "generate")]
pub mod proto {
    pub use crate::generate::onnx::proto::*;
}

/// Records, tables and pictures.
#[cfg(feature = "cli")]
pub mod report {
    pub use crate::report::*;
}
