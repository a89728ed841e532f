//! What runs, when, and how much.
//!
//! A run is a race between mappings and bounds. The techniques of [`Row::OPENING`] run once, in this order. Then rounds
//! follow, each with more effort than the last: [`Row::PROVING`], [`Row::BETTERING`] over and over until that betters the
//! mapping little, and [`Row::CLOSING`].

use std::time::Instant;

use super::{BranchAndBound, Proof};
use crate::mapping::Counted;
use crate::search::Technique;

/// What betters the objective by less than this part is not worth doing again.
const LITTLE: f64 = 1e-3;

/// How many times the decisions of one round the next one takes.
const GROWTH: u64 = 4;

/// A technique.
pub(super) struct Row<const W: usize> {
    /// What figures call it, and whoever leaves it out.
    pub name: &'static str,
    when: When<W>,
    /// The effort it takes.
    effort: Effort,
    run: fn(&mut Proof<W>, u64),
}

/// How much a technique takes of a round's effort.
#[derive(Debug, Clone, Copy)]
enum Effort {
    /// So many times the decisions.
    Decisions(u64),
    /// All moves of annealing, or its share for each copy.
    Moves,
    MovesOfACopy,
    /// So many decisions in any round.
    Fixed(u64),
    /// As much as it needs.
    Any,
}

/// The moves and decisions of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub moves: u64,
    pub decisions: u64,
}

const fn row<const W: usize>(name: &'static str, when: When<W>, effort: Effort, run: fn(&mut Proof<W>, u64)) -> Row<W> {
    Row { name, when, effort, run }
}

impl<const W: usize> Row<W> {
    /// First bounds and mappings.
    const OPENING: &[Self] = &[
        row("ring-segments", When::BLOCKS_AND_ALL_REDUCE, Effort::Any, |proof, _| proof.cut_ring_segments()),
        row("bisection", When::ALWAYS, Effort::Fixed(0), |proof, effort| proof.bisect(effort, 1e-4)),
        row("link-classes", When::UNLIKE, Effort::Any, |proof, _| proof.bound_by_classes()),
        row("neighbours", When::SYMMETRIC, Effort::Any, |proof, _| proof.bound_by_neighbours()),
        row("tiling", When::ALWAYS, Effort::Any, |proof, _| proof.tile()),
        row("annealing", When::ALWAYS, Effort::Moves, |proof, effort| proof.anneal(effort)),
        row("settling", When::ALWAYS, Effort::Fixed(0), |proof, effort| proof.settle(effort)),
        row("orbits", When::LEVELS_AND_MESSAGES, Effort::Decisions(4), |proof, effort| proof.search_orbits(effort)),
        row("block-configuration", When::BLOCKS, Effort::Any, |proof, _| proof.start_configurations()),
        row("sliding-windows", When::WINDOWS, Effort::MovesOfACopy, |proof, effort| {
            proof.start_sliding_windows(effort)
        }),
        row("pipelines", When::BLOCKS_AND_MESSAGES, Effort::Decisions(160), |proof, effort| {
            proof.bound_by_pipelines(effort)
        }),
    ];

    /// Higher bounds, and mappings within targets.
    const PROVING: &[Self] = &[
        row("settling", When::ALWAYS, Effort::Decisions(1), |proof, effort| proof.settle_more(effort)),
        row("climbing", When::ALWAYS, Effort::Decisions(1), |proof, effort| proof.climb(effort)),
        row("reaching", When::LEVELS, Effort::Decisions(4), |proof, effort| proof.reach(effort)),
        row("exact-covers", When::LEVELS, Effort::Decisions(4), |proof, effort| proof.cover_with_rings(effort)),
        row("bisection", When::ALWAYS, Effort::Decisions(1), |proof, effort| proof.bisect(effort, 2e-3)),
        row("orbits", When::LEVELS_AND_MESSAGES, Effort::Decisions(4), |proof, effort| proof.search_orbits(effort)),
        row("block-configuration", When::BLOCKS, Effort::Decisions(1), |proof, effort| {
            proof.decide_rings(effort);
            proof.fill();
        }),
    ];

