//! Chains of stages by position, for each use of the devices.

use super::measure::{Measure, Window, width};
use super::table::{Effort, Program, Table};
use crate::search::{SearchContext, Stopped};
use crate::solve::dp::Setting;

/// The least and most work of the ideals at which a chain can have used some devices, by use; `None` where there are none.
pub type Windows = Vec<Option<[f64; 2]>>;

/// A kind of stage between two uses of the devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hop {
    from: usize,
    to: usize,
    stage: usize,
}

/// All of them, by use.
fn hops(setting: &Setting) -> Vec<Hop> {
    let uses = &setting.consumption;
    let of = |from: usize| {
        let stages = setting.stages.iter().enumerate();
        stages.filter_map(move |(stage, &kind)| Some(Hop { from, to: uses.add(from, kind)?, stage }))
    };
    uses.all().flat_map(of).collect()
}

/// What follows from the most work that a stage of each kind can hold, of so much in all.
pub fn by_work(setting: &Setting, total: f64, most: &[f64]) -> Windows {
    let (mut done, mut left) = (vec![0.0f64; setting.consumption.count()], vec![0.0f64; setting.consumption.count()]);
    let hops = hops(setting);
    hops.iter().for_each(|hop| done[hop.to] = done[hop.to].max(done[hop.from] + most[hop.stage]));
    hops.iter().rev().for_each(|hop| left[hop.from] = left[hop.from].max(left[hop.to] + most[hop.stage]));
    let window = |(done, left): (&f64, &f64)| {
        let [least, most] = [(total - left).max(0.0), done.min(total)];
        (least <= most * (1.0 + 1e-9)).then_some([least.min(most), most])
    };
    done.iter().zip(&left).map(window).collect()
}

/// What two sources say of the same windows.
pub fn meet(a: &Windows, b: &Windows) -> Windows {
    let both = |(a, b): (&Option<[f64; 2]>, &Option<[f64; 2]>)| {
        let ([a_least, a_most], [b_least, b_most]) = ((*a)?, (*b)?);
        let [least, most] = [a_least.max(b_least), a_most.min(b_most)];
        (least <= most).then_some([least, most])
    };
    a.iter().zip(b).map(both).collect()
}

/// A stage of a chain by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The index of its kind of stage.
    pub stage: usize,
    /// The positions at which it begins and ends.
    pub ends: [usize; 2],
}

/// What the chains show.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The least of the largest loads of all chains; `None` where none is within the target.
    pub least: Option<f64>,
    /// Where the ideals of chains below the target lie.
    pub windows: Windows,
    /// The best chain, empty where there is none.
    pub chain: Vec<Link>,
}

/// All chains by positions in whole cells.
pub struct Level<'a> {
    setting: &'a Setting<'a>,
    measure: &'a Measure,
    /// No chain of larger loads counts.
    target: f64,
    /// By kind of device.
    programs: Vec<Program<'a>>,
    windows: Vec<Option<Window>>,
}

impl<'a> Level<'a> {
    /// The chains whose ideals lie within these windows.
    pub fn new(
        setting: &'a Setting<'a>,
        measure: &'a Measure,
        (programs, target): (Vec<Program<'a>>, f64),
        windows: &Windows,
    ) -> Self {
        let windows = windows.iter().map(|window| measure.window((*window)?)).collect();
        Self { setting, measure, target, programs, windows }
    }

    /// The program over stages of a kind.
    pub fn program(&self, stage: usize) -> &Program<'a> {
        &self.programs[self.setting.stages[stage].kind]
    }

    /// The hops between uses at which a chain can be, with their windows.
    fn hops(&self) -> impl Iterator<Item = (Hop, [&Window; 2])> {
        let open = |hop: Hop| Some((hop, [self.windows[hop.from].as_ref()?, self.windows[hop.to].as_ref()?]));
        hops(self.setting).into_iter().filter_map(open)
    }

    /// What it takes.
    ///
    /// # Errors
    /// `cx` says to stop.
    pub fn effort(&self, cx: &SearchContext) -> Result<Effort, Stopped> {
        let mut all = Effort::default();
        for (hop, windows) in self.hops() {
            let one = self.program(hop.stage).effort(windows, cx)?;
            let table = size_of::<f64>() * width(windows[0]) * width(windows[1]);
            all = Effort { sums: all.sums + one.sums, bytes: all.bytes.max(one.bytes) + table };
        }
        Ok(all)
    }

