//! Our figures beside the published ones.

use std::cmp::Ordering;

use serde::Serialize;

use super::{Figure, Plan, Published, Quantity};
use crate::registry;
use crate::report::comparison::{Record, Status};
use crate::solve::Guarantee;

/// What became of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ran {
    /// It ran.
    Record(Box<Record>),
    /// Its method is not available, for this reason.
    Unavailable(String),
    /// The program whose answer it values has refused, for this reason.
    Refused(String),
    /// Its workload is not at hand; this is where it comes from.
    Missing(String),
    /// It was not asked for, or Ctrl-C came before it.
    Skipped,
}

impl Ran {
    fn objective(&self) -> Option<f64> {
        self.record().and_then(|record| record.ending.objective)
    }

    fn seconds(&self) -> Option<f64> {
        self.record().filter(|record| record.ending.objective.is_some()).and_then(|record| record.ending.seconds)
    }

    fn stat(&self, name: &str) -> Option<f64> {
        self.record().and_then(|record| record.ending.stats.get(name).copied())
    }

    fn record(&self) -> Option<&Record> {
        if let Self::Record(record) = self { Some(record) } else { None }
    }

    fn bound(&self) -> Option<f64> {
        self.record().and_then(|record| record.ending.lower_bound)
    }

    /// Whether its split is proven optimal.
    fn is_proven(&self) -> bool {
        self.record().is_some_and(|record| record.ending.status.is_proven())
    }

    /// Whether the checker has accepted a proof of that.
    fn is_certified(&self) -> bool {
        self.record().is_some_and(|record| record.ending.status == Status::Certified)
    }

    /// Whether it is an exact method's that had to stop before its proof.
    fn is_stopped(&self) -> bool {
        let is_exact = |spec: &str| registry::solver(spec).is_ok_and(|solver| solver.guarantee() == Guarantee::Exact);
        self.record().is_some_and(|record| !self.is_proven() && is_exact(&record.trial.method))
    }

    /// Why there is no figure.
    fn reason(&self) -> Option<String> {
        match self {
            Self::Record(record) => {
                let (ending, method) = (&record.ending, &record.trial.method);
                let message = ending.message.clone().unwrap_or_else(|| "it found no split".into());
                let why = match message.split_once(": the split does not count: ") {
                    Some((_, why)) => format!("the split does not count: {why}"),
                    None => format!("{method}: {}: {message}", ending.status.name()),
                };
                ending.objective.is_none().then_some(why)
            }
            Self::Unavailable(reason) => Some(format!("not available: {reason}")),
            Self::Refused(reason) => Some(format!("refused: {reason}")),
            Self::Missing(place) => Some(format!("not at hand: {place}")),
            Self::Skipped => Some("not run".into()),
        }
    }
}

/// How our figure stands to the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// To the printed digit, or as claimed.
    Agrees,
    /// Within the tolerance.
    Close,
    /// The published one is below what is proven to be the least.
    BelowBound,
    /// Below it.
    Lower,
    /// Above it.
    Higher,
    /// A claim does not hold, or of what is compared another one is ahead, or none.
    ShapeNotReproduced,
    /// One of the two is not there.
    Incomparable,
}

impl Verdict {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Close => "close",
            Self::BelowBound => "below-bound",
            Self::Lower => "lower",
            Self::Higher => "higher",
            Self::ShapeNotReproduced => "shape-not-reproduced",
            Self::Incomparable => "incomparable",
        }
    }
}

/// A figure of ours, the published one, and the distance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Its row.
    pub row: String,
    /// Its column.
    pub column: String,
    /// Ours.
    pub ours: Option<f64>,
    /// Whether ours is the objective of a split that is proven optimal.
    pub is_proven: bool,
    /// Whether the checker has accepted a proof of that.
    pub is_certified: bool,
    /// The published one, where it is a number.
    pub published: Option<f64>,
    /// What its last printed digit counts.
    pub digit: Option<f64>,
    /// Whether the published number is a least value.
    pub is_least: bool,
    /// (ours − published) / published.
    pub deviation: Option<f64>,
    /// The largest deviation that is called close.
    pub tolerance: Option<f64>,
    /// The least of what ours is the median of, where it is one.
    pub least: Option<f64>,
    /// The largest of it.
    pub most: Option<f64>,
    /// How they stand.
    pub verdict: Verdict,
    /// Why ours is not there, or is not the same.
    pub reason: Option<String>,
}

