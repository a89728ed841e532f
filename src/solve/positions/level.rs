//! Chains of stages by position, for each use of the devices.

use std::collections::BTreeMap;

use super::marks::{Ends, Trace};
use super::measure::{Measure, Window, width};
use super::table::{Effort, Program, Row, StateWindows, Table};
use super::windows::{Hop, Range, Windows, meet};
use crate::search::{SearchContext, Stopped};
use crate::solve::dp::Setting;

/// A stage of a chain by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The index of its kind of stage.
    pub stage: usize,
    /// Its last state.
    pub state: usize,
    /// The positions at which it begins and ends.
    pub ends: [usize; 2],
}

/// What the chains show.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The least of the largest loads of all chains; `None` where none is within the target.
    pub least: Option<f64>,
    /// Where the stages of chains below the target lie.
    pub windows: Windows,
    /// The best chain, empty where there is none.
    pub chain: Vec<Link>,
}

/// Where ideals can lie that have these marked units, so many devices being used.
#[derive(Debug)]
struct Place {
    used: usize,
    trace: Trace,
    window: Window,
}

/// The stages of a hop in one last state.
#[derive(Debug)]
struct Stages<P = usize> {
    state: usize,
    /// The places at which they begin and end.
    places: [P; 2],
    windows: [Window; 2],
}

/// Hops of one kind of stage between windows so near each other that one table for all is less work.
#[derive(Debug)]
struct Bundle {
    stage: usize,
    windows: StateWindows,
    hops: Vec<usize>,
}

/// Both windows, and what is between.
fn join(a: &Window, b: &Window) -> Window {
    *a.start().min(b.start())..=*a.end().max(b.end())
}

/// The windows of both, by last state.
fn hull(a: &StateWindows, b: &StateWindows) -> StateWindows {
    let both = |(a, b): (&Option<[Window; 2]>, &Option<[Window; 2]>)| match (a, b) {
        (Some([a, b]), Some([c, d])) => Some([join(a, c), join(b, d)]),
        (one, other) => one.clone().or_else(|| other.clone()),
    };
    a.iter().zip(b).map(both).collect()
}

/// How many pairs of positions there are.
fn area(windows: &StateWindows) -> usize {
    windows.iter().flatten().map(|[begin, end]| width(begin) * width(end)).sum()
}

/// The tables of all hops.
struct Loads {
    tables: Vec<Table>,
    /// The number of each hop's table.
    of_hops: Vec<usize>,
}

/// All chains by positions in whole cells.
pub struct Level<'a> {
    measure: &'a Measure,
    /// By kind of stage.
    programs: Vec<&'a Program<'a>>,
    /// All units that are marked.
    marked: Trace,
    /// No chain of larger loads counts.
    target: f64,
    hops: &'a [Hop],
    windows: &'a Windows,
    /// Those of each hop.
    stages: Vec<Vec<Stages>>,
    /// By use, then by trace.
    places: Vec<Place>,
}

impl<'a> Level<'a> {
    /// The chains within a target whose stages lie within these windows and whose ideals within those of their uses.
    pub fn new(
        (setting, hops): (&Setting, &'a [Hop]),
        measure: &'a Measure,
        (programs, marked): (&'a [Program<'a>], Trace),
        (windows, uses): (&'a Windows, &[Option<Range>]),
        target: f64,
    ) -> Self {
        let programs = setting.stages.iter().map(|stage| &programs[stage.kind]).collect();
        let (stages, places) = (Vec::new(), Vec::new());
        let mut level = Self { measure, programs, marked, target, hops, windows, stages, places };
        let found: Vec<_> = (0..hops.len()).map(|hop| level.find_stages(hop, uses)).collect();
        let mut window_of: BTreeMap<(usize, Trace), Window> = BTreeMap::new();
        for (place, window) in found.iter().flatten().flat_map(|stages| stages.places.iter().zip(&stages.windows)) {
            let known = window_of.entry(*place).or_insert_with(|| window.clone());
            *known = join(known, window);
        }
        let number: BTreeMap<_, usize> = window_of.keys().copied().zip(0..).collect();
        let numbered = |stages: Stages<_>| {
            let places = stages.places.map(|place| number[&place]);
            Stages { state: stages.state, places, windows: stages.windows }
        };
        level.stages = found.into_iter().map(|stages| stages.into_iter().map(numbered).collect()).collect();
        level.places = window_of.into_iter().map(|((used, trace), window)| Place { used, trace, window }).collect();
        level
    }

    /// The stages of a hop in each last state, with the use and the trace of their ends.
    fn find_stages(&self, hop: usize, uses: &[Option<Range>]) -> Vec<Stages<(usize, Trace)>> {
        let Hop { from, to, stage } = self.hops[hop];
        let within = |range: Range, used: usize| self.measure.window(meet(range, uses[used]?)?);
        let of_state = |(state, &ends): (usize, &Ends)| {
            let [begin, end] = self.windows.of(hop, ends)?;
            let Ends([before, after]) = ends;
            let windows = [within(begin, from)?, within(end, to)?];
            Some(Stages { state, places: [(from, before), (to, after)], windows })
        };
        self.programs[stage].ends().iter().enumerate().filter_map(of_state).collect()
    }

    /// The program over stages of a kind.
    pub fn program(&self, stage: usize) -> &Program<'a> {
        self.programs[stage]
    }

