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

/// Hops of one kind of stage between windows so near each other that one table for all is less work.
#[derive(Debug)]
struct Bundle<'w> {
    stage: usize,
    windows: [Window; 2],
    hops: Vec<(Hop, [&'w Window; 2])>,
}

impl Bundle<'_> {
    /// The windows of its hops and of one more.
    fn hull(&self, windows: [&Window; 2]) -> [Window; 2] {
        let hull = |a: &Window, b: &Window| *a.start().min(b.start())..=*a.end().max(b.end());
        [hull(&self.windows[0], windows[0]), hull(&self.windows[1], windows[1])]
    }
}

/// How many pairs of positions there are.
fn area([begin, end]: [&Window; 2]) -> usize {
    width(begin) * width(end)
}

/// The loads of each hop.
struct Loads<'w> {
    /// The windows of each hop and the number of its table, by the use from which it leads.
    hops: Vec<(Hop, [&'w Window; 2], usize)>,
    tables: Vec<Table>,
}

impl<'w> Loads<'w> {
    fn iter(&self) -> impl DoubleEndedIterator<Item = (Hop, [&'w Window; 2], &Table)> {
        self.hops.iter().map(|&(hop, windows, number)| (hop, windows, &self.tables[number]))
    }
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

    /// The same in bundles.
    fn bundles(&self) -> Vec<Bundle<'_>> {
        let mut bundles: Vec<Bundle<'_>> = Vec::new();
        for (hop, windows) in self.hops() {
            let is_near = |bundle: &&mut Bundle| {
                let together = area(bundle.hull(windows).each_ref());
                bundle.stage == hop.stage && together <= area(bundle.windows.each_ref()) + area(windows)
            };
            match bundles.iter_mut().find(is_near) {
                Some(bundle) => {
                    bundle.windows = bundle.hull(windows);
                    bundle.hops.push((hop, windows));
                }
                None => bundles.push(Bundle {
                    stage: hop.stage,
                    windows: windows.map(Window::clone),
                    hops: vec![(hop, windows)],
                }),
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
            let one = self.program(stage).effort(windows.each_ref(), cx)?;
            let table = size_of::<f64>() * area(windows.each_ref());
            all = Effort { sums: all.sums + one.sums, bytes: all.bytes.max(one.bytes) + table };
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
        let least = back[0].first().copied().filter(|&least| least <= self.target);
        let chain = least.map(|least| self.chain(&loads, &back, least)).unwrap_or_default();
        Ok(Shown { least, windows: self.open(&forth, &back), chain })
    }

    fn loads(&self, cx: &SearchContext) -> Result<Loads<'_>, Stopped> {
        let mut loads = Loads { hops: Vec::new(), tables: Vec::new() };
        for Bundle { stage, windows, hops } in self.bundles() {
            let number = loads.tables.len();
            loads.hops.extend(hops.into_iter().map(|(hop, windows)| (hop, windows, number)));
            loads.tables.push(self.program(stage).table(windows.each_ref(), cx)?);
        }
        loads.hops.sort_by_key(|(hop, ..)| (hop.from, hop.to));
        Ok(loads)
    }

    /// No load at some positions.
    fn nothing(&self) -> Vec<Vec<f64>> {
        self.windows.iter().map(|window| vec![f64::INFINITY; window.as_ref().map_or(0, width)]).collect()
    }

    /// The least of the largest loads of chains from the start to each position, by use.
    fn forth(&self, loads: &Loads) -> Vec<Vec<f64>> {
        let mut forth = self.nothing();
        if let Some(start) = forth[0].first_mut() {
            *start = 0.0;
        }
        for (hop, [begin, ends], table) in loads.iter() {
            let (before, after) = forth.split_at_mut(hop.to);
            for (entry, end) in after[0].iter_mut().zip(ends.clone()) {
                let row = table.row(end, begin);
                let through = before[hop.from].iter().zip(row).map(|(&known, &load)| known.max(load));
                *entry = through.fold(*entry, f64::min);
            }
        }
        forth
    }

    /// The same from each position to the end.
    fn back(&self, loads: &Loads) -> Vec<Vec<f64>> {
        let mut back = self.nothing();
        for (entries, window) in back.iter_mut().zip(&self.windows) {
            if window.as_ref().is_some_and(|window| *window.end() == self.measure.total)
                && let Some(end) = entries.last_mut()
            {
                *end = 0.0;
            }
        }
        for (hop, [begin, ends], table) in loads.iter().rev() {
            let (before, after) = back.split_at_mut(hop.to);
            for (&known, end) in after[0].iter().zip(ends.clone()) {
                let row = table.row(end, begin);
                for (entry, &load) in before[hop.from].iter_mut().zip(row) {
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
    fn chain(&self, loads: &Loads, back: &[Vec<f64>], least: f64) -> Vec<Link> {
        let mut chain = Vec::new();
        let (mut used, mut begin) = (0, 0);
        while begin < self.measure.total {
            let onwards = |(hop, [_, ends], table): (Hop, [&Window; 2], &Table)| {
                let value = |end: usize| table.row(end, &(begin..=begin))[0].max(back[hop.to][end - ends.start()]);
                let end = ends.clone().rev().find(|&end| end > begin && value(end) <= least)?;
                Some((hop.to, Link { stage: hop.stage, ends: [begin, end] }))
            };
            let Some((to, link)) = loads.iter().filter(|(hop, ..)| hop.from == used).find_map(onwards) else {
                return Vec::new();
            };
            chain.push(link);
            (used, begin) = (to, link.ends[1]);
        }
        chain
    }
}