    /// Looks at all chains.
    ///
    /// # Errors
    /// `cx` says to stop.
    pub fn run(&self, cx: &SearchContext) -> Result<Shown, Stopped> {
        let table = |(hop, windows): (Hop, _)| Ok((hop, self.program(hop.stage).table(windows, cx)?));
        let tables: Vec<(Hop, Table)> = self.hops().map(table).collect::<Result<_, _>>()?;
        let (forth, back) = (self.forth(&tables), self.back(&tables));
        let least = back[0].first().copied().filter(|&least| least <= self.target);
        let chain = least.map(|least| self.chain(&tables, &back, least)).unwrap_or_default();
        Ok(Shown { least, windows: self.open(&forth, &back), chain })
    }

    /// No load at some positions.
    fn nothing(&self) -> Vec<Vec<f64>> {
        self.windows.iter().map(|window| vec![f64::INFINITY; window.as_ref().map_or(0, width)]).collect()
    }

    /// The least of the largest loads of chains from the start to each position, by use.
    fn forth(&self, tables: &[(Hop, Table)]) -> Vec<Vec<f64>> {
        let mut forth = self.nothing();
        if let Some(start) = forth[0].first_mut() {
            *start = 0.0;
        }
        for (hop, table) in tables {
            let (before, after) = forth.split_at_mut(hop.to);
            for (entry, end) in after[0].iter_mut().zip(table.end.clone()) {
                let through = before[hop.from].iter().zip(table.row(end)).map(|(&known, &load)| known.max(load));
                *entry = through.fold(*entry, f64::min);
            }
        }
        forth
    }

    /// The same from each position to the end.
    fn back(&self, tables: &[(Hop, Table)]) -> Vec<Vec<f64>> {
        let mut back = self.nothing();
        for (entries, window) in back.iter_mut().zip(&self.windows) {
            if window.as_ref().is_some_and(|window| *window.end() == self.measure.total)
                && let Some(end) = entries.last_mut()
            {
                *end = 0.0;
            }
        }
        for (hop, table) in tables.iter().rev() {
            let (before, after) = back.split_at_mut(hop.to);
            for (&known, end) in after[0].iter().zip(table.end.clone()) {
                for (entry, &load) in before[hop.from].iter_mut().zip(table.row(end)) {
                    *entry = (*entry).min(known.max(load));
                }
            }
        }
        back
    }

    /// Where the ideals of chains lie none of whose loads is above the target.
    fn open(&self, forth: &[Vec<f64>], back: &[Vec<f64>]) -> Windows {
        let of_use = |(window, (forth, back)): (&Option<Window>, (&Vec<f64>, &Vec<f64>))| {
            let window = window.as_ref()?;
            let is_open = |&at: &usize| forth[at].max(back[at]) <= self.target;
            let (first, last) = ((0..width(window)).find(is_open)?, (0..width(window)).rev().find(is_open)?);
            Some(self.measure.work(&(window.start() + first..=window.start() + last)))
        };
        self.windows.iter().zip(forth.iter().zip(back)).map(of_use).collect()
    }

    /// A chain of no larger load than `least`.
    fn chain(&self, tables: &[(Hop, Table)], back: &[Vec<f64>], least: f64) -> Vec<Link> {
        let mut chain = Vec::new();
        let (mut used, mut begin) = (0, 0);
        while begin < self.measure.total {
            let onwards = |(hop, table): &(Hop, Table)| {
                let column = begin - table.begin.start();
                let value = |end: usize| table.row(end)[column].max(back[hop.to][end - table.end.start()]);
                let end = table.end.clone().rev().find(|&end| end > begin && value(end) <= least)?;
                Some((hop.to, Link { stage: hop.stage, ends: [begin, end] }))
            };
            let Some((to, link)) = tables.iter().filter(|(hop, _)| hop.from == used).find_map(onwards) else {
                return Vec::new();
            };
            chain.push(link);
            (used, begin) = (to, link.ends[1]);
        }
        chain
    }
}