/// The figures of a plan whose runs went as `ran` says.
pub fn outcomes(plan: &Plan, ran: &[Ran]) -> Vec<Outcome> {
    plan.figures.iter().map(|figure| outcome(figure, ran)).collect()
}

fn outcome(figure: &Figure, ran: &[Ran]) -> Outcome {
    let ours = value(&figure.quantity, ran);
    let spread = spread(&figure.quantity, ran);
    let (published, digit, tolerance) = match figure.published {
        Published::Value { value, digit, tolerance } => (Some(value), Some(digit), Some(tolerance / value)),
        Published::AtLeast(value) => (Some(value), None, None),
        Published::Nothing => (None, None, None),
    };
    let is_least = matches!(figure.published, Published::AtLeast(_));
    let bound = if let Quantity::Objective(run) = figure.quantity { ran[run].bound() } else { None };
    let verdict = ours.map_or(Verdict::Incomparable, |ours| judged(ours, (bound, spread), figure));
    let run = match figure.quantity {
        Quantity::Objective(run) | Quantity::Rate(run) => Some(&ran[run]),
        _ => None,
    };
    let because = figure.because.filter(|_| figure.published != Published::Nothing);
    let stopped = run.is_some_and(Ran::is_stopped).then_some("ours is not proven optimal: it ran into its limit");
    let reason = match (ours, verdict) {
        (None, _) => missing(&figure.quantity, ran),
        (_, Verdict::Agrees) => None,
        (_, Verdict::BelowBound) => {
            bound.map(|bound| format!("below what is proven: no split has less than {bound:.4}"))
        }
        _ => {
            let why: Vec<&str> = because.into_iter().chain(stopped).collect();
            (!why.is_empty()).then(|| why.join("; "))
        }
    };
    let deviation =
        ours.zip(published.filter(|value| *value > 0.0 && !is_least)).map(|(ours, value)| ours / value - 1.0);
    Outcome {
        row: figure.row.clone(),
        column: figure.column.clone(),
        ours,
        is_proven: run.is_some_and(Ran::is_proven),
        is_certified: run.is_some_and(Ran::is_certified),
        published,
        digit,
        is_least,
        deviation,
        tolerance,
        least: spread.map(|[least, _]| least),
        most: spread.map(|[_, most]| most),
        verdict,
        reason,
    }
}

fn value(quantity: &Quantity, ran: &[Ran]) -> Option<f64> {
    let ratio = |a: Option<f64>, b: Option<f64>| Some(a? / b.filter(|b| *b > 0.0)?);
    match *quantity {
        Quantity::Objective(run) => ran[run].objective(),
        Quantity::Rate(run) => ratio(Some(1.0), ran[run].objective()),
        Quantity::Seconds(run) => ran[run].seconds(),
        Quantity::Nodes(run) => ran[run].record().map(|record| record.trial.instance.nodes as f64),
        Quantity::Stat(name, run) => ran[run].stat(name),
        Quantity::ObjectiveRatio(a, b) => ratio(ran[a].objective(), ran[b].objective()),
        Quantity::SecondsRatio(a, b) => ratio(ran[a].seconds(), ran[b].seconds()),
        Quantity::StatRatio(name, a, b) => ratio(ran[a].stat(name), ran[b].stat(name)),
        Quantity::ObjectiveRatios(ref pairs) => ratios(pairs, ran).map(|ratios| {
            let half = ratios.len() / 2;
            if ratios.len() % 2 == 1 { ratios[half] } else { f64::midpoint(ratios[half - 1], ratios[half]) }
        }),
    }
}

/// The ratios of the objectives of these pairs, ascending, if all are there.
fn ratios(pairs: &[[usize; 2]], ran: &[Ran]) -> Option<Vec<f64>> {
    let ratio = |&[a, b]: &[usize; 2]| value(&Quantity::ObjectiveRatio(a, b), ran);
    let mut ratios = pairs.iter().map(ratio).collect::<Option<Vec<_>>>().filter(|ratios| !ratios.is_empty())?;
    ratios.sort_by(f64::total_cmp);
    Some(ratios)
}

