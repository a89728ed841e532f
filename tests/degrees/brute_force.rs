//! Every plan of a small instance: all successive sets, degrees and options, by the formulas of `docs/pipelines.md`.

use std::collections::BTreeMap;

use dagsplit::instance::{Instance, NodeOption, Parallelism};
use dagsplit::problem::{Degrees, ProblemSpec};

struct Plans<'a> {
    instance: &'a Instance,
    parallelism: &'a Parallelism,
    degrees: &'a Degrees,
    devices: usize,
    memory: f64,
    /// The least largest time of stages that hold all nodes but these, where those take so many parts and devices.
    known: BTreeMap<(u64, usize, usize), f64>,
}

/// The least largest time; `None` where there is no plan. Nodes have the ids 0, 1, 2, …
pub fn optimum(instance: &Instance, spec: &ProblemSpec) -> Option<f64> {
    let (Some(parallelism), Some(degrees)) = (&instance.parallelism, &spec.degrees) else { panic!("no options") };
    let class = &spec.platform.accelerators[0];
    let memory = class.memory.unwrap_or(f64::INFINITY);
    let mut plans = Plans { instance, parallelism, degrees, devices: class.count, memory, known: BTreeMap::new() };
    Some(plans.least(0, 0, 0)).filter(|value| value.is_finite())
}

impl Plans<'_> {
    /// The least largest time of the stages before those that hold `placed`.
    fn least(&mut self, placed: u64, parts: usize, used: usize) -> f64 {
        let all = (1_u64 << self.instance.nodes.len()) - 1;
        if placed == all {
            return 0.0;
        }
        if let Some(&known) = self.known.get(&(placed, parts, used)) {
            return known;
        }
        let mut best = f64::INFINITY;
        for stage in 1..=all {
            let with = placed | stage;
            let is_last = |&(source, target): &(u64, u64)| with >> source & 1 == 0 || with >> target & 1 == 1;
            if placed & stage != 0 || !self.instance.edges.iter().map(|e| (e.source, e.target)).all(|e| is_last(&e)) {
                continue;
            }
            for tensor in 1..=self.devices {
                for data in 1..=self.degrees.microbatches {
                    let (parts, used) = (parts + data, used + tensor * data);
                    let is_allowed = self.degrees.microbatches.is_multiple_of(data)
                        && parts <= self.degrees.microbatches
                        && used <= self.devices
                        && self.degrees.data.as_ref().is_none_or(|d| d.contains(&data))
                        && self.degrees.tensor.as_ref().is_none_or(|t| t.contains(&tensor));
                    if is_allowed {
                        let time = self.stage(stage, tensor, data, parts.div_ceil(data));
                        if time < best {
                            best = best.min(time.max(self.least(with, parts, used)));
                        }
                    }
                }
            }
        }
        self.known.insert((placed, parts, used), best);
        best
    }

    /// The least time of a stage over all choices of options that fit.
    fn stage(&self, stage: u64, tensor: usize, data: usize, in_flight: usize) -> f64 {
        let inside = |id: u64| stage >> id & 1 == 1;
        let nodes: Vec<u64> = (0..self.instance.nodes.len() as u64).filter(|&v| inside(v)).collect();
        let all = &self.parallelism.options;
        let of = |v: u64| all.iter().filter(|o| o.node == v && o.tensor_degree == tensor).collect::<Vec<_>>();
        let choices = nodes.iter().fold(vec![vec![]], |lists, &v| {
            let with = |list: &Vec<_>, option| [&list[..], &[option]].concat();
            lists
                .iter()
                .flat_map(|list| of(v).into_iter().map(|option| with(list, option)).collect::<Vec<_>>())
                .collect()
        });
        let values = choices.iter().filter_map(|choice| {
            let bytes: f64 = choice.iter().map(|o| o.memory_per_microbatch * in_flight as f64 + o.memory).sum();
            (bytes <= self.memory * (1.0 + 1e-9)).then(|| self.time(choice, &inside, data as f64))
        });
        values.fold(f64::INFINITY, f64::min)
    }

    fn time(&self, choice: &[&NodeOption], inside: &dyn Fn(u64) -> bool, data: f64) -> f64 {
        let compute: f64 = choice.iter().map(|o| o.time).sum();
        let weights: f64 = choice.iter().map(|o| o.parameter_bytes).sum();
        let mut bytes = 0.0;
        for edge in self.parallelism.edges.iter().filter(|e| inside(e.source) != inside(e.target)) {
            let option = choice.iter().find(|o| o.node == edge.source || o.node == edge.target).expect("an end");
            let sync =
                if inside(edge.source) { option.sync_out.get(&edge.target) } else { option.sync_in.get(&edge.source) };
            bytes += 2.0 * (edge.bytes + sync.unwrap_or(&0.0)) / data;
        }
        bytes += 4.0 * (data - 1.0) / data * weights / self.degrees.microbatches as f64;
        compute / data + bytes / self.parallelism.bandwidth
    }
}
