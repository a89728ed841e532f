//! Every plan of a small instance: all successive sets, degrees and options, by the formulas of `docs/pipelines.md`.

use std::collections::BTreeMap;

use dagsplit::instance::{Instance, NodeOption, Parallelism};
use dagsplit::problem::{Degrees, InFlight, Objective, Optimizer, Precision, ProblemSpec, Training};

struct Plans<'a> {
    instance: &'a Instance,
    parallelism: &'a Parallelism,
    degrees: &'a Degrees,
    is_step: bool,
    /// How many devices a server has, all of one class.
    server: Option<usize>,
    /// How many devices each class has, and their memory.
    classes: Vec<(usize, f64)>,
    /// What the data degrees of all stages add up to.
    all: usize,
    /// The values of stages that hold all nodes but these, where those take so many parts and devices.
    known: BTreeMap<(u64, usize, Vec<usize>), Vec<Value>>,
}

/// What is paid once for each stage, and what only the largest pays: for a step the time of a microbatch on each
/// replica, and of the others of a batch; else nothing, and the time for each sample.
type Value = (f64, f64);

/// The least value of a plan; `None` where there is none. Nodes have the ids 0, 1, 2, …
pub fn optimum(instance: &Instance, spec: &ProblemSpec) -> Option<f64> {
    let (Some(parallelism), Some(degrees)) = (&instance.parallelism, &spec.degrees) else { panic!("no options") };
    let classes = spec.platform.accelerators.iter().map(|class| (class.count, class.memory.unwrap_or(f64::INFINITY)));
    let classes: Vec<(usize, f64)> = classes.collect();
    let devices = classes.iter().map(|&(count, _)| count).sum();
    let is_step = matches!(spec.objective, Objective::Step { .. });
    let value = |all: usize| {
        let known = BTreeMap::new();
        let (classes, server) = (classes.clone(), spec.interconnect.map(|interconnect| interconnect.server_size));
        let mut plans = Plans { instance, parallelism, degrees, is_step, server, classes, all, known };
        plans
            .values(0, 0, &vec![0; plans.classes.len()])
            .into_iter()
            .map(|(once, most)| once + most)
            .fold(f64::INFINITY, f64::min)
    };
    Some((1..=devices).map(value).fold(f64::INFINITY, f64::min)).filter(|value| value.is_finite())
}

