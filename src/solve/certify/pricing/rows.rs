//! The entries of a sweep: for each state, the most gain of every load and memory that some partial set has.
//!
//! Loads of the same memory make up a plane. Only the loads between the first and the last one that are of use have entries:
//! few partial sets of the line's begin are heavy, few of little load take much memory, and few fill both as well as those known.

/// What is consumed in whole cells: of load, and of memory.
pub type Cells = [usize; 2];

/// What cells count.
pub const LOAD: usize = 0;
pub const MEMORY: usize = 1;

/// Less than any gain, and still less after all gains have been added.
const NONE: i32 = i32::MIN;

/// The entries of one state.
#[derive(Debug, Default)]
pub struct Row {
    /// One for each plane.
    spans: Vec<Span>,
    entries: Vec<i32>,
}

/// The loads of a plane that have entries.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    first: usize,
    end: usize,
    /// Where their entries begin.
    at: usize,
}

/// An arc into a state.
#[derive(Debug, Clone, Copy)]
pub struct Through<'r> {
    /// The state before.
    pub source: &'r Row,
    /// What it consumes.
    pub cells: Cells,
    /// What it gains, with its number in the low bits.
    pub add: i32,
}

impl Through<'_> {
    /// The first load of a plane that it reaches, up to `most`, and the entries that it adds to from there on.
    fn reaches(&self, plane: usize, most: usize) -> Option<(usize, &[i32])> {
        let span = self.source.spans.get(plane.checked_sub(self.cells[MEMORY])?)?;
        let first = span.first.saturating_add(self.cells[LOAD]);
        let count = (span.end - span.first).min((most + 1).saturating_sub(first));
        (count > 0).then(|| (first, &self.source.entries[span.at..span.at + count]))
    }
}

impl Row {
    /// One entry, of no gain: nothing is consumed before the first step.
    pub fn start(&mut self) {
        self.spans.clear();
        self.spans.push(Span { first: 0, end: 1, at: 0 });
        self.entries.clear();
        self.entries.push(0);
    }

    /// The largest entries that these arcs reach within `capacity`, but for those on both sides of each plane that are not of
    /// use; so many low bits hold an arc's number. How many sums that took.
    pub fn fill(
        &mut self,
        arcs: &[Through],
        capacity: Cells,
        bits: u32,
        is_of_use: impl Fn(usize, i32) -> bool + Copy,
    ) -> usize {
        self.spans.clear();
        self.entries.clear();
        let mut sums = 0;
        let planes =
            arcs.iter().map(|arc| arc.source.spans.len().saturating_add(arc.cells[MEMORY])).max().unwrap_or_default();
        for plane in 0..planes.min(capacity[MEMORY] + 1) {
            let (span, taken) = self.reach(arcs, plane, capacity[LOAD], bits);
            sums += taken;
            self.trim(span, is_of_use);
        }
        sums
    }

    /// The largest entries of a plane that these arcs reach, up to the load `most`, and how many sums that took.
    fn reach(&mut self, arcs: &[Through], plane: usize, most: usize, bits: u32) -> (Span, usize) {
        let reached = || arcs.iter().filter_map(|arc| arc.reaches(plane, most));
        let first = reached().map(|(first, _)| first).min().unwrap_or_default();
        let end = reached().map(|(first, source)| first + source.len()).max().unwrap_or_default();
        let at = self.entries.len();
        let mut sums = 0;
        for (i, arc) in arcs.iter().enumerate() {
            let (start, source) = arc.reaches(plane, most).unwrap_or((first, &[]));
            let through = through(arc.add, bits);
            sums += SUMS_PER_SPAN + source.len();
            if i == 0 {
                self.entries.resize(at + start - first, NONE);
                self.entries.extend(source.iter().map(move |&known| through(known)));
                self.entries.resize(at + end - first, NONE);
            } else {
                raise(&mut self.entries[at + start - first..], source, through);
            }
        }
        (Span { first, end, at }, sums)
    }

    /// Keeps the last entries, those of a span, from the first to the last one that is of use.
    fn trim(&mut self, span: Span, is_of_use: impl Fn(usize, i32) -> bool) {
        let is_kept = |&(load, &entry): &(usize, &i32)| entry >= 0 && is_of_use(load, entry);
        let mut entries = (span.first..span.end).zip(&self.entries[span.at..]);
        let low = entries.clone().find(is_kept).map_or(span.end, |(load, _)| load);
        let end = entries.rfind(is_kept).map_or(low, |(load, _)| load + 1);
        let kept = Span { first: low, end, at: span.at + low - span.first };
        self.entries.truncate(kept.at + end - low);
        self.spans.push(kept);
    }

    /// What is consumed, and the entry of it.
    pub fn reached(&self) -> impl Iterator<Item = (Cells, i32)> {
        self.spans.iter().enumerate().flat_map(|(plane, span)| {
            let entries = self.entries[span.at..].iter().take(span.end - span.first).enumerate();
            entries.filter(|(_, entry)| **entry >= 0).map(move |(i, &entry)| ([span.first + i, plane], entry))
        })
    }
}

/// Sums in the time of which an arc's entries of a plane are found.
const SUMS_PER_SPAN: usize = 16;

/// Raises entries to those of `source`.
#[inline]
fn raise(entries: &mut [i32], source: &[i32], through: impl Fn(i32) -> i32 + Copy) {
    for (entry, &known) in entries.iter_mut().zip(source) {
        *entry = (*entry).max(through(known));
    }
}

/// What an arc makes of an entry. It owns what it adds: read anew for each entry, that would keep loops from running on
/// vectors.
#[inline]
fn through(add: i32, bits: u32) -> impl Fn(i32) -> i32 + Copy {
    let mask = !((1 << bits) - 1);
    move |known| (known & mask) + add
}

/// By which arcs the entries of a state were reached.
#[derive(Debug, Default)]
pub struct Chosen {
    spans: Vec<Span>,
    /// Empty where there is one arc alone.
    arcs: Vec<u8>,
}

impl Chosen {
    /// Notes the low bits of all entries, which say it, of a row with so many arcs.
    pub fn choose(&mut self, row: &Row, arcs: usize, bits: u32) {
        self.arcs.clear();
        if arcs > 1 {
            self.spans.clone_from(&row.spans);
            let mask = (1 << bits) - 1;
            self.arcs.extend(row.entries.iter().map(move |entry| (entry & mask) as u8));
        }
    }

    /// The number of the arc by which this much was reached.
    pub fn at(&self, at: Cells) -> usize {
        if self.arcs.is_empty() {
            return 0;
        }
        let span = self.spans[at[MEMORY]];
        usize::from(self.arcs[span.at + at[LOAD] - span.first])
    }
}
