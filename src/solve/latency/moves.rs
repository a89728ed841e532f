//! The subgraphs after every ideal, listed once for programs that run over them again and again.

use std::ops::ControlFlow;

use super::lattice::Lattice;
use super::model::Model;
use super::subgraphs::Subgraphs;
use super::watch::{VISIT, Watch};
use crate::cost::Terms;
use crate::solve::SearchContext;

/// The most moves listed: 100 MB.
const MAX_MOVES: usize = 6_000_000;

/// A subgraph that an accelerator takes as a whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    /// The ideal with it.
    pub to: u32,
    /// What it takes on its accelerator.
    pub duration: f64,
}

/// The part of a subgraph between two cuts, or before the first that it holds, or beyond the last one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// The ideal before the part where the subgraph begins with it, else the one after.
    pub ideal: u32,
    /// What the part adds where the subgraph ends with it: as the piece of the load has it that weighs compute the most.
    pub end: f64,
    /// What it adds where the subgraph goes on.
    pub inside: f64,
    /// Bytes of the part.
    pub memory: f64,
}

/// The moves of one class.
#[derive(Debug, Default)]
pub(super) struct Moves {
    /// The first move from each ideal, and the end of the last one's.
    first: Vec<usize>,
    moves: Vec<Move>,
    /// By cut, the parts that begin a subgraph and lead up to it, by their ideals.
    up_to: Vec<Vec<Part>>,
    /// By cut, the parts that go on from it.
    from: Vec<Vec<Part>>,
}

impl Moves {
    /// The moves of every class; `None` where they are too many, or a limit came.
    pub fn all(model: &Model, lattice: &Lattice, cx: &SearchContext) -> Option<Vec<Self>> {
        Self::on_grid(model, lattice, 1, cx)
    }

    /// The moves between cuts and every so many ideals: too few for a proof unless that is 1.
    pub fn on_grid(model: &Model, lattice: &Lattice, stride: usize, cx: &SearchContext) -> Option<Vec<Self>> {
        let mut list = List { model, lattice, stride, watch: Watch::new(cx), left: MAX_MOVES };
        list.left = list.left.min(cx.memory_left() / (2 * size_of::<Move>()));
        (0..model.classes.len()).map(|class| list.of_class(class)).collect()
    }

    /// The stride with which those of a chain of ideals are few enough.
    pub fn stride_of_chain(lattice: &Lattice) -> usize {
        let between = lattice.cuts.windows(2).map(|cuts| (cuts[1] - cuts[0]).pow(2) / 2);
        (between.sum::<usize>() as f64 / MAX_MOVES as f64).sqrt().ceil().max(1.0) as usize
    }

    /// The moves from ideal `i`.
    #[inline]
    pub fn of(&self, i: usize) -> &[Move] {
        &self.moves[self.first[i]..self.first[i + 1]]
    }

    /// The part that leads from ideal `i` up to a cut, where a subgraph may go on from there.
    pub fn up_to(&self, cut: usize, i: usize) -> Option<&Part> {
        let parts = self.up_to.get(cut)?;
        parts.binary_search_by_key(&(i as u32), |part| part.ideal).ok().map(|p| &parts[p])
    }

    /// The parts that go on from a cut.
    pub fn from(&self, cut: usize) -> &[Part] {
        &self.from[cut]
    }

    /// Keeps of the moves from ideal `i` those of which `keep` says so, given that `kept` moves stay from the ideals before;
    /// how many stay then. To be called with every ideal in turn, then [`end_retain`](Self::end_retain).
    pub fn retain_from(&mut self, i: usize, kept: usize, mut keep: impl FnMut(&Move) -> bool) -> usize {
        let mut end = kept;
        for m in self.first[i]..self.first[i + 1] {
            if keep(&self.moves[m]) {
                self.moves[end] = self.moves[m];
                end += 1;
            }
        }
        self.first[i] = kept;
        end
    }

