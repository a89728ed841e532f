//! The labels of an ideal as a subgraph sees them.
//!
//! What a subgraph makes of a label depends on when its inputs are ready, on the ports that stay live beside it and on the
//! largest finish: few labels differ in these, and many subgraphs see them alike.

use rustc_hash::FxHashMap;

use super::labels::{Labels, Origin};
use super::subgraphs::Subgraph;

/// Ports that a subgraph consumes and ports that stay live beside it, as bits.
type Key = (u128, u128);

/// The views of one ideal that were asked for.
#[derive(Default)]
pub(super) struct Views {
    index: FxHashMap<Key, usize>,
    /// Those in use come first; the others wait to be used anew.
    views: Vec<Labels>,
}

impl Views {
    /// Forgets all views, for another ideal.
    pub fn clear(&mut self) {
        self.index.clear();
    }

    /// The labels of an ideal as `subgraph` sees them: the least end, the start of the subgraph, and the ready times of the
    /// ports that stay live, ascending. The origin of each tells the label.
    pub fn of(&mut self, labels: &Labels, subgraph: &Subgraph) -> &Labels {
        let consumed = bits(subgraph.inputs.iter().copied());
        let key = consumed.zip(bits(subgraph.sources.iter().flatten().copied()));
        if let Some(&view) = key.and_then(|key| self.index.get(&key)) {
            return &self.views[view];
        }
        // A view with ports beyond the bits is made anew each time.
        let view = self.index.len();
        if view == self.views.len() {
            self.views.push(Labels::default());
        }
        key.map(|key| self.index.insert(key, view));
        fill(&mut self.views[view], labels, subgraph);
        &self.views[view]
    }
}

/// A set of places as bits, where it has none beyond.
fn bits(mut places: impl Iterator<Item = usize>) -> Option<u128> {
    places.try_fold(0, |bits, place| Some(bits | 1u128.checked_shl(place as u32)?))
}

fn fill(view: &mut Labels, labels: &Labels, subgraph: &Subgraph) {
    view.clear(2 + subgraph.sources.iter().flatten().count());
    let mut values = Vec::new();
    for l in 0..labels.len() {
        let [end, times @ ..] = labels.values(l) else { continue };
        let start = subgraph.inputs.iter().map(|&q| times[q]).fold(0.0, f64::max);
        values.clear();
        values.extend([*end, start]);
        values.extend(subgraph.sources.iter().flatten().map(|&q| times[q]));
        view.insert(&values, labels.used(l), Origin { state: 0, label: l as u32 });
    }
}
