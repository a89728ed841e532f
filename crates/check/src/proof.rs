//! Proof files: a question, and reasons why no split is better than claimed.

use std::collections::BTreeSet;

use crate::cases::{self, Decision};
use crate::decimal::sum;
use crate::instance::Instance;
use crate::json::{self, Object, Value};
use crate::problem::Problem;
use crate::profits::{self, Earning};
use crate::question::{Question, hash};
use crate::work::Work;
use crate::{Error, crowd, ideals};

/// Checks all lines of a proof, and returns the question whose claim it proves; else the line that is wrong first, and why.
pub fn check(instance_text: &str, proof_text: &str) -> Result<(Instance, Question), Error> {
    let instance = Instance::parse(instance_text).map_err(Error::file("instance"))?;
    let mut lines = proof_text.lines().zip(1..);
    let (first, _) = lines.next().ok_or_else(|| Error::unreadable(1, "the file is empty"))?;
    let question = Question::parse(first).map_err(|cause| Error::unreadable(1, cause))?;
    let found = hash(instance_text.as_bytes());
    if question.instance != found {
        return Err(Error::refused(1, format!("it is about an instance of hash {}, not {found}", question.instance)));
    }
    let problem = Problem::new(&instance, &question).map_err(|cause| Error::refused(1, cause))?;
    let mut refuted = BTreeSet::new();
    let mut last = 1;
    for (text, line) in lines {
        let reason = Reason::parse(text, &problem).map_err(|cause| Error::unreadable(line, cause))?;
        reason.check(&instance, &question, &problem).map_err(|cause| Error::refused(line, cause))?;
        refuted.insert(reason.under);
        last = line;
    }
    match cases::are_complete(refuted) {
        Ok(()) => Ok((instance, question)),
        Err(missing) if missing.is_empty() => Err(Error::refused(last, "no reason is given")),
        Err(missing) => Err(Error::refused(last, format!("no reason is given for the case {missing:?}"))),
    }
}

/// A line: why no split of a case is within the target.
struct Reason {
    under: Vec<Decision>,
    kind: ReasonKind,
}

enum ReasonKind {
    Work { weights: Vec<i128> },
    Crowd { units: Vec<usize>, most: Vec<usize> },
    Ideals { weights: Vec<i128> },
    Profits { of_units: Vec<i128>, earnings: Vec<Earning> },
}

impl Reason {
    fn parse(text: &str, problem: &Problem) -> Result<Self, String> {
        let name = Object::parse(text)?.get("reason", json::text)?;
        let fields: &[&str] = match name.as_str() {
            "work" | "ideals" => &["weights"],
            "crowd" => &["nodes", "most"],
            "profits" => &["profits", "kinds"],
            other => return Err(format!("there is no reason {other:?}; known are work, crowd, ideals and profits")),
        };
        let line = Object::of_fields(text, &[&["reason", "under"], fields].concat())?;
        let under = line.optional("under", json::list(|case| Decision::parse(case, problem)))?;
        let numbers = |field| line.get(field, json::list(json::whole));
        let kind = match name.as_str() {
            "work" => ReasonKind::Work { weights: numbers("weights")? },
            "ideals" => ReasonKind::Ideals { weights: numbers("weights")? },
            "crowd" => ReasonKind::Crowd {
                units: line.get("nodes", json::list(|node| problem.unit(json::whole(node)?)))?,
                most: line.get("most", json::list(json::whole))?,
            },
            _ => ReasonKind::Profits {
                of_units: of_units(problem, &numbers("profits")?)?,
                earnings: line.get("kinds", json::list(earning))?,
            },
        };
        Ok(Self { under: under.unwrap_or_default(), kind })
    }

    fn check(&self, instance: &Instance, question: &Question, problem: &Problem) -> Result<(), String> {
        match &self.kind {
            ReasonKind::Work { weights } => Work::new(problem, weights)?.refutes(problem),
            ReasonKind::Crowd { units, most } => crowd::refutes(problem, units, most),
            ReasonKind::Ideals { weights } => ideals::refutes(problem, (instance, question), weights),
            ReasonKind::Profits { of_units, earnings } => profits::refutes(problem, of_units, earnings, &self.under),
        }
    }
}

/// The profit of each unit: what its nodes have together.
fn of_units(problem: &Problem, of_nodes: &[i128]) -> Result<Vec<i128>, String> {
    if of_nodes.len() != problem.order.unit_of.len() {
        return Err(format!("there have to be {} profits", problem.order.unit_of.len()));
    }
    let mut of_units = vec![0; problem.order.units];
    for (&profit, &unit) in of_nodes.iter().zip(&problem.order.unit_of) {
        of_units[unit] = sum([of_units[unit], profit])?;
    }
    Ok(of_units)
}

fn earning(value: Value) -> Result<Earning, String> {
    let kind = Object::of_fields(value.get(), &["weights", "price", "most"])?;
    Ok(Earning {
        weights: kind.get("weights", json::list(json::whole))?,
        price: kind.get("price", json::array(json::whole))?,
        most: kind.get("most", json::whole)?,
    })
}