impl Plans<'_> {
    /// The values of the stages before those that hold `placed`, of which none is better in both respects than another.
    fn values(&mut self, placed: u64, parts: usize, used: &[usize]) -> Vec<Value> {
        let nodes = (1_u64 << self.instance.nodes.len()) - 1;
        if placed == nodes {
            return if parts == self.all { vec![(0.0, 0.0)] } else { Vec::new() };
        }
        if let Some(known) = self.known.get(&(placed, parts, used.to_vec())) {
            return known.clone();
        }
        let mut found = Vec::new();
        for stage in 1..=nodes {
            let with = placed | stage;
            let is_last = |&(source, target): &(u64, u64)| with >> source & 1 == 0 || with >> target & 1 == 1;
            if placed & stage != 0 || !self.instance.edges.iter().map(|e| (e.source, e.target)).all(|e| is_last(&e)) {
                continue;
            }
            for (class, tensor, data) in self.shapes() {
                let (parts, mut used) = (parts + data, used.to_vec());
                used[class] += tensor * data;
                let is_allowed = self.degrees.microbatches.is_multiple_of(data)
                    && (self.is_step || parts <= self.degrees.microbatches)
                    && used[class] <= self.classes[class].0
                    && self.server.is_none_or(|size| size % tensor == 0)
                    && self.degrees.data.as_ref().is_none_or(|d| d.contains(&data))
                    && self.degrees.tensor.as_ref().is_none_or(|t| t.contains(&tensor));
                if is_allowed {
                    let time = self.stage(stage, (class, tensor, data), parts);
                    if time.is_finite() {
                        let rest = self.values(with, parts, &used);
                        found.extend(rest.iter().map(|&v| self.with_stage(v, data, time)));
                    }
                }
            }
        }
        let is_best = |a: &Value| !found.iter().any(|b| b.0 <= a.0 && b.1 <= a.1 && b != a);
        let mut best: Vec<Value> = found.iter().copied().filter(is_best).collect();
        best.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        best.dedup();
        self.known.insert((placed, parts, used.to_vec()), best.clone());
        best
    }

    /// Every class with every tensor and data degree.
    fn shapes(&self) -> Vec<(usize, usize, usize)> {
        let of_class = |class: usize| {
            let degrees = (1..=self.classes[class].0)
                .flat_map(|tensor| (1..=self.degrees.microbatches).map(move |data| (tensor, data)));
            degrees.map(move |(tensor, data)| (class, tensor, data))
        };
        (0..self.classes.len()).flat_map(of_class).collect()
    }

    fn with_stage(&self, (once, most): Value, data: usize, time: f64) -> Value {
        if !self.is_step {
            return (0.0, most.max(time));
        }
        let replica = data as f64 * time;
        let others = (self.degrees.microbatches / data - 1) as f64;
        (once + replica, most.max(others * replica))
    }

    /// The least time of a stage over all choices of options that fit, where it and those behind it have so many parts.
    fn stage(&self, stage: u64, (class, tensor, data): (usize, usize, usize), parts: usize) -> f64 {
        let inside = |id: u64| stage >> id & 1 == 1;
        let nodes: Vec<u64> = (0..self.instance.nodes.len() as u64).filter(|&v| inside(v)).collect();
        let all = &self.parallelism.options;
        let is_of = |o: &&NodeOption| o.tensor_degree == tensor && o.class.is_none_or(|own| own == class);
        let of = |v: u64| all.iter().filter(|o| o.node == v).filter(is_of).collect::<Vec<_>>();
        let choices = nodes.iter().fold(vec![vec![]], |lists, &v| {
            let with = |list: &Vec<_>, option| [&list[..], &[option]].concat();
            lists
                .iter()
                .flat_map(|list| of(v).into_iter().map(|option| with(list, option)).collect::<Vec<_>>())
                .collect()
        });
        let fits = |choice: &&Vec<&NodeOption>| self.bytes(choice, data, parts) <= self.classes[class].1 * (1.0 + 1e-9);
        choices.iter().filter(fits).map(|choice| self.time(choice, &inside, data as f64)).fold(f64::INFINITY, f64::min)
    }

    fn bytes(&self, choice: &[&NodeOption], data: usize, parts: usize) -> f64 {
        let of_replica = self.degrees.microbatches / data;
        let times = |parts: usize| parts.div_ceil(data);
        let (in_flight, versions) = match self.degrees.memory.in_flight {
            InFlight::Constant(count) => (count, 1),
            InFlight::GPipe => (of_replica, 1),
            InFlight::OneForwardOneBackward => (times(parts).min(of_replica), 1),
            InFlight::Asynchronous => (times(parts).min(of_replica), times(parts).min(of_replica)),
            InFlight::ZbH1 => (times(self.all).min(of_replica), 1),
            InFlight::ZbH2 => ((times(2 * self.all) - 1).min(of_replica), 1),
        };
        let of_one = |o: &&NodeOption| {
            let (other, [weights, gradients, optimizer]) = self.lasting(o);
            let share = |from: usize| if self.degrees.memory.zero >= from { data as f64 } else { 1.0 };
            let lasting = other + weights / share(3) + gradients / share(2) + optimizer / share(1);
            let cached = o.cache_bytes_per_token * self.degrees.memory.cache_tokens as f64;
            o.memory_per_microbatch * in_flight as f64 + lasting + cached + (versions - 1) as f64 * self.updated(o)
        };
        choice.iter().map(of_one).sum::<f64>() + choice.iter().map(|o| o.working_bytes).fold(0.0, f64::max)
    }

    /// Bytes of parameters that change.
    fn updated(&self, o: &NodeOption) -> f64 {
        let is_fixed = self.degrees.memory.training.is_some_and(|training| training.optimizer == Optimizer::None);
        if is_fixed { 0.0 } else { o.parameter_bytes }
    }

    /// Weights, gradients and optimizer state, and what else lasts.
    fn lasting(&self, o: &NodeOption) -> (f64, [f64; 3]) {
        let Some(Training { optimizer, precision }) = self.degrees.memory.training else {
            return (o.memory, [o.weight_bytes, o.gradient_bytes, o.optimizer_bytes]);
        };
        // Bytes of a gradient and of the optimizer's state for each number, beside the width of the number.
        let (width, copy) = if precision == Precision::Fp32 { (4.0, 0.0) } else { (2.0, 4.0) };
        let [gradient, state] = match optimizer {
            Optimizer::None => [0.0, 0.0],
            Optimizer::Sgd => [width, copy],
            Optimizer::Momentum => [width, copy + 4.0],
            Optimizer::Adam => [width, copy + 8.0],
        };
        (0.0, [width, gradient, state].map(|bytes| o.parameter_bytes / width * bytes))
    }

    fn time(&self, choice: &[&NodeOption], inside: &dyn Fn(u64) -> bool, data: f64) -> f64 {
        let compute: f64 = choice.iter().map(|o| o.time).sum();
        let weights: f64 = choice.iter().map(|o| self.updated(o)).sum();
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
