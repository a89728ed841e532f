//! How far a split can be from the best one while times move.

use crate::decimal::Decimal;
use crate::instance::Instance;
use crate::problem::Problem;
use crate::question::{Class, Device, Objective, Question, Spread, Stability};
use crate::split;

impl Stability {
    /// Whether the split is one that is asked for, and the worst that can come of it is seen in its scenarios.
    pub fn check(&self, instance: &Instance, question: &Question) -> Result<(), String> {
        are_alike(question)?;
        split::loads(instance, &Problem::new(instance, question)?, &self.devices).map(|_| ())
    }

    /// The workload in the scenario of a device of a split that was [checked](Self::check): what it pays for takes as long as it
    /// may, and all else as short. With it the device's load there.
    pub fn scenario(
        &self,
        instance: &Instance,
        question: &Question,
        device: usize,
    ) -> Result<(Instance, i128), String> {
        let Device { kind, nodes, .. } = &self.devices[device];
        let mut is_in = vec![false; instance.nodes.len()];
        nodes.iter().for_each(|&v| is_in[v] = true);
        let mut is_cut = vec![false; instance.nodes.len()];
        instance.edges.iter().for_each(|&(a, b)| is_cut[a] |= is_in[a] != is_in[b] && *kind < instance.classes);
        let mut scenario = instance.clone();
        for (v, node) in scenario.nodes.iter_mut().enumerate() {
            let (by, none) = (node.spread, Decimal::ZERO);
            for (k, time) in node.times.iter_mut().enumerate() {
                let measured = if k < instance.classes { by } else { none };
                *time = time.map(|time| self.moved(time, measured, is_in[v] && k == *kind)).transpose()?;
            }
            node.transfer = self.moved(node.transfer, none, is_cut[v])?;
        }
        let loads = split::loads(instance, &Problem::new(&scenario, question)?, &self.devices)?;
        Ok((scenario, loads[device][0]))
    }

    fn moved(&self, time: Decimal, measured: Decimal, up: bool) -> Result<Decimal, String> {
        let by = match self.spread {
            Spread::Part(part) => time.times(part)?,
            Spread::Measured => measured,
        };
        if up { time.plus(by) } else { time.minus(by) }
    }
}

/// Whether all devices pay for a transfer alike: what raises one load raises no other one more.
fn are_alike(question: &Question) -> Result<(), String> {
    let pays = |class: &Class| match class.load[..] {
        [[_, into, out]] => (into == out).then_some(into),
        _ => None,
    };
    let mut costs = question.accelerators.iter().map(pays);
    let first = costs.next().unwrap_or(Some(Decimal::ZERO));
    let is_simple = question.objective == Objective::Throughput && question.replication.is_none();
    match is_simple && first.is_some() && costs.all(|cost| cost == first) {
        true => Ok(()),
        false => {
            Err("stability is of throughput, without replicas, where all devices pay the same for each transfer".into())
        }
    }
}
