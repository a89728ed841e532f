//! The count of pairs of ideals that walks have looked at, and their looks at the limits.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::search::{SearchContext, Stopped};

/// Counts the pairs of ideals looked at, and looks at the limits meanwhile.
pub struct Looks<'a> {
    /// The limits.
    pub cx: &'a SearchContext,
    pairs: AtomicU64,
}

impl<'a> Looks<'a> {
    /// Nothing has been looked at.
    pub fn new(cx: &'a SearchContext) -> Self {
        Self { cx, pairs: AtomicU64::new(0) }
    }

    /// How many pairs have been looked at.
    pub fn pairs(&self) -> u64 {
        self.pairs.load(Ordering::Relaxed)
    }

    /// Counts some pairs, at most as many as there are between two looks. How often the limits are looked at does not
    /// depend on who counts what.
    ///
    /// # Errors
    /// [`Stopped`] where a limit is reached.
    pub fn count(&self, pairs: u64, per_look: u64) -> Result<(), Stopped> {
        let before = self.pairs.fetch_add(pairs, Ordering::Relaxed);
        let is_due = before / per_look < (before + pairs) / per_look;
        if is_due && self.cx.should_stop() { Err(Stopped) } else { Ok(()) }
    }
}
