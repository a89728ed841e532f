//! How much memory a run may use.

use std::sync::Arc;

/// Searches stop once this part of the limit is in use: what they hold is still to be made into an answer, and a table
/// that grows may ask for as much again.
const USABLE: f64 = 0.75;

/// Whoever tells how many bytes are in use.
type Usage = Arc<dyn Fn() -> usize + Send + Sync>;

/// A limit on memory, and who tells how much is in use, such as a counting allocator.
#[derive(Clone)]
pub struct MemoryBudget {
    limit: usize,
    in_use: Usage,
}

impl MemoryBudget {
    /// At most `limit` bytes, of which `in_use` tells how many are taken. It is called often, from any thread.
    pub fn new(limit: usize, in_use: impl Fn() -> usize + Send + Sync + 'static) -> Self {
        Self { limit, in_use: Arc::new(in_use) }
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// How many bytes a search may still take.
    pub fn left(&self) -> usize {
        ((self.limit as f64 * USABLE) as usize).saturating_sub((self.in_use)())
    }
}
