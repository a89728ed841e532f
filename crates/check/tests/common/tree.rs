//! Proofs of small cases, found by trying.

use dagsplit_check::Error;

use super::Case;

/// The reason `ideals`.
pub fn ideals(case: &Case) -> Vec<String> {
    vec![format!("{{\"reason\":\"ideals\",\"weights\":{}}}", case.for_kinds(1))]
}

/// One line for each case that the tree of decisions comes to, where that proves the claim.
pub struct Tree<'a> {
    case: &'a Case,
    claim: i128,
    pub lines: Vec<String>,
}

impl<'a> Tree<'a> {
    /// A tree without lines.
    pub fn new(case: &'a Case, claim: i128) -> Self {
        Self { case, claim, lines: Vec::new() }
    }

    /// Refutes the case of these decisions, by itself or by deciding more; whether that was possible.
    pub fn refute(&mut self, under: &[String]) -> bool {
        let kinds = self.case.counts.len();
        let simple = self.candidates(under).into_iter().find(|line| {
            // By itself a line proves its case where there is no other one.
            let bare = [line.clone()];
            match self.case.check(self.claim, &bare) {
                Ok(()) => true,
                Err(Error::Refused { cause, .. }) => cause.starts_with("no reason is given for the case"),
                Err(_) => false,
            }
        });
        if let Some(line) = simple {
            self.lines.push(line);
            return true;
        }
        let nodes = self.case.nodes;
        let on = (0..nodes)
            .flat_map(|v| (0..kinds).map(move |k| (format!("[\"on\",{v},{k}]"), format!("[\"not_on\",{v},{k}]"))));
        let pairs = (0..nodes).flat_map(|u| {
            (u + 1..nodes).map(move |v| (format!("[\"together\",{u},{v}]"), format!("[\"apart\",{u},{v}]")))
        });
        let open =
            on.chain(pairs).find(|(yes, no)| !under.contains(yes) && !under.contains(no) && self.is_decision(yes));
        let Some((yes, no)) = open else { return false };
        [yes, no].into_iter().all(|side| self.refute(&[under, &[side]].concat()))
    }

    /// Whether the checker reads this as a decision: nodes of one unit are no pair.
    fn is_decision(&self, decision: &str) -> bool {
        let weights = self.case.for_kinds(1);
        let line = format!("{{\"reason\":\"work\",\"under\":[{decision}],\"weights\":{weights}}}");
        !matches!(self.case.check(self.claim, &[line]), Err(Error::Unreadable { .. }))
    }

    /// Profits of one node that nothing can hold; of one node of each part of a kind of device.
    fn candidates(&self, under: &[String]) -> Vec<String> {
        let nodes = self.case.nodes;
        let mut profits: Vec<(Vec<u8>, Option<usize>)> =
            (0..nodes).map(|v| ((0..nodes).map(|w| u8::from(v == w)).collect(), None)).collect();
        let together = |u: usize, v: usize| {
            let pair = format!("[\"together\",{u},{v}]");
            under.contains(&pair) || !self.is_decision(&pair)
        };
        for kind in 0..self.case.counts.len() {
            let is_first =
                |v: usize| under.contains(&format!("[\"on\",{v},{kind}]")) && !(0..v).any(|u| together(u, v));
            profits.push(((0..nodes).map(|v| u8::from(is_first(v))).collect(), Some(kind)));
        }
        let mut lines = Vec::new();
        for (profits, holder) in profits {
            // One piece of the load at a time.
            for choice in 0..2 {
                let earning = |k: &usize| {
                    let pieces = self.case.pieces(*k);
                    let weights: Vec<String> =
                        (0..pieces).map(|i| usize::from(i == choice.min(pieces - 1)).to_string()).collect();
                    let most = u8::from(holder == Some(*k));
                    format!("{{\"weights\":[{}],\"price\":[0,1],\"most\":{most}}}", weights.join(","))
                };
                let kinds: Vec<String> = (0..self.case.counts.len()).map(|k| earning(&k)).collect();
                let profits: Vec<String> = profits.iter().map(u8::to_string).collect();
                lines.push(format!(
                    "{{\"reason\":\"profits\",\"under\":[{}],\"profits\":[{}],\"kinds\":[{}]}}",
                    under.join(","),
                    profits.join(","),
                    kinds.join(",")
                ));
            }
        }
        lines
    }
}
