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

/// A reason: the number of its line, the device in whose scenario it holds where the proof is about stability, and the line.
type Line<'a> = (usize, Option<usize>, &'a str);

/// Checks all lines of a proof, or those of one device where it is about stability, and returns the question whose claim
/// it proves; else the line that is wrong first, and why.
pub fn check(instance_text: &str, proof_text: &str, only: Option<usize>) -> Result<(Instance, Question), Error> {
    let instance = Instance::parse(instance_text).map_err(Error::file("instance"))?;
    let mut lines = proof_text.lines().zip(1..);
    let (first, _) = lines.next().ok_or_else(|| Error::unreadable(1, "the file is empty"))?;
    let question = Question::parse(first).map_err(|cause| Error::unreadable(1, cause))?;
    let found = hash(instance_text.as_bytes());
    if question.instance != found {
        return Err(Error::refused(1, format!("it is about an instance of hash {}, not {found}", question.instance)));
    }
    let devices = question.stability.as_ref().map(|stability| stability.devices.len());
    let line = |(text, line)| device(text, devices).map(|d| (line, d, text)).map_err(|e| Error::unreadable(line, e));
    let lines = lines.map(line).collect::<Result<Vec<Line>, Error>>()?;
    let Some(stability) = &question.stability else {
        check_claim(&instance, &question, &lines)?;
        return Ok((instance, question));
    };
    stability.check(&instance, &question).map_err(|cause| Error::refused(1, cause))?;
    for device in (0..stability.devices.len()).filter(|&device| only.is_none_or(|only| only == device)) {
        let scenario = stability.scenario(&instance, &question, device);
        let (scenario, load) = scenario.map_err(|cause| Error::refused(1, cause))?;
        let best = Question { claim: load - question.claim, ..question.clone() };
        let lines: Vec<Line> = lines.iter().filter(|(_, of, _)| *of == Some(device)).copied().collect();
        if best.claim > 0 {
            check_claim(&scenario, &best, &lines)?;
        }
    }
    Ok((instance, question))
}

/// The device that a line names: one of as many as there are, and none where there are none.
fn device(text: &str, devices: Option<usize>) -> Result<Option<usize>, String> {
    match (Object::parse(text)?.optional("device", json::whole)?, devices) {
        (None, None) => Ok(None),
        (Some(device), Some(devices)) if device < devices => Ok(Some(device)),
        _ => Err("a line names one of the devices of the first line, where that has some".into()),
    }
}

/// Whether these lines show that no split is below the claim.
fn check_claim(instance: &Instance, question: &Question, lines: &[Line]) -> Result<(), Error> {
    let problem = Problem::new(instance, question).map_err(|cause| Error::refused(1, cause))?;
    let (mut refuted, mut last) = (BTreeSet::new(), 1);
    for &(line, _, text) in lines {
        let (under, reason) = reason(text, &problem).map_err(|cause| Error::unreadable(line, cause))?;
        let result = match reason {
            Reason::Work { weights } => Work::new(&problem, &weights).and_then(|work| work.refutes(&problem)),
            Reason::Crowd { units, most } => crowd::refutes(&problem, &units, &most),
            Reason::Ideals { weights } => ideals::refutes(&problem, (instance, question), &weights),
            Reason::Profits { of_units, earnings } => profits::refutes(&problem, &of_units, &earnings, &under),
        };
        result.map_err(|cause| Error::refused(line, cause))?;
        refuted.insert(under);
        last = line;
    }
    cases::are_complete(refuted).map_err(|missing| match missing.is_empty() {
        true => Error::refused(last, "no reason is given"),
        false => Error::refused(last, format!("no reason is given for the case {missing:?}")),
    })
}

/// Why no split of a case is within the target.
enum Reason {
    Work { weights: Vec<i128> },
    Crowd { units: Vec<usize>, most: Vec<usize> },
    Ideals { weights: Vec<i128> },
    Profits { of_units: Vec<i128>, earnings: Vec<Earning> },
}

/// Reads a line: the decisions of its case, and the reason.
fn reason(text: &str, problem: &Problem) -> Result<(Vec<Decision>, Reason), String> {
    let name = Object::parse(text)?.get("reason", json::text)?;
    let fields: &[&str] = match name.as_str() {
        "work" | "ideals" => &["weights"],
        "crowd" => &["nodes", "most"],
        "profits" => &["profits", "kinds"],
        other => return Err(format!("there is no reason {other:?}; known are work, crowd, ideals and profits")),
    };
    let line = Object::of_fields(text, &[&["reason", "device", "under"], fields].concat())?;
    let under = line.optional("under", json::list(|case| Decision::parse(case, problem)))?;
    let numbers = |field| line.get(field, json::list(json::whole));
    let reason = match name.as_str() {
        "work" => Reason::Work { weights: numbers("weights")? },
        "ideals" => Reason::Ideals { weights: numbers("weights")? },
        "crowd" => Reason::Crowd {
            units: line.get("nodes", json::list(|node| problem.unit(json::whole(node)?)))?,
            most: line.get("most", json::list(json::whole))?,
        },
        _ => Reason::Profits {
            of_units: of_units(problem, &numbers("profits")?)?,
            earnings: line.get("kinds", json::list(earning))?,
        },
    };
    Ok((under.unwrap_or_default(), reason))
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
