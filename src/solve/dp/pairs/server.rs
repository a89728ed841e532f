//! All ways to fill one server, or one CPU, from an ideal on.

use std::collections::BTreeMap;

use super::ends::Rises;
use super::prospects::Prospects;
use super::{Looks, Pairs, Stage, Visitor, Walk};
use crate::search::Stopped;
use crate::solve::dp::loads::contains;
use crate::solve::dp::setting::Setting;
use crate::solve::dp::stage::Boundary;

/// The stages of a server up to an ideal inside it.
struct Open {
    used: usize,
    /// At which ends all of them are within the target.
    ends: Box<[u64]>,
    /// The ideal before, the index of its stages, and the kind of the last one.
    from: (usize, usize, usize),
}

/// The stages of a whole server.
struct Closed {
    end: usize,
    used: usize,
    from: (usize, usize, usize),
}

/// What a server that begins at one ideal can hold.
pub struct Server {
    start: usize,
    open: BTreeMap<usize, Vec<Open>>,
    closed: Vec<Closed>,
}

impl Server {
    /// All ways to fill a server that begins at an ideal, with what is used up to there, and ends at one of `ends`, with all
    /// stages within the target.
    ///
    /// # Errors
    /// [`Stopped`] where a limit is reached.
    pub fn fill(
        prospects: &Prospects,
        (start, used): (usize, usize),
        ends: Box<[u64]>,
        looks: &Looks,
    ) -> Result<Self, Stopped> {
        let Prospects { pairs, target, .. } = *prospects;
        let (kinds, rises) = prospects.priced_from(start);
        let first = Open { used, ends, from: (0, 0, 0) };
        let mut server = Self { start, open: BTreeMap::from([(start, vec![first])]), closed: Vec::new() };
        let mut walk = Walk::new(pairs, (0.0, target), looks);
        let mut next = start;
        while let Some((&from, stages)) = server.open.range_mut(next..).next() {
            let before = std::mem::take(stages);
            let mut ways = Ways { prospects, rises: &rises, from, before: &before, server: &mut server };
            walk.run_with(from, &kinds, &mut ways)?;
            server.open.insert(from, before);
            next = from + 1;
        }
        Ok(server)
    }

    /// Where it can end, and what is used then.
    pub fn ends(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.closed.iter().map(|closed| (closed.end, closed.used))
    }

    /// The stages up to an end with this use, from the last one to the first: each the ideal after it and its kind.
    pub fn trace(&self, end: usize, used: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let closed = self.closed.iter().find(|closed| (closed.end, closed.used) == (end, used));
        let mut next = closed.map(|closed| (closed.end, closed.from));
        std::iter::from_fn(move || {
            let (to, (from, index, kind)) = next?;
            next = (from > self.start).then(|| (from, self.open[&from][index].from));
            Some((to, kind))
        })
    }
}

/// Continues the stages that reach one ideal inside a server.
struct Ways<'a, 'b> {
    prospects: &'a Prospects<'a, 'b>,
    rises: &'a Rises<'a, 'b>,
    from: usize,
    before: &'a [Open],
    server: &'a mut Server,
}

impl Visitor for Ways<'_, '_> {
    fn left_after(&self, kind: usize, most_load: f64) -> Option<f64> {
        let Pairs { setting: Setting { stages, consumption, .. }, left, .. } = self.prospects.pairs;
        let uses = self.before.iter().filter_map(|open| consumption.add(open.used, stages[kind]));
        uses.map(|used| left[used] * most_load).max_by(f64::total_cmp)
    }

    fn visit(&mut self, stage: &Stage) {
        match self.prospects.pairs.setting.stages[stage.kind].upper {
            Boundary::Between => self.close(stage),
            Boundary::Inside => self.go_on(stage),
        }
    }
}

impl Ways<'_, '_> {
    /// The stage as the last one of its server.
    fn close(&mut self, stage: &Stage) {
        let Some(place) = self.rises.closes(stage) else { return };
        let Setting { stages, consumption, .. } = self.prospects.pairs.setting;
        for (index, open) in self.before.iter().enumerate() {
            let used = consumption.add(open.used, stages[stage.kind]);
            if let Some(used) = used.filter(|_| contains(&open.ends, place)) {
                self.server.closed.push(Closed { end: stage.to, used, from: (self.from, index, stage.kind) });
            }
        }
    }

    /// The stage with others above it in its server.
    fn go_on(&mut self, stage: &Stage) {
        let Setting { stages, consumption, .. } = self.prospects.pairs.setting;
        let mut own = None;
        for (index, open) in self.before.iter().enumerate() {
            let Some(used) = consumption.add(open.used, stages[stage.kind]) else { continue };
            let in_reach = self.prospects.inside(stage.to, consumption.room_in_server(used));
            let both = |(a, b): (&u64, &u64)| a & b;
            if open.ends.iter().zip(in_reach).map(both).all(|word| word == 0) {
                continue;
            }
            let mut ends: Box<[u64]> = open.ends.iter().zip(in_reach).map(both).collect();
            if let Some(own) = own.get_or_insert_with(|| self.rises.ends(stage)) {
                ends.iter_mut().zip(own).for_each(|(ends, own)| *ends &= *own);
            }
            if ends.iter().all(|&word| word == 0) {
                continue;
            }
            let known = self.server.open.entry(stage.to).or_default();
            match known.iter_mut().find(|known| known.used == used) {
                Some(known) => known.ends.iter_mut().zip(&ends).for_each(|(known, more)| *known |= more),
                None => known.push(Open { used, ends, from: (self.from, index, stage.kind) }),
            }
        }
    }
}
