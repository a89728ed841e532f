//! Pareto fronts of the boundary values of the ideals of one class.

use std::sync::Arc;

use crate::preprocess::Reduced;
use crate::search::{SearchContext, Stopped};
use crate::solve::dp::frontier::{FORBIDDEN, Frontier};
use crate::solve::dp::pareto_fronts::{Label, increment};
use crate::solve::dp::stage::Potential;

/// Transitions and labels between two looks at the limits: some milliseconds.
const PATIENCE: usize = 1 << 18;

/// A front of labels that all are shifted by the same amount.
#[derive(Clone)]
struct Shifted {
    labels: Arc<Vec<Label>>,
    by: Label,
}

/// The front of the boundary between stages of potentials `below` and `above` over all ideals that hold what `decided`
/// says. Labels whose y differ by less than `grain` are joined to one at least as good as both. O(states · labels).
///
/// # Errors
/// [`Stopped`] when the context asks to stop.
pub fn class_front(
    reduced: &Reduced,
    frontier: &Frontier,
    decided: &[Option<bool>],
    (below, above): (&Potential, &Potential),
    grain: f64,
    cx: &SearchContext,
) -> Result<Vec<Label>, Stopped> {
    let empty = Shifted { labels: Arc::new(vec![Label { x: 0.0, y: 0.0 }]), by: Label { x: 0.0, y: 0.0 } };
    let mut fronts = vec![Some(empty)];
    let mut work = PATIENCE;
    for (depth, (layer, &unit)) in frontier.layers.iter().zip(&frontier.order).enumerate() {
        if work >= PATIENCE {
            work = 0;
            if cx.should_stop() {
                return Err(Stopped);
            }
        }
        let mut next: Vec<Option<Shifted>> =
            vec![None; frontier.layers.get(depth + 1).map_or(1, |l| l.transitions.len())];
        for (front, decisions) in fronts.iter().zip(&layer.transitions) {
            let Some(front) = front else { continue };
            for (into, t) in [false, true].into_iter().zip(decisions).filter(|(_, t)| t.next != FORBIDDEN) {
                if decided[unit].is_some_and(|decided| decided != into) {
                    continue;
                }
                let x = increment(reduced, above, unit, into, *t).x;
                let y = increment(reduced, below, unit, into, *t).y;
                let by = Label { x: front.by.x + x, y: front.by.y + y };
                let moved = Shifted { labels: Arc::clone(&front.labels), by };
                let to = &mut next[t.next as usize];
                *to = Some(match to.take() {
                    Some(other) => other.join(&moved, grain),
                    None => moved,
                });
                work += 1 + to.as_ref().map_or(0, |joined| joined.labels.len());
            }
        }
        fronts = next;
    }
    Ok(fronts[0].as_ref().map_or(Vec::new(), |front| front.iter().collect()))
}

impl Shifted {
    fn iter(&self) -> impl Iterator<Item = Label> + '_ {
        self.labels.iter().map(|l| Label { x: l.x + self.by.x, y: l.y + self.by.y })
    }

    fn join(&self, other: &Self, grain: f64) -> Self {
        let mut joined: Vec<Label> = Vec::with_capacity(self.labels.len() + other.labels.len());
        let (mut a, mut b) = (self.iter().peekable(), other.iter().peekable());
        loop {
            let take_a = match (a.peek(), b.peek()) {
                (Some(p), Some(q)) => p.y <= q.y,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            let Some(label) = (if take_a { a.next() } else { b.next() }) else { break };
            match joined.last_mut() {
                Some(last) if label.x <= last.x => {}
                Some(last) if label.y - last.y < grain => last.x = label.x,
                _ => joined.push(label),
            }
        }
        Self { labels: Arc::new(joined), by: Label { x: 0.0, y: 0.0 } }
    }
}