    /// The hops that have stages, in bundles.
    fn bundles(&self) -> Vec<Bundle> {
        let mut bundles: Vec<Bundle> = Vec::new();
        for (number, (hop, stages)) in self.hops.iter().zip(&self.stages).enumerate() {
            let mut windows = vec![None; self.programs[hop.stage].ends().len()];
            stages.iter().for_each(|stages| windows[stages.state] = Some(stages.windows.clone()));
            if stages.is_empty() {
                continue;
            }
            let is_near = |bundle: &&mut Bundle| {
                bundle.stage == hop.stage
                    && area(&hull(&bundle.windows, &windows)) <= area(&bundle.windows) + area(&windows)
            };
            match bundles.iter_mut().find(is_near) {
                Some(bundle) => {
                    bundle.windows = hull(&bundle.windows, &windows);
                    bundle.hops.push(number);
                }
                None => bundles.push(Bundle { stage: hop.stage, windows, hops: vec![number] }),
            }
        }
        bundles
    }

    /// What it takes.
    ///
    /// # Errors
    /// `cx` says to stop.
    pub fn effort(&self, cx: &SearchContext) -> Result<Effort, Stopped> {
        let mut all = Effort::default();
        for Bundle { stage, windows, .. } in self.bundles() {
            let one = self.programs[stage].effort(&windows, cx)?;
            all = Effort { sums: all.sums + one.sums, layers: all.layers.max(one.layers), kept: all.kept + one.kept };
        }
        Ok(all)
    }

    /// Looks at all chains.
    ///
    /// # Errors
    /// `cx` says to stop.
    pub fn run(&self, cx: &SearchContext) -> Result<Shown, Stopped> {
        let loads = self.loads(cx)?;
        let (forth, back) = (self.forth(&loads), self.back(&loads));
        let start = self.start().map(|start| back[start][0]);
        let least = start.filter(|&least| least <= self.target);
        let chain = least.map(|least| self.chain(&loads, &back, least)).unwrap_or_default();
        Ok(Shown { least, windows: self.open(&loads, &forth, &back), chain })
    }

    fn loads(&self, cx: &SearchContext) -> Result<Loads, Stopped> {
        let mut loads = Loads { tables: Vec::new(), of_hops: vec![usize::MAX; self.hops.len()] };
        for Bundle { stage, windows, hops } in self.bundles() {
            hops.iter().for_each(|&hop| loads.of_hops[hop] = loads.tables.len());
            loads.tables.push(self.programs[stage].table(&windows, cx)?);
        }
        Ok(loads)
    }