/// The least and the largest of what the figure is the median of.
fn spread(quantity: &Quantity, ran: &[Ran]) -> Option<[f64; 2]> {
    let Quantity::ObjectiveRatios(pairs) = quantity else { return None };
    let ratios = ratios(pairs, ran)?;
    Some([*ratios.first()?, *ratios.last()?])
}

fn missing(quantity: &Quantity, ran: &[Ran]) -> Option<String> {
    quantity.runs().into_iter().find_map(|run| ran[run].reason())
}

/// How `ours` stands to what is published, where no split has an objective below `bound`, and chance gives what the spread
/// holds.
fn judged(ours: f64, (bound, spread): (Option<f64>, Option<[f64; 2]>), figure: &Figure) -> Verdict {
    let (value, digit, tolerance) = match figure.published {
        Published::Value { value, digit, tolerance } => (value, digit, tolerance),
        Published::AtLeast(least) if ours < least * (1.0 - 1e-9) => return Verdict::ShapeNotReproduced,
        Published::AtLeast(_) => return Verdict::Agrees,
        Published::Nothing => return Verdict::Incomparable,
    };
    let (distance, half) = ((ours - value).abs(), 0.5 * digit * (1.0 + 1e-9));
    match ours.total_cmp(&value) {
        _ if distance <= half => Verdict::Agrees,
        _ if bound.is_some_and(|bound| value + half < bound) => Verdict::BelowBound,
        _ if distance <= tolerance => Verdict::Close,
        _ if spread.is_some_and(|[least, most]| least - half <= value && value <= most + half) => Verdict::Close,
        _ if figure.quantity.is_ratio() && is_other_shape(ours, value, tolerance / value) => {
            Verdict::ShapeNotReproduced
        }
        Ordering::Less => Verdict::Lower,
        _ => Verdict::Higher,
    }
}

