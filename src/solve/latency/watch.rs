//! When a pass has to stop.

use std::ops::ControlFlow;

use crate::solve::SearchContext;

/// Comparisons of labels, and the like, between two looks at the clock: about a millisecond.
const WORK: usize = 1 << 16;

/// What it takes to look at a subgraph, in comparisons of labels.
pub(super) const VISIT: usize = 64;

/// Looks at the limits of a run now and then, as the work done tells.
pub(super) struct Watch<'a> {
    cx: &'a SearchContext,
    work: usize,
    is_over: bool,
}

impl<'a> Watch<'a> {
    /// No work done.
    pub fn new(cx: &'a SearchContext) -> Self {
        Self { cx, work: WORK, is_over: false }
    }

    /// Adds work that is about to be done; breaks once the run has to stop.
    #[inline]
    pub fn spend(&mut self, work: usize) -> ControlFlow<()> {
        self.work += work;
        if self.work >= WORK {
            self.work = 0;
            self.is_over |= self.cx.should_stop();
        }
        if self.is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
