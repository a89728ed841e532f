//! At which ideals a server can end, and which stages are within a target if it does.

use super::{Pairs, Stage};
use crate::solve::dp::loads::contains;
use crate::solve::dp::setting::Setting;

/// Of so many nets all sets are looked at; of more than these, all ends.
const FEW: usize = 8;

/// Ideals at which a server can end, and which nets each of them holds whole.
pub struct Block {
    /// The ideals, ascending.
    pub ends: Box<[usize]>,
    /// Words of a bit set over them.
    pub words: usize,
    /// For each net a row of bits by end.
    holds: Vec<u64>,
}

impl Block {
    /// The table of these ideals. O(ends · pins) time, ends · nets / 8 bytes.
    pub fn new(pairs: &Pairs, ends: Box<[usize]>) -> Self {
        let nets = &pairs.setting.reduced.nets;
        let words = ends.len().div_ceil(64);
        let mut holds = vec![0; words * nets.len()];
        for (i, &end) in ends.iter().enumerate() {
            let bits = pairs.lattice.bits(end);
            for (e, net) in nets.iter().enumerate() {
                let is_whole = net.pins.iter().all(|&p| contains(bits, p as usize));
                holds[e * words + i / 64] |= u64::from(is_whole) << (i % 64);
            }
        }
        Self { ends, words, holds }
    }

    /// The ends at which a net is whole.
    fn holding(&self, net: usize) -> &[u64] {
        &self.holds[net * self.words..][..self.words]
    }
}

/// What stages cost by where their server ends.
pub struct Rises<'a, 'b> {
    pairs: &'a Pairs<'b>,
    target: f64,
    block: &'a Block,
    /// The nets that cost more where the server ends below one of their pins.
    nets: Vec<usize>,
}

impl<'a, 'b> Rises<'a, 'b> {
    /// The prices within a target of the nets that `is_open` tells of: those that do not leave the server anyway.
    pub fn new(pairs: &'a Pairs<'b>, target: f64, block: &'a Block, is_open: impl Fn(usize) -> bool) -> Self {
        let between = &pairs.setting.reduced.between;
        let nets = (0..between.len()).filter(|&e| between[e] != 1.0 && is_open(e)).collect();
        Self { pairs, target, block, nets }
    }

    /// The place among the ends of where a stage ends, if its server can end there, too.
    pub fn closes(&self, stage: &Stage) -> Option<usize> {
        let place = self.block.ends.binary_search(&stage.to).ok()?;
        self.is_within(stage, self.above(stage)).then_some(place)
    }

    /// The ends at which a stage is within the target; `None` where that is all of them.
    pub fn ends(&self, stage: &Stage) -> Option<Vec<u64>> {
        if self.is_within(stage, self.above(stage)) {
            return None;
        }
        let mut ends = vec![u64::MAX; self.block.words];
        let is_dear = |e: &usize| !self.is_within(stage, std::iter::once(*e));
        let (dear, some): (Vec<usize>, Vec<usize>) = self.above(stage).partition(is_dear);
        for e in dear {
            ends.iter_mut().zip(self.block.holding(e)).for_each(|(ends, holding)| *ends &= holding);
        }
        if !self.is_within(stage, some.iter().copied()) {
            if some.len() <= FEW {
                let all = ends.clone();
                self.bar(stage, (&some, &mut Vec::new()), &all, &mut ends);
            } else {
                self.bar_each(stage, &some, &mut ends);
            }
        }
        Some(ends)
    }

    /// Takes out of `ends` those that leave nets above the server which are too dear together: all of `cut`, which the ends
    /// `leaving` do, and some of `nets`.
    fn bar(&self, stage: &Stage, (nets, cut): (&[usize], &mut Vec<usize>), leaving: &[u64], ends: &mut [u64]) {
        if !self.is_within(stage, cut.iter().copied()) {
            ends.iter_mut().zip(leaving).for_each(|(ends, leaving)| *ends &= !leaving);
            return;
        }
        for (i, &e) in nets.iter().enumerate() {
            let leaving: Vec<u64> =
                leaving.iter().zip(self.block.holding(e)).map(|(all, holding)| all & !holding).collect();
            if leaving.iter().zip(&*ends).any(|(leaving, ends)| leaving & ends != 0) {
                cut.push(e);
                self.bar(stage, (&nets[i + 1..], cut), &leaving, ends);
                cut.pop();
            }
        }
    }

    /// The same, end by end.
    fn bar_each(&self, stage: &Stage, nets: &[usize], ends: &mut [u64]) {
        for i in 0..self.block.ends.len() {
            let cut = nets.iter().copied().filter(|&e| !contains(self.block.holding(e), i));
            if contains(ends, i) && !self.is_within(stage, cut) {
                ends[i / 64] &= !(1 << (i % 64));
            }
        }
    }

    /// The nets of a stage that cost more if its server ends with it.
    fn above<'s>(&'s self, stage: &'s Stage) -> impl Iterator<Item = usize> + 's {
        let nets = &self.pairs.setting.reduced.nets;
        self.nets.iter().copied().filter(|&e| stage.rises(e, &nets[e]))
    }

    /// Whether a stage is within the target if these nets leave its server above it.
    fn is_within(&self, stage: &Stage, above: impl Iterator<Item = usize>) -> bool {
        let Setting { loads, stages, .. } = self.pairs.setting;
        stage.objective_with(loads, stages[stage.kind], above) <= self.target
    }
}
