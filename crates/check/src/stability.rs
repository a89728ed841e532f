//! How far a split can be from the best one while times move.

use std::collections::BTreeSet;

use crate::Result;
use crate::decimal::Decimal;
use crate::instance::Instance;
use crate::problem::Problem;
use crate::question::{Class, Device, Objective, Question, Stability};
use crate::split;

impl Stability {
    /// Whether the split is one that is asked for, and the worst that can come of it is seen in its scenarios.
    pub fn check(&self, instance: &Instance, question: &Question) -> Result<()> {
        // All devices have to pay for a transfer alike: what raises one load raises no other one more.
        let [_, cost, _] = question.kinds[0].load[0];
        let is_alike = |class: &Class| matches!(class.load[..], [[_, into, out]] if into == cost && out == cost);
        let is_plain = question.objective == Objective::Throughput && question.replication.is_none();
        let is_simple = is_plain && question.kinds.iter().take(instance.classes).all(is_alike);
        ensure!(is_simple, "stability is of throughput, no replicas, and devices that pay the same for each transfer");
        split::loads(&Problem::new(instance, question)?, &self.devices).map(|_| ())
    }

    /// The workload in the scenario of a device of a split that was [checked](Self::check): what it pays for takes as long as it
    /// may, and all else as short; and the question whether no split is better there than the claim says.
    pub fn scenario(&self, instance: &Instance, question: &Question, device: usize) -> Result<(Instance, Question)> {
        let Device { kind, nodes, .. } = self.devices.get(device).ok_or("there is no such device")?;
        let is_in: Vec<bool> = (0..instance.nodes.len()).map(|v| nodes.contains(&v)).collect();
        let is_cut = |&&(a, b): &&(usize, usize)| *kind < instance.classes && is_in[a] != is_in[b];
        let cut: BTreeSet<usize> = instance.edges.iter().filter(is_cut).map(|&(a, _)| a).collect();
        let mut scenario = instance.clone();
        for (v, node) in scenario.nodes.iter_mut().enumerate() {
            for (k, time) in node.times.iter_mut().enumerate() {
                let measured = if k < instance.classes { node.spread } else { Decimal::ZERO };
                *time = time.map(|time| self.moved(time, measured, is_in[v] && k == *kind)).transpose()?;
            }
            node.transfer = self.moved(node.transfer, Decimal::ZERO, cut.contains(&v))?;
        }
        let loads = split::loads(&Problem::new(&scenario, question)?, &self.devices)?;
        Ok((scenario, Question { claim: loads[device][0] - question.claim, ..question.clone() }))
    }

    fn moved(&self, time: Decimal, measured: Decimal, up: bool) -> Result<Decimal> {
        let by = self.part.map_or(Ok(measured), |part| time.times(part))?;
        time.moved(by, up)
    }
}
