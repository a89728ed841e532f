//! Reports for people.

use std::fmt::{self, Display, Formatter};

use super::quality::Quality;
use super::report::{FamilyReport, Finding, LawReport, Report};
use crate::units::{percent, seconds};

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "partitioner  {}", self.partitioner)?;
        writeln!(f, "cases        {}, seed {}, {}", self.quality.cases, self.seed, seconds(self.seconds))?;
        if let Some(reason) = &self.refusal {
            writeln!(f, "refused      {}, the first because {reason}", self.refused)?;
        }
        writeln!(f, "\n{:<18} {:>6} {:>6}  what it asks", "law", "cases", "broken")?;
        self.laws.iter().try_for_each(|law| writeln!(f, "{law}"))?;
        writeln!(
            f,
            "\n{:<18} {:>6} {:>6} {:>7} {:>6} {:>9} {:>9} {:>9} {:>9}",
            "family", "cases", "splits", "optimal", "missed", "gap min", "median", "p90", "max"
        )?;
        self.families.iter().try_for_each(|FamilyReport { family, quality }| row(f, family, quality))?;
        row(f, "all", &self.quality)?;
        self.findings.iter().try_for_each(|finding| write!(f, "\n{finding}"))?;
        let verdict = match self.findings.len() {
            _ if self.quality.cases == 0 => "nothing was judged".into(),
            0 => "passed".into(),
            1 => "1 law is broken".into(),
            count => format!("{count} laws are broken"),
        };
        writeln!(f, "\nresult       {verdict}")
    }
}

impl Display for LawReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:<18} {:>6} {:>6}  {}", self.law, self.checked, self.broken, self.statement)
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { law, detail, family, scope, objective, nodes, edges, file, again, .. } = self;
        writeln!(f, "broken       {law}: {detail}")?;
        writeln!(f, "  asked      {objective}, {scope} splits; nodes: {nodes}, edges: {edges}; family {family}")?;
        file.iter().try_for_each(|file| writeln!(f, "  instance   {}", file.display()))?;
        again.iter().try_for_each(|again| writeln!(f, "  again      {again}"))
    }
}

fn row(f: &mut Formatter<'_>, name: &str, quality: &Quality) -> fmt::Result {
    let Quality { cases, splits, optimal, missed, gaps } = quality;
    write!(f, "{name:<18} {cases:>6} {splits:>6} {optimal:>7} {missed:>6}")?;
    for gap in gaps.iter().flat_map(|gaps| [gaps.min, gaps.median, gaps.p90, gaps.max]) {
        write!(f, " {:>9}", percent(gap))?;
    }
    writeln!(f)
}