    /// Better mappings.
    const BETTERING: &[Self] = &[
        row("annealing", When::ALWAYS, Effort::Moves, |proof, effort| proof.anneal(effort)),
        row("sliding-windows", When::WINDOWS, Effort::MovesOfACopy, |proof, effort| proof.renew(effort)),
    ];

    /// What takes the effort of the next round already.
    const CLOSING: &[Self] = &[row("pipelines", When::BLOCKS_AND_MESSAGES, Effort::Decisions(160), |proof, effort| {
        proof.bound_by_pipelines(effort)
    })];

    pub(super) fn all() -> impl Iterator<Item = &'static Self> {
        [Self::OPENING, Self::PROVING, Self::BETTERING, Self::CLOSING].into_iter().flatten()
    }
}

/// When a technique can be of use.
struct When<const W: usize> {
    #[cfg_attr(not(test), expect(dead_code, reason = "docs/mapping.md shows it, which a test sees to"))]
    words: &'static str,
    holds: fn(&Proof<W>) -> bool,
}

impl<const W: usize> When<W> {
    const ALWAYS: Self = Self { words: "always", holds: |_| true };
    const BLOCKS: Self = Self { words: "blocks", holds: |proof| proof.has_blocks() };
    const WINDOWS: Self = Self { words: "blocks, messages alone", holds: |proof| proof.windows.is_some() };
    const BLOCKS_AND_MESSAGES: Self =
        Self { words: "blocks, messages", holds: |proof| proof.has_blocks() && proof.counted().messages() };
    const BLOCKS_AND_ALL_REDUCE: Self = Self {
        words: "blocks, all-reduce alone",
        holds: |proof| proof.has_blocks() && proof.counted() == Counted::AllReduce,
    };
    const LEVELS: Self = Self { words: "few kinds of links, no blocks", holds: |proof| proof.has_levels_alone() };
    const LEVELS_AND_MESSAGES: Self = Self {
        words: "few kinds of links, no blocks, messages",
        holds: |proof| proof.has_levels_alone() && proof.counted() != Counted::AllReduce,
    };
    const SYMMETRIC: Self =
        Self { words: "both directions of links alike", holds: |proof| proof.knowledge.model.form.symmetric };
    const UNLIKE: Self = Self { words: "links all differ", holds: |proof| proof.is_unlike() };
}

impl Effort {
    fn of(self, round: Round, copies: u64) -> u64 {
        match self {
            Effort::Decisions(share) => round.decisions.saturating_mul(share),
            Effort::Moves => round.moves,
            Effort::MovesOfACopy => round.moves / copies,
            Effort::Fixed(decisions) => decisions,
            Effort::Any => 0,
        }
    }
}

impl BranchAndBound {
    /// The techniques it has, by name, in the order they first run.
    pub fn techniques() -> Vec<&'static str> {
        let mut names = Vec::new();
        for row in Row::<1>::all() {
            if !names.contains(&row.name) {
                names.push(row.name);
            }
        }
        names
    }
}

