//! At which ends a server can still end, from each ideal inside it and with each number of devices left in it.
//!
//! One pass from the last ideal to the first, in which what comes from below a server costs as little as inside it. So
//! whatever starts or goes on where nothing is in reach is left alone.

use super::ends::{Block, Rises};
use super::{Looks, Pairs, Stage, Visitor, Walk};
use crate::search::Stopped;
use crate::solve::dp::costs::Costs;
use crate::solve::dp::loads::contains;
use crate::solve::dp::setting::Setting;
use crate::solve::dp::stage::Boundary;

/// The ends in reach.
pub struct Prospects<'a, 'b> {
    /// The program that they are of.
    pub pairs: &'a Pairs<'b>,
    /// The target.
    pub target: f64,
    /// The ends.
    pub block: &'a Block,
    /// For each ideal a row of ends for each number of devices left, from one on.
    inside: Vec<u64>,
    size: usize,
    /// For the ideals at which a server can begin, the ends in reach of a whole one.
    starts: Vec<(usize, Box<[u64]>)>,
}

impl<'a, 'b> Prospects<'a, 'b> {
    /// What the table for these ends takes.
    pub fn bytes(pairs: &Pairs, block: &Block) -> usize {
        8 * pairs.lattice.count() * pairs.setting.consumption.largest_server() * block.words
    }

    /// Looks at all stages within `target` that begin at one of the ideals that are `reached`, and at all servers that begin
    /// at one of `starts` (ascending).
    ///
    /// # Errors
    /// [`Stopped`] where a limit is reached.
    pub fn new(
        pairs: &'a Pairs<'b>,
        target: f64,
        (block, starts): (&'a Block, &[usize]),
        reached: &[bool],
        looks: &Looks,
    ) -> Result<Self, Stopped> {
        let size = pairs.setting.consumption.largest_server();
        let inside = vec![0; pairs.lattice.count() * size * block.words];
        let mut prospects = Self { pairs, target, block, inside, size, starts: Vec::new() };
        let rises = Rises::new(pairs, target, block, |_| true);
        let mut walk = Walk::new(pairs, (0.0, target), looks);
        for from in (0..pairs.lattice.count()).rev().filter(|&ideal| reached[ideal]) {
            let mut rows = Rows::new(&prospects, &rises, Boundary::Inside);
            walk.run(from, &mut rows)?;
            let own = rows.own;
            prospects.inside[from * own.len()..][..own.len()].copy_from_slice(&own);
            if starts.binary_search(&from).is_ok() {
                prospects.start(from, &mut walk)?;
            }
        }
        prospects.starts.reverse();
        Ok(prospects)
    }

    /// Finds the ends in reach of a whole server.
    fn start(&mut self, start: usize, walk: &mut Walk) -> Result<(), Stopped> {
        let (kinds, rises) = self.priced_from(start);
        let mut rows = Rows::new(self, &rises, Boundary::Between);
        walk.run_with(start, &kinds, &mut rows)?;
        let whole = rows.own[(self.size - 1) * self.block.words..].into();
        self.starts.push((start, whole));
        Ok(())
    }

    /// The costs in a server that begins at an ideal, and what rises with its end.
    pub fn priced_from(&self, start: usize) -> (Vec<Costs<'b>>, Rises<'a, 'b>) {
        let reduced = self.pairs.setting.reduced;
        let below = self.pairs.lattice.bits(start);
        let enters = |e: usize| reduced.nets[e].pins.iter().any(|&p| contains(below, p as usize));
        let price = |e: usize| if enters(e) { reduced.between[e] } else { 1.0 };
        let kinds = self.pairs.kinds.iter().map(|costs| costs.priced(price)).collect();
        (kinds, Rises::new(self.pairs, self.target, self.block, |e| !enters(e)))
    }

    /// The ends in reach of so many devices of a server from an ideal on.
    pub fn inside(&self, ideal: usize, devices: usize) -> &[u64] {
        &self.inside[(ideal * self.size + devices - 1) * self.block.words..][..self.block.words]
    }

    /// The ends in reach of a whole server that begins at an ideal.
    pub fn of_start(&self, ideal: usize) -> &[u64] {
        let place = self.starts.binary_search_by_key(&ideal, |&(start, _)| start);
        place.map_or(&[], |place| &self.starts[place].1)
    }
}

/// The rows of one ideal.
struct Rows<'a, 'b> {
    prospects: &'a Prospects<'a, 'b>,
    rises: &'a Rises<'a, 'b>,
    /// Where the boundary below lies.
    lower: Boundary,
    own: Vec<u64>,
}

impl<'a, 'b> Rows<'a, 'b> {
    fn new(prospects: &'a Prospects<'a, 'b>, rises: &'a Rises<'a, 'b>, lower: Boundary) -> Self {
        Self { prospects, rises, lower, own: vec![0; prospects.size * prospects.block.words] }
    }
}

impl Visitor for Rows<'_, '_> {
    fn left_after(&self, kind: usize, most_load: f64) -> Option<f64> {
        let Pairs { setting: Setting { stages, consumption, .. }, left, .. } = self.prospects.pairs;
        if stages[kind].lower != self.lower {
            return None;
        }
        consumption.least_after(stages[kind]).map(|used| left[used] * most_load)
    }

    fn visit(&mut self, stage: &Stage) {
        let Prospects { pairs, block, size, .. } = self.prospects;
        let kind = pairs.setting.stages[stage.kind];
        if kind.upper == Boundary::Between {
            if let Some(place) = self.rises.closes(stage) {
                (kind.replicas..=*size).for_each(|m| self.own[(m - 1) * block.words + place / 64] |= 1 << (place % 64));
            }
            return;
        }
        let mut ends = None;
        for m in kind.replicas + 1..=*size {
            let above = self.prospects.inside(stage.to, m - kind.replicas);
            let own = &mut self.own[(m - 1) * block.words..][..block.words];
            if above.iter().zip(own.iter()).all(|(above, own)| above & !own == 0) {
                continue;
            }
            let ends = ends.get_or_insert_with(|| self.rises.ends(stage));
            match ends {
                None => own.iter_mut().zip(above).for_each(|(own, above)| *own |= above),
                Some(ends) => {
                    own.iter_mut().zip(above).zip(ends).for_each(|((own, above), ends)| *own |= above & *ends)
                }
            }
        }
    }
}
