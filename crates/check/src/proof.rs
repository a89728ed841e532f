//! Proof files: a question, and reasons why no split is better than claimed.

use std::collections::BTreeSet;

use crate::cases::{self, Decision};
use crate::instance::Instance;
use crate::json::{Object, Value};
use crate::problem::Problem;
use crate::profits::{self, Earning};
use crate::question::Question;
use crate::{Error, Result, crowd, ideals, work};

/// A line that gives a reason.
struct Line<'a> {
    number: usize,
    /// In whose scenario it holds, where the proof is about stability.
    device: Option<usize>,
    fields: Object<'a>,
}

impl<'a> Line<'a> {
    /// Reads a line: it names one of as many devices as there are, and none where there are none.
    fn read(text: &'a str, number: usize, devices: Option<usize>) -> Result<Self> {
        let fields = Object::parse(text)?;
        let device: Option<usize> = fields.optional("device")?;
        let is_one = device.is_some() == devices.is_some() && device < devices.or(Some(1));
        ensure!(is_one, "a line names one of the devices of the first line, where that has some");
        Ok(Self { number, device, fields })
    }
}

/// Checks all lines of a proof, or those of one device where it is about stability, and returns the question whose claim
/// it proves; else the line that is wrong first, and why.
pub fn check(instance_text: &str, proof_text: &str, only: Option<usize>) -> Result<(Instance, Question), Error> {
    let instance = Instance::parse(instance_text).map_err(Error::file("instance"))?;
    let mut lines = proof_text.lines().zip(1..);
    let question = Question::parse(lines.next().unwrap_or_default().0).map_err(Error::unreadable(1))?;
    question.is_about(instance_text, only).map_err(Error::refused(1))?;
    let devices = question.devices();
    let line = |(text, number)| Line::read(text, number, devices).map_err(Error::unreadable(number));
    let lines = lines.map(line).collect::<Result<Vec<Line>, Error>>()?;
    if let Some(stability) = &question.stability {
        stability.check(&instance, &question).map_err(Error::refused(1))?;
        for device in (0..stability.devices.len()).filter(|&device| only.is_none_or(|only| only == device)) {
            let (scenario, best) = stability.scenario(&instance, &question, device).map_err(Error::refused(1))?;
            let lines: Vec<&Line> = lines.iter().filter(|line| line.device == Some(device)).collect();
            if best.claim > 0 {
                check_claim(&scenario, &best, &lines)?;
            }
        }
    } else {
        check_claim(&instance, &question, &lines.iter().collect::<Vec<_>>())?;
    }
    Ok((instance, question))
}

/// Whether these lines show that no split is below the claim.
fn check_claim(instance: &Instance, question: &Question, lines: &[&Line]) -> Result<(), Error> {
    let problem = Problem::new(instance, question).map_err(Error::refused(1))?;
    let mut refuted = BTreeSet::new();
    for Line { number, fields, .. } in lines {
        let under = decisions(fields, &problem).map_err(Error::unreadable(*number))?;
        let holds = reason(fields, &problem, &under).map_err(Error::unreadable(*number))?;
        holds.map_err(Error::refused(*number))?;
        refuted.insert(under);
    }
    let last = lines.last().map_or(1, |line| line.number);
    cases::are_complete(refuted).map_err(Error::refused(last))
}

/// The decisions of a line's case.
fn decisions(line: &Object, problem: &Problem) -> Result<Vec<Decision>> {
    let under: Vec<Value> = line.optional("under")?.unwrap_or_default();
    under.into_iter().map(|decision| Decision::read(decision, problem)).collect()
}

/// Reads a line's reason, and whether it holds in the case of some decisions: no split of that is within the target; else why
/// it does not.
fn reason(line: &Object, problem: &Problem, under: &[Decision]) -> Result<Result<()>> {
    let known: [(&str, &[&str]); 4] = [
        ("work", &["weights"]),
        ("crowd", &["nodes", "most"]),
        ("ideals", &["weights"]),
        ("profits", &["profits", "kinds"]),
    ];
    line.are_fields(&[&["reason", "device", "under"], line.word("reason", &known)?].concat())?;
    let weights = || line.get::<Vec<i128>>("weights");
    Ok(match line.get::<String>("reason")?.as_str() {
        "work" => work::refutes(problem, &weights()?),
        "ideals" => ideals::refutes(problem, &weights()?),
        "crowd" => {
            let (nodes, most): (Vec<usize>, Vec<usize>) = (line.get("nodes")?, line.get("most")?);
            let units = nodes.into_iter().map(|node| problem.unit(node)).collect::<Result<Vec<_>>>()?;
            crowd::refutes(problem, &units, &most)
        }
        _ => {
            let (profits, earnings): (Vec<i128>, Vec<Earning>) = (line.get("profits")?, line.get("kinds")?);
            let nodes = problem.order.unit_of.len();
            ensure!(profits.len() == nodes, "there have to be {nodes} profits");
            let profits = problem.order.sums(profits.into_iter().map(Ok))?;
            profits::refutes(problem, &profits, &earnings, under)
        }
    })
}