impl<const W: usize> Proof<'_, W> {
    /// Runs the rows of the table until bound and mapping meet or a limit comes.
    pub(super) fn run(&mut self, mut round: Round) {
        self.run_all(Row::OPENING, round);
        while !self.is_done() {
            self.run_all(Row::PROVING, round);
            round = Round {
                moves: round.moves.saturating_mul(self.growth()),
                decisions: round.decisions.saturating_mul(GROWTH),
            };
            let mut before = f64::INFINITY;
            while self.objective() < before * (1.0 - LITTLE) && !self.is_done() {
                before = self.objective();
                self.run_all(Row::BETTERING, round);
            }
            self.run_all(Row::CLOSING, round);
        }
    }

    fn run_all(&mut self, rows: &[Row<W>], round: Round) {
        rows.iter().for_each(|row| self.run_one(row, round));
    }

    /// Runs one row where it can be of use, and keeps account of what it did.
    pub(super) fn run_one(&mut self, row: &Row<W>, round: Round) {
        if self.is_done() || self.without.contains(&row.name) || !(row.when.holds)(self) {
            return;
        }
        let (begun, decisions) = (Instant::now(), self.knowledge.nodes);
        let (objective, bound) = (self.objective(), self.bound());
        (row.run)(self, row.effort.of(round, self.knowledge.model.copies() as u64));
        let after = (self.objective(), self.bound(), self.knowledge.nodes);
        let account = self.account(row.name);
        account.calls += 1;
        account.seconds += begun.elapsed().as_secs_f64();
        account.decisions += after.2 - decisions;
        account.objective_lowered += objective - after.0;
        account.bound_raised += after.1 - bound;
    }

    fn account(&mut self, name: &'static str) -> &mut Technique {
        let known = self.techniques.iter().position(|technique| technique.name == name);
        let index = known.unwrap_or_else(|| {
            self.techniques.push(Technique::new(name));
            self.techniques.len() - 1
        });
        &mut self.techniques[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{Exhaustive, Mapper, samples};
    use crate::search::SearchContext;

    /// The rows as docs/mapping.md shows them.
    fn table() -> String {
        let parts = [
            ("opening", Row::<1>::OPENING),
            ("proving", Row::PROVING),
            ("bettering", Row::BETTERING),
            ("closing", Row::CLOSING),
        ];
        let mut table = "| part | technique | when | effort |\n|---|---|---|---|\n".to_owned();
        for (part, row) in parts.into_iter().flat_map(|(part, rows)| rows.iter().map(move |row| (part, row))) {
            let effort = match row.effort {
                Effort::Decisions(share) => format!("{share} × decisions"),
                Effort::Moves => "moves".into(),
                Effort::MovesOfACopy => "moves of a copy".into(),
                Effort::Fixed(0) => "propagation alone".into(),
                Effort::Fixed(decisions) => format!("{decisions} decisions"),
                Effort::Any => "as it needs".into(),
            };
            table += &format!("| {part} | `{}` | {} | {effort} |\n", row.name, row.when.words);
        }
        table
    }

    #[test]
    fn the_page_shows_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/mapping.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (begin, end) = ("<!-- portfolio: begin -->\n", "<!-- portfolio: end -->");
        let (before, rest) = page.split_once(begin).unwrap();
        let (_, after) = rest.split_once(end).unwrap();
        let wanted = format!("{before}{begin}{}{end}{after}", table());
        if std::env::var_os("DAGSPLIT_UPDATE").is_some() {
            std::fs::write(path, wanted).unwrap();
        } else {
            assert!(page == wanted, "run: DAGSPLIT_UPDATE=1 cargo test --lib portfolio");
        }
    }

    #[test]
    fn any_technique_can_be_left_out_and_the_optimum_is_found_all_the_same() {
        let cx = SearchContext::new();
        for (seed, without) in (0..).zip(BranchAndBound::techniques().into_iter().cycle().take(60)) {
            let problem = samples::problem(seed);
            let least = Exhaustive.map(&problem, &cx).outcome.solution().map(|mapping| problem.objective(mapping));
            let mapper = BranchAndBound { without: vec![without], ..BranchAndBound::default() };
            // Without the search that proves, nothing says that it is over.
            if ["settling", "climbing", "bisection"].contains(&without) {
                continue;
            }
            let run = mapper.map(&problem, &cx);
            let found = run.outcome.solution().map(|mapping| problem.objective(mapping));
            let is_same = match (found, least) {
                (Some(found), Some(least)) => (found - least).abs() <= 1e-9 * least,
                (found, least) => found == least,
            };
            assert!(is_same, "{found:?} for {least:?} without {without}, seed {seed}");
            assert!(run.stats.techniques.iter().all(|technique| technique.name != without && technique.calls > 0));
        }
    }
}
