//! Ascents: the root's bound, raised by the bundle method along lines in steps towards the best split.

use super::covering::Verdict;
use super::proof::{Proof, refinements};
use super::root::{Reach, Resolution, Root};

/// How targets rise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ascent {
    cells: Resolution,
    /// The most rounds for each target.
    rounds: usize,
    /// The first step and the least one that is worth it, as parts of the bound.
    steps: [f64; 2],
    /// Within this part of the best split the bound is close to it.
    close: f64,
}

impl Ascent {
    /// The first one in rough cells, in rounds enough for targets that are easily refuted.
    pub const FIRST: Self =
        Self { cells: Resolution::ROUGH, rounds: FEW_ROUNDS, steps: [0.01, LEAST_STEP], close: CLOSE };

    /// The last one in rough cells, in as many rounds as it takes.
    const SECOND: Self = Self { rounds: usize::MAX, steps: [1.2e-3, LEAST_STEP], ..Self::FIRST };

    /// As far as cells show anything, where the linear program has had its turn.
    pub const TO_THE_END: [Self; 2] = [Self::FIRST.to_the_end(), Self::SECOND.to_the_end()];

    /// The first and the last one in these cells.
    pub const fn in_cells(cells: Resolution) -> [Self; 2] {
        [Self { cells, ..Self::FIRST }, Self { cells, ..Self::SECOND }]
    }

    const fn to_the_end(self) -> Self {
        let [first, _] = self.steps;
        Self { cells: Resolution::MIDDLE, steps: [first, LEAST_CLOSE_STEP], close: CLEARLY_OPEN, ..self }
    }
}

impl Proof<'_> {
    /// Raises the bound where pricing is quick. Where fine cells are many, that is done in rough ones first; where they are too
    /// many, these hide what is left, and the linear program looks more closely.
    pub fn ascend(&mut self, root: &mut Root) {
        let Some(upper) = self.race.objective() else { return };
        _ = match root.reach(upper) {
            Reach::None | Reach::Memory => false,
            Reach::Quick => self.ascend_by(&Ascent::in_cells(Resolution::FINE), root),
            Reach::Large => self.ascend_by(&Ascent::in_cells(Resolution::ROUGH), root),
            Reach::Rough => self.ascend_by(&[Ascent { close: ROUGHLY_CLOSE, ..Ascent::FIRST }], root),
        };
    }

    /// Ascends in several ways, one after another; whether it is worth it to go on. Steps get longer while they succeed: profits
    /// that hardly fail to refute a target far too high say little about others.
    pub fn ascend_by(&mut self, ascents: &[Ascent], root: &mut Root) -> bool {
        ascents.iter().all(|ascent| {
            let [mut step, least] = ascent.steps;
            while step >= least {
                let Some(upper) = self.race.objective() else { return false };
                let (bound, last) = (self.race.bound(), self.race.last_target(upper));
                if self.race.is_done() || self.race.is_within(ascent.close) {
                    return false;
                }
                let known = root.center.clone();
                match self.ascend_to(((bound * (1.0 + step)).min(last), last), ascent, root) {
                    None => return false,
                    Some(Verdict::Refuted) if self.race.bound() > bound => step *= 2.0,
                    Some(_) => {
                        root.center = known;
                        step /= 4.0;
                    }
                }
            }
            true
        })
    }

    /// Has the root refute a target, and raises the bound as far as the profits show, up to `last`. The split is improved
    /// beside it, in proportion to the effort of pricing.
    fn ascend_to(&mut self, (target, last): (f64, f64), ascent: &Ascent, root: &mut Root) -> Option<Verdict> {
        let (bound, cx) = (self.race.bound(), self.race.cx);
        let mut beside = refinements(&mut self.primal, bound, cx);
        let how = (ascent.cells, ascent.rounds);
        let (verdict, shown) = root.ascend((bound, target, last), how, &mut |sums| _ = beside(sums), cx)?;
        drop(beside);
        self.enter();
        self.refuted(shown);
        self.stats.set("root_bound", self.race.bound());
        self.report("column generation");
        Some(verdict)
    }
}

/// A bound this part below the best split is close to it, and the linear program's.
pub const CLOSE: f64 = 1e-3;

/// So far from it rough cells may hide that there is nothing left.
const ROUGHLY_CLOSE: f64 = 4e-3;

/// After the bundle method, exact pricing does not close a gap of this part.
pub const CLEARLY_OPEN: f64 = 2e-4;

/// The least step that is worth it, as a part of the bound, and where the linear program has had its turn.
const LEAST_STEP: f64 = 3e-4;
const LEAST_CLOSE_STEP: f64 = 1e-4;

/// Rounds for each target of the first ascent.
const FEW_ROUNDS: usize = 40;
