//! Walks from many ideals, side by side where there are threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};

use super::walk::{Rest, Visitor, Walk};
use super::{Looks, Pairs};
use crate::search::Stopped;

/// Fewer pairs than these are looked at before threads are worth their while.
const FEW_PAIRS: u64 = 1 << 18;

/// So many rests of walks are taken at once.
const RESTS_AT_ONCE: usize = 256;

/// Walks within one target: one, and once there is much to look at one for each thread that there can be.
pub struct Lanes<'a> {
    pairs: &'a Pairs<'a>,
    range: (f64, f64),
    looks: &'a Looks<'a>,
    walks: Vec<Walk<'a>>,
}

impl<'a> Lanes<'a> {
    /// Walks as [`Walk::new`] makes them.
    pub fn new(pairs: &'a Pairs<'a>, range: (f64, f64), looks: &'a Looks<'a>) -> Self {
        Self { pairs, range, looks, walks: vec![Walk::new(pairs, range, looks)] }
    }

    /// How many of them may be under way now.
    fn count(&self) -> usize {
        if self.looks.pairs() < FEW_PAIRS { 1 } else { self.looks.cx.lanes().max(1) }
    }

    /// Looks at every stage within the target that begins at one of the `ideals`, with a `visitor` for each of them and for each
    /// of the rests that long walks leave. Returns what these have `seen`; what there is, and its order, does not depend on the
    /// threads.
    ///
    /// # Errors
    /// [`Stopped`] where a limit is reached.
    pub fn run<V: Visitor, S: Send>(
        &mut self,
        ideals: &[usize],
        visitor: impl Fn(usize) -> V + Sync,
        seen: impl Fn(V) -> Vec<S> + Sync,
    ) -> Result<Vec<S>, Stopped> {
        let (mut all, mut rests) = self.each(ideals, |walk, &ideal| {
            let mut visitor = visitor(ideal);
            let rests = walk.run_some(ideal, &mut visitor)?;
            Ok((seen(visitor), rests))
        })?;
        // The last ones first, so that there are never many.
        while !rests.is_empty() {
            let last = rests.split_off(rests.len().saturating_sub(RESTS_AT_ONCE));
            let (more, left) = self.each(&last, |walk, rest| {
                let mut visitor = visitor(rest.from);
                let rests = walk.go_on(rest, &mut visitor)?;
                Ok((seen(visitor), rests))
            })?;
            all.extend(more);
            rests.extend(left);
        }
        Ok(all)
    }

    /// Has the walks take these items one by one; what they have seen, in the order of the items, and left.
    fn each<T: Sync, S: Send>(
        &mut self,
        items: &[T],
        take: impl Fn(&mut Walk, &T) -> Result<(Vec<S>, Vec<Rest>), Stopped> + Sync,
    ) -> Result<(Vec<S>, Vec<Rest>), Stopped> {
        let next = AtomicUsize::new(0);
        let lane = |walk: &mut Walk| {
            let mut taken = Vec::new();
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(place) else { return Ok(taken) };
                taken.push((place, take(walk, item)?));
            }
        };
        let count = self.count().min(items.len());
        let walk = || Walk::new(self.pairs, self.range, self.looks);
        self.walks.resize_with(count.max(self.walks.len()), walk);
        let walks = &mut self.walks[..count];
        let taken: Result<Vec<_>, Stopped> = match walks {
            [walk] => lane(walk).map(|taken| vec![taken]),
            walks => walks.par_iter_mut().map(lane).collect(),
        };
        let mut taken: Vec<_> = taken?.into_iter().flatten().collect();
        taken.sort_by_key(|&(place, _)| place);
        let (mut all, mut left) = (Vec::new(), Vec::new());
        for (_, (seen, rests)) in taken {
            all.extend(seen);
            left.extend(rests);
        }
        Ok((all, left))
    }
}