    /// Ends what [`retain_from`](Self::retain_from) does.
    pub fn end_retain(&mut self, kept: usize) {
        self.moves.truncate(kept);
        self.first.iter_mut().rev().take(2).for_each(|end| *end = kept);
    }

    /// Keeps the parts up to cuts and those from cuts of which these say so, given the cut.
    pub fn retain_parts(&mut self, up_to: impl Fn(usize, &Part) -> bool, from: impl Fn(usize, &Part) -> bool) {
        self.up_to.iter_mut().enumerate().for_each(|(cut, parts)| parts.retain(|part| up_to(cut, part)));
        self.from.iter_mut().enumerate().for_each(|(cut, parts)| parts.retain(|part| from(cut, part)));
    }
}

/// A listing under way.
struct List<'a> {
    model: &'a Model<'a>,
    lattice: &'a Lattice,
    stride: usize,
    watch: Watch<'a>,
    left: usize,
}

impl List<'_> {
    fn of_class(&mut self, class: usize) -> Option<Moves> {
        let (model, lattice) = (self.model, self.lattice);
        let mut walk = Subgraphs::new(model, lattice);
        let cuts = &lattice.cuts;
        let mut moves =
            Moves { up_to: vec![Vec::new(); cuts.len()], from: vec![Vec::new(); cuts.len()], ..Moves::default() };
        for cut in 0..cuts.len() - 1 {
            for i in cuts[cut]..cuts[cut + 1] {
                moves.first.push(moves.moves.len());
                self.list(&mut moves, &mut walk, class, cut, i).continue_value()?;
            }
            if cut > 0 {
                self.list_from(&mut moves.from[cut], &mut walk, class, cut).continue_value()?;
            }
        }
        moves.first.extend([moves.moves.len(); 2]);
        Some(moves)
    }

    /// Lists what begins at ideal `i`, which is before the cut after `cut`.
    fn list(&mut self, moves: &mut Moves, walk: &mut Subgraphs, class: usize, cut: usize, i: usize) -> ControlFlow<()> {
        let costs = &self.model.classes[class];
        let (first, last) = (self.lattice.cuts[cut], self.lattice.cuts[cut + 1]);
        let stride = self.stride;
        let is_on_grid = |i: usize| i.is_multiple_of(stride) || i == first || i == last;
        if !is_on_grid(i) {
            return ControlFlow::Continue(());
        }
        let next_open = self.lattice.next_open(cut);
        walk.each_worthwhile(i, last, class, |subgraph| {
            if subgraph.is_whole && subgraph.is_worthwhile && is_on_grid(subgraph.ideal) {
                moves.moves.push(Move { to: subgraph.ideal as u32, duration: subgraph.duration });
                self.left = self.left.checked_sub(1).map_or(ControlFlow::Break(()), ControlFlow::Continue)?;
            }
            if subgraph.is_whole && Some(subgraph.ideal) == next_open {
                let time = costs.piece_of_compute().value(&Terms { comm_out: 0.0, ..subgraph.terms });
                moves.up_to[cut + 1].push(Part { ideal: i as u32, end: time, inside: time, memory: subgraph.memory });
            }
            self.watch.spend(VISIT)
        })
    }

    /// Lists what goes on from a cut.
    fn list_from(&mut self, parts: &mut Vec<Part>, walk: &mut Subgraphs, class: usize, cut: usize) -> ControlFlow<()> {
        let piece = self.model.classes[class].piece_of_compute();
        let cuts = &self.lattice.cuts;
        walk.each(cuts[cut], cuts[cut + 1], class, |subgraph| {
            if subgraph.is_whole {
                let terms = subgraph.terms_from_cut();
                let inside = piece.value(&Terms { comm_out: 0.0, ..terms });
                let ideal = subgraph.ideal as u32;
                parts.push(Part { ideal, end: piece.value(&terms), inside, memory: subgraph.memory });
            }
            self.watch.spend(VISIT)
        })
    }
}
