//! Our figures beside the published ones.

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
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Within the tolerance, or as claimed.
    Agrees,
    /// Below it.
    Lower,
    /// Above it.
    Higher,
    /// One of the two is not there.
    Incomparable,
}

impl Verdict {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Lower => "lower",
            Self::Higher => "higher",
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
    /// Whether the published number is a least value.
    pub is_least: bool,
    /// (ours − published) / published.
    pub deviation: Option<f64>,
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
    let ours = value(figure.quantity, ran);
    let (published, is_least) = match figure.published {
        Published::Value { value, .. } => (Some(value), false),
        Published::AtLeast(value) => (Some(value), true),
        Published::Nothing => (None, false),
    };
    let verdict = ours.map_or(Verdict::Incomparable, |ours| judged(ours, figure.published));
    let run = match figure.quantity {
        Quantity::Objective(run) | Quantity::Rate(run) => Some(&ran[run]),
        _ => None,
    };
    let because = figure.because.filter(|_| figure.published != Published::Nothing);
    let stopped = run.is_some_and(Ran::is_stopped).then_some("ours is not proven optimal: it ran into its limit");
    let reason = match (ours, verdict) {
        (None, _) => missing(figure.quantity, ran),
        (_, Verdict::Agrees) => None,
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
        is_least,
        deviation,
        verdict,
        reason,
    }
}

fn value(quantity: Quantity, ran: &[Ran]) -> Option<f64> {
    let ratio = |a: Option<f64>, b: Option<f64>| Some(a? / b.filter(|b| *b > 0.0)?);
    match quantity {
        Quantity::Objective(run) => ran[run].objective(),
        Quantity::Rate(run) => ratio(Some(1.0), ran[run].objective()),
        Quantity::Seconds(run) => ran[run].seconds(),
        Quantity::ObjectiveRatio(a, b) => ratio(ran[a].objective(), ran[b].objective()),
        Quantity::SecondsRatio(a, b) => ratio(ran[a].seconds(), ran[b].seconds()),
        Quantity::StatRatio(name, a, b) => ratio(ran[a].stat(name), ran[b].stat(name)),
    }
}

fn missing(quantity: Quantity, ran: &[Ran]) -> Option<String> {
    match quantity {
        Quantity::Objective(run) | Quantity::Rate(run) | Quantity::Seconds(run) => ran[run].reason(),
        Quantity::ObjectiveRatio(a, b) | Quantity::SecondsRatio(a, b) | Quantity::StatRatio(_, a, b) => {
            ran[a].reason().or_else(|| ran[b].reason())
        }
    }
}

fn judged(ours: f64, published: Published) -> Verdict {
    match published {
        Published::Value { value, tolerance } if (ours - value).abs() <= tolerance => Verdict::Agrees,
        Published::Value { value, .. } => {
            if ours < value {
                Verdict::Lower
            } else {
                Verdict::Higher
            }
        }
        Published::AtLeast(least) if ours < least => Verdict::Lower,
        Published::AtLeast(_) => Verdict::Agrees,
        Published::Nothing => Verdict::Incomparable,
    }
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
        let same = of(0, Published::printed(27.92));
        assert_eq!((same.verdict, same.reason.as_deref()), (Verdict::Agrees, None));
        let higher = of(1, Published::printed(27.92));
        assert_eq!((higher.verdict, higher.reason.as_deref()), (Verdict::Higher, Some("chance")));
        assert!((higher.deviation.unwrap() - 2.08 / 27.92).abs() < 1e-12);
        assert_eq!(of(1, Published::within(27.92, 0.1)).verdict, Verdict::Agrees);
        assert!(!higher.is_proven);
        assert_eq!(of(1, Published::Nothing).verdict, Verdict::Incomparable);
    }

    #[test]
    fn a_stopped_proof_is_told_and_a_finished_one_marked() {
        let mut proven = record("dp", Some(30.0));
        proven.ending.status = Status::Optimal;
        let runs = [record("dp", Some(30.0)), proven, record("dpl", Some(30.0))];
        let runs = runs.map(|record| Ran::Record(Box::new(record)));
        let of = |run| outcome(&figure(Quantity::Objective(run), Published::printed(27.92)), &runs);
        assert!(!of(0).is_proven && of(0).reason.is_some_and(|reason| reason.contains("limit")));
        assert!(of(1).is_proven && !of(1).is_certified && of(1).reason.is_some_and(|reason| !reason.contains("limit")));
        assert!(!of(2).is_proven && of(2).reason.is_some_and(|reason| !reason.contains("limit")), "a heuristic's");
    }

    #[test]
    fn ratios_are_speed_ups_and_claims_are_least_values() {
        let runs = [ran(30.0), ran(20.0)];
        let of = |a, b| outcome(&figure(Quantity::ObjectiveRatio(a, b), Published::AtLeast(1.0)), &runs);
        assert_eq!((of(0, 1).ours, of(0, 1).verdict), (Some(1.5), Verdict::Agrees));
        assert_eq!((of(1, 0).verdict, of(1, 0).deviation), (Verdict::Lower, None));
    }

    #[test]
    fn what_is_missing_says_why() {
        let runs = [ran(30.0), Ran::Missing("w.json".into()), Ran::Record(Box::new(record("dp", None)))];
        let of = |quantity| outcome(&figure(quantity, Published::printed(1.0)), &runs);
        let missing = of(Quantity::ObjectiveRatio(0, 1));
        assert_eq!((missing.ours, missing.verdict), (None, Verdict::Incomparable));
        assert_eq!(missing.reason.as_deref(), Some("not at hand: w.json"));
        assert_eq!(of(Quantity::Objective(2)).reason.as_deref(), Some("dp: crashed: signal 6"));
    }
}
