//! Proof files: a question, and reasons why no split is better than claimed.

use crate::cases::{Decision, are_complete};
use crate::instance::Instance;
use crate::json::read;
use crate::problem::Problem;
use crate::profits::{self, Earning};
use crate::question::Question;
use crate::{Error, Result, crowd, ideals, work};

/// A line that gives a reason, with the fields that reasons have.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
struct Line {
    reason: String,
    /// In whose scenario it holds, where the proof is about stability.
    device: Option<usize>,
    under: Option<Vec<(String, usize, usize)>>,
    weights: Option<Vec<i128>>,
    nodes: Option<Vec<usize>>,
    most: Option<Vec<usize>>,
    profits: Option<Vec<i128>>,
    kinds: Option<Vec<Earning>>,
}

read_from_objects!(Line);

/// Reads a line: it names one of as many devices as there are, and none where there are none.
fn read_line(text: &str, devices: Option<usize>) -> Result<Line> {
    let line: Line = read(text)?;
    let is_one = line.device.is_some() == devices.is_some() && line.device < devices.or(Some(1));
    ensure!(is_one, "a line names one of the devices of the first line, where that has some");
    Ok(line)
}

/// Checks all lines of a proof, or those of one device where it is about stability, and returns the question whose claim
/// it proves; else the line that is wrong first, and why.
pub fn check(instance_text: &str, proof_text: &str, only: Option<usize>) -> Result<(Instance, Question), Error> {
    let instance = Instance::parse(instance_text).map_err(Error::unreadable("instance"))?;
    let mut lines = proof_text.lines().zip(1..);
    let question = Question::parse(lines.next().unwrap_or_default().0).map_err(Error::unreadable("proof, line 1"))?;
    question.is_about(instance_text).map_err(Error::refused(1))?;
    let devices = question.stability.as_ref().map(|stability| stability.devices.len());
    let line = |(text, n)| Ok((n, read_line(text, devices).map_err(Error::unreadable(format!("proof, line {n}")))?));
    let lines = lines.map(line).collect::<Result<Vec<_>, Error>>()?;
    if let Some(stability) = &question.stability {
        stability.check(&instance, &question).map_err(Error::refused(1))?;
        for device in only.map_or(0..stability.devices.len(), |only| only..only + 1) {
            let (scenario, best) = stability.scenario(&instance, &question, device).map_err(Error::refused(1))?;
            if best.claim > 0 {
                check_claim(&Problem::new(&scenario, &best).map_err(Error::refused(1))?, &lines, Some(device))?;
            }
        }
    } else {
        check_claim(&Problem::new(&instance, &question).map_err(Error::refused(1))?, &lines, None)?;
    }
    Ok((instance, question))
}

/// Whether these lines, of one device where they name some, show that no split is below the claim.
fn check_claim(problem: &Problem, lines: &[(usize, Line)], device: Option<usize>) -> Result<(), Error> {
    let (mut refuted, mut last) = (Vec::new(), 1);
    for (n, line) in lines.iter().filter(|(_, line)| line.device == device) {
        let under = line.under.iter().flatten().map(|decision| Decision::new(decision, problem));
        let under = under.collect::<Result<Vec<_>>>().map_err(Error::unreadable(format!("proof, line {n}")))?;
        let holds = reason(line, problem, &under).map_err(Error::unreadable(format!("proof, line {n}")))?;
        holds.map_err(Error::refused(*n))?;
        refuted.push(under);
        last = *n;
    }
    are_complete(refuted).map_err(Error::refused(last))
}

/// Whether a line's reason holds in the case of some decisions: no split of that is within the target; else why it does not. An
/// error where it has none of the reasons that there are.
fn reason(line: &Line, problem: &Problem, under: &[Decision]) -> Result<Result<()>> {
    let Line { weights, nodes, most, profits, kinds, .. } = line;
    Ok(match (line.reason.as_str(), (weights, nodes, most, profits, kinds)) {
        ("work", (Some(weights), None, None, None, None)) => work::refutes(problem, weights),
        ("ideals", (Some(weights), None, None, None, None)) => ideals::refutes(problem, weights),
        ("crowd", (None, Some(nodes), Some(most), None, None)) => {
            let units = nodes.iter().map(|&node| problem.unit(node)).collect::<Result<Vec<_>>>()?;
            crowd::refutes(problem, &units, most)
        }
        ("profits", (None, None, None, Some(profits), Some(kinds))) => {
            let nodes = problem.order.unit_of.len();
            ensure!(profits.len() == nodes, "there have to be {nodes} profits");
            let profits = problem.order.sums(profits.iter().copied().map(Ok))?;
            profits::refutes(problem, &profits, kinds, under)
        }
        (name, _) => return Err(format!("{name:?} is none of work, crowd, ideals, profits, each with its own fields")),
    })
}