    /// The stages of all hops, each with its hop's number and the table of its loads, by the use at which they begin.
    fn stages<'l>(&'l self, loads: &'l Loads) -> impl DoubleEndedIterator<Item = (usize, &'l Stages, &'l Table)> {
        let of_hop = move |(hop, stages): (usize, &'l Vec<Stages>)| {
            stages.iter().map(move |stages| (hop, stages, &loads.tables[loads.of_hops[hop]]))
        };
        self.stages.iter().enumerate().flat_map(of_hop)
    }

    /// The place of the ideal without units.
    fn start(&self) -> Option<usize> {
        let is_start = |place: &&Place| place.used == 0 && place.trace == 0 && *place.window.start() == 0;
        self.places.first().filter(is_start).map(|_| 0)
    }

    /// No load at any place.
    fn nothing(&self) -> Vec<Vec<f64>> {
        self.places.iter().map(|place| vec![f64::INFINITY; width(&place.window)]).collect()
    }

    /// Where a place has the value of a position.
    fn at(&self, place: usize, position: usize) -> usize {
        position - self.places[place].window.start()
    }

    /// The least of the largest loads of chains from the start to each position, by place.
    fn forth(&self, loads: &Loads) -> Vec<Vec<f64>> {
        let mut forth = self.nothing();
        if let Some(start) = self.start() {
            forth[start][0] = 0.0;
        }
        for (_, Stages { state, places: [from, to], windows }, table) in self.stages(loads) {
            let (before, after) = forth.split_at_mut(*to);
            for Row { end, begin, least } in table.rows(*state, windows.each_ref()) {
                let known = &before[*from][self.at(*from, begin)..];
                let through = known.iter().zip(least).map(|(&known, &load)| known.max(load));
                let entry = &mut after[0][self.at(*to, end)];
                *entry = through.fold(*entry, f64::min);
            }
        }
        forth
    }

    /// The same from each position to the end.
    fn back(&self, loads: &Loads) -> Vec<Vec<f64>> {
        let mut back = self.nothing();
        for (entries, place) in back.iter_mut().zip(&self.places) {
            if place.trace == self.marked
                && *place.window.end() == self.measure.total
                && let Some(end) = entries.last_mut()
            {
                *end = 0.0;
            }
        }
        for (_, Stages { state, places: [from, to], windows }, table) in self.stages(loads).rev() {
            let (before, after) = back.split_at_mut(*to);
            for Row { end, begin, least } in table.rows(*state, windows.each_ref()) {
                let known = after[0][self.at(*to, end)];
                let entries = &mut before[*from][self.at(*from, begin)..];
                for (entry, &load) in entries.iter_mut().zip(least) {
                    *entry = (*entry).min(known.max(load));
                }
            }
        }
        back
    }

    /// Where the stages of chains lie none of whose loads is above the target.
    fn open(&self, loads: &Loads, forth: &[Vec<f64>], back: &[Vec<f64>]) -> Windows {
        let mut open = Windows::none(self.hops.len(), self.marked);
        for (hop, stages, table) in self.stages(loads) {
            let [from, to] = stages.places;
            let windows =
                table.rows(stages.state, stages.windows.each_ref()).filter_map(|Row { end, begin, least }| {
                    let known = forth[from][self.at(from, begin)..].iter().zip(least);
                    let mut is_open = known.map(|(&known, &load)| known.max(load) <= self.target);
                    let is_end_open = back[to][self.at(to, end)] <= self.target;
                    let first = is_open.position(|is_open| is_open).filter(|_| is_end_open)?;
                    let more = is_open.rposition(|is_open| is_open).map_or(0, |last| last + 1);
                    Some([begin + first..=begin + first + more, end..=end])
                });
            let ends = self.programs[self.hops[hop].stage].ends()[stages.state];
            let hull = windows.reduce(|[a, b], [c, d]| [join(&a, &c), join(&b, &d)]);
            let ranges = hull.map(|hull| hull.map(|window| self.measure.work(&window)));
            if let Some(ranges) = ranges.and_then(|ranges| self.windows.meet(hop, ends, ranges)) {
                open.add(hop, ends, ranges);
            }
        }
        open
    }

    /// A chain of no larger load than `least`.
    fn chain(&self, loads: &Loads, back: &[Vec<f64>], least: f64) -> Vec<Link> {
        let mut chain = Vec::new();
        let (mut place, mut begin) = (0, 0);
        while begin < self.measure.total || self.places[place].trace != self.marked {
            let onwards = |(hop, stages, table): (usize, &Stages, &Table)| {
                let [from, to] = stages.places;
                let rows = (from == place).then(|| table.rows(stages.state, [&(begin..=begin), &stages.windows[1]]));
                let is_on = |row: &Row| row.least[0].max(back[to][self.at(to, row.end)]) <= least;
                let row = rows?.rev().find(is_on)?;
                Some((to, Link { stage: self.hops[hop].stage, state: stages.state, ends: [begin, row.end] }))
            };
            let Some((to, link)) = self.stages(loads).find_map(onwards) else { return Vec::new() };
            chain.push(link);
            (place, begin) = (to, link.ends[1]);
        }
        chain
    }
}