/// Whether one side of a published ratio is ahead by more than this part, and of ours it is not.
fn is_other_shape(ours: f64, published: f64, part: f64) -> bool {
    let ahead = |ratio: f64| ((ratio - 1.0).abs() > part * (1.0 - 1e-9)).then(|| ratio.total_cmp(&1.0));
    ahead(published).is_some_and(|side| ahead(ours) != Some(side))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::comparison::tests::record;

    fn figure(quantity: Quantity, published: Published) -> Figure {
        Figure { row: "r".into(), column: "c".into(), quantity, published, because: Some("chance") }
    }

    fn ran(objective: f64) -> Ran {
        Ran::Record(Box::new(record("dpl", Some(objective))))
    }

    #[test]
    fn the_tolerance_decides_between_agreement_and_a_reason() {
        let runs = [ran(27.925), ran(30.0)];
        let of = |run, published| outcome(&figure(Quantity::Objective(run), published), &runs);
        let same = of(0, Published::printed(27.92, 0.01));
        assert_eq!((same.verdict, same.reason.as_deref()), (Verdict::Agrees, None));
        let higher = of(1, Published::printed(27.92, 0.01));
        assert_eq!((higher.verdict, higher.reason.as_deref()), (Verdict::Higher, Some("chance")));
        assert!((higher.deviation.unwrap() - 2.08 / 27.92).abs() < 1e-12);
        let close = of(1, Published::within(27.92, 0.1));
        assert_eq!((close.verdict, close.reason.as_deref()), (Verdict::Close, Some("chance")));
        assert!(!higher.is_proven);
        assert_eq!(of(1, Published::Nothing).verdict, Verdict::Incomparable);
    }

    #[test]
    fn a_stopped_proof_is_told_and_a_finished_one_marked() {
        let mut proven = record("dp", Some(30.0));
        proven.ending.status = Status::Optimal;
        let runs = [record("dp", Some(30.0)), proven, record("dpl", Some(30.0))];
        let runs = runs.map(|record| Ran::Record(Box::new(record)));
        let of = |run| outcome(&figure(Quantity::Objective(run), Published::printed(27.92, 0.01)), &runs);
        assert!(!of(0).is_proven && of(0).reason.is_some_and(|reason| reason.contains("limit")));
        assert!(of(1).is_proven && !of(1).is_certified && of(1).reason.is_some_and(|reason| !reason.contains("limit")));
        assert!(!of(2).is_proven && of(2).reason.is_some_and(|reason| !reason.contains("limit")), "a heuristic's");
    }

    #[test]
    fn what_is_printed_below_a_proven_bound_is_said_to_be() {
        let mut proven = record("certify", Some(130.0381));
        proven.ending.lower_bound = Some(130.0381);
        let runs = [Ran::Record(Box::new(proven))];
        let of = |value| outcome(&figure(Quantity::Objective(0), Published::printed(value, 0.01)), &runs);
        assert_eq!(of(130.04).verdict, Verdict::Agrees);
        let cut = of(130.03);
        assert_eq!(cut.verdict, Verdict::BelowBound);
        assert_eq!(cut.reason.as_deref(), Some("below what is proven: no split has less than 130.0381"));
        assert_eq!(of(140.0).verdict, Verdict::Lower, "a bound says nothing of what is above it");
    }

    #[test]
    fn a_shape_is_who_is_ahead() {
        let runs = [ran(30.0), ran(20.0), ran(20.5)];
        let of = |a, b, value| {
            outcome(&figure(Quantity::ObjectiveRatio(a, b), Published::within(value, 0.1)), &runs).verdict
        };
        let same = [of(0, 1, 1.5), of(0, 1, 1.4), of(0, 1, 5.6), of(0, 1, 1.2), of(0, 1, 1.0)];
        assert_eq!(same, [Verdict::Agrees, Verdict::Close, Verdict::Lower, Verdict::Higher, Verdict::Higher]);
        assert_eq!([of(1, 0, 1.2), of(2, 1, 1.5)], [Verdict::ShapeNotReproduced; 2]);
        let claimed = |least| outcome(&figure(Quantity::ObjectiveRatio(0, 1), Published::AtLeast(least)), &runs);
        assert_eq!((claimed(1.5).verdict, claimed(2.0).verdict), (Verdict::Agrees, Verdict::ShapeNotReproduced));
    }

    #[test]
    fn of_several_draws_the_median_counts_and_the_spread_is_what_chance_explains() {
        let runs = [ran(30.0), ran(20.0), ran(10.0), ran(60.0), Ran::Skipped];
        let of = |pairs: &[[usize; 2]], value| {
            outcome(&figure(Quantity::ObjectiveRatios(pairs.to_vec()), Published::speed_up(value)), &runs)
        };
        // 1.5, 3 and 6.
        let three = [[0, 1], [0, 2], [3, 2]];
        let verdicts = [3.0, 1.5, 6.0, 1.3, 7.0, 0.5].map(|value| of(&three, value).verdict);
        let close = Verdict::Close;
        assert_eq!(
            verdicts,
            [Verdict::Agrees, close, close, Verdict::Higher, Verdict::Lower, Verdict::ShapeNotReproduced]
        );
        let agreed = of(&three, 3.0);
        assert_eq!([agreed.ours, agreed.least, agreed.most], [Some(3.0), Some(1.5), Some(6.0)]);
        assert_eq!(of(&three[..2], 3.0).ours, Some(2.25), "of two the middle");
        let missing = of(&[[0, 1], [0, 4]], 3.0);
        assert_eq!((missing.ours, missing.reason.as_deref()), (None, Some("not run")));
    }

    #[test]
    fn ratios_are_speed_ups_and_claims_are_least_values() {
        let runs = [ran(30.0), ran(20.0)];
        let of = |a, b| outcome(&figure(Quantity::ObjectiveRatio(a, b), Published::AtLeast(1.0)), &runs);
        assert_eq!((of(0, 1).ours, of(0, 1).verdict), (Some(1.5), Verdict::Agrees));
        assert_eq!((of(1, 0).verdict, of(1, 0).deviation), (Verdict::ShapeNotReproduced, None));
    }

    #[test]
    fn what_is_missing_says_why() {
        let runs = [ran(30.0), Ran::Missing("w.json".into()), Ran::Record(Box::new(record("dp", None)))];
        let of = |quantity| outcome(&figure(quantity, Published::printed(1.0, 0.01)), &runs);
        let missing = of(Quantity::ObjectiveRatio(0, 1));
        assert_eq!((missing.ours, missing.verdict), (None, Verdict::Incomparable));
        assert_eq!(missing.reason.as_deref(), Some("not at hand: w.json"));
        assert_eq!(of(Quantity::Objective(2)).reason.as_deref(), Some("dp: crashed: signal 6"));
    }
}
