//! Every split into stages with degrees and options, from the last stage to the first.

use rustc_hash::FxHashMap;

use crate::cost::{OptionCost, StageCosts};
use crate::graph::NodeId;
use crate::graph::order_graph::Groups;
use crate::problem::{DeviceAssignment, DeviceKind, Problem, Solution, fits};
use crate::solve::SearchContext;

/// A stage: its groups, its degrees and the microbatches in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Stage {
    mask: u32,
    /// The class of its devices.
    class: usize,
    tensor: usize,
    data: usize,
    in_flight: usize,
}

/// A walk over all plans of a problem that asks for degrees. The options of a stage are looked at once, for they concern no other.
pub(super) struct Plans<'a> {
    problem: &'a Problem,
    costs: &'a StageCosts,
    groups: &'a Groups,
    /// Which groups have to come after each one, or be on its stage.
    after: Vec<u32>,
    /// How many devices of each class the stages use.
    used: Vec<usize>,
    /// What the data degrees of all stages have to add up to, where that matters.
    all: Option<usize>,
    /// The least time of each stage that was looked at, with its options; `None` where none fit.
    known: FxHashMap<Stage, Option<(f64, Vec<usize>)>>,
    /// The stages that are there, the last one first, each with its time.
    stages: Vec<(Stage, f64)>,
    best: Option<(f64, Vec<Stage>)>,
    cx: &'a SearchContext,
    /// Complete plans seen.
    pub plans: u64,
    /// Sets tried as a stage, and choices of options for one.
    tried: u64,
    /// Whether a limit ended the walk.
    pub stopped: bool,
}

/// How many sets, or choices of options, are tried between two looks at the clock.
const PATIENCE: u64 = 256;

/// At least as many plans as there are of so many groups, and options of stages.
pub(super) fn plans_bound(problem: &Problem, costs: &StageCosts, groups: usize) -> f64 {
    let devices: usize = problem.spec.platform.accelerators.iter().map(|class| class.count).sum();
    let uses = |t: &usize| costs.data_degrees.iter().map(move |d| t * d).collect::<Vec<_>>();
    let classes = problem.spec.platform.accelerators.iter().filter(|class| class.count > 0).count();
    let of_one = costs.tensor_degrees.iter().flat_map(uses).filter(|&used| used <= devices);
    let uses: Vec<usize> = of_one.flat_map(|used| std::iter::repeat_n(used, classes)).collect();
    let devices = devices.min(groups * uses.iter().copied().max().unwrap_or(0));
    // plans[g][k]: those of g groups on k devices, the last stage of which has s of them.
    let mut plans = vec![vec![1.0; devices + 1]];
    for g in 1..=groups {
        let choose = |s: usize| (0..s).fold(1.0, |product, i| product * (g - i) as f64 / (i + 1) as f64);
        let of = |k: usize| -> f64 {
            let stage =
                |s: usize| uses.iter().filter(|&&used| used <= k).map(|used| plans[g - s][k - used]).sum::<f64>();
            (1..=g).map(|s| choose(s) * stage(s)).sum()
        };
        plans.push((0..=devices).map(of).collect());
    }
    let sums = if costs.in_flight.depends_on_all() { devices as f64 } else { 1.0 };
    let options: f64 = costs.options.iter().map(|options| 1.0 + options.len() as f64).product();
    plans[groups][devices] * sums + options * (uses.len() * devices) as f64
}

impl<'a> Plans<'a> {
    pub fn new(problem: &'a Problem, costs: &'a StageCosts, groups: &'a Groups, cx: &'a SearchContext) -> Self {
        let mut after = vec![0; groups.len()];
        let order = problem.order_graph(groups);
        for &(u, v) in &order.edges {
            after[order.group_of[u]] |= 1 << order.group_of[v];
        }
        let used = vec![0; problem.spec.platform.accelerators.len()];
        let (known, stages, stopped) = (FxHashMap::default(), Vec::new(), cx.should_stop());
        Self {
            problem,
            costs,
            groups,
            after,
            used,
            all: None,
            known,
            stages,
            best: None,
            cx,
            plans: 0,
            tried: 0,
            stopped,
        }
    }

    /// The best of all plans, or of those before a limit.
    pub fn best(&mut self) -> Option<Solution> {
        match self.costs.in_flight.depends_on_all() {
            false => self.walk(0, 0),
            true => (1..=self.most_parts()).for_each(|all| {
                self.all = Some(all);
                self.walk(0, 0);
            }),
        }
        let (value, stages) = self.best.take()?;
        let devices = stages.iter().rev().map(|stage| self.device(stage)).collect();
        Some(Solution { devices, objective: Some(value) })
    }

    fn devices(&self) -> usize {
        self.problem.spec.platform.accelerators.iter().map(|class| class.count).sum()
    }

    fn is_step(&self) -> bool {
        self.problem.spec.objective.microbatches().is_some()
    }

    fn most_parts(&self) -> usize {
        if self.is_step() { self.devices() } else { self.devices().min(self.costs.microbatches) }
    }

    /// Puts every stage before those that hold the groups of a mask, and take so many parts of a batch.
    fn walk(&mut self, placed: u32, parts: usize) {
        let rest = ((1_u64 << self.groups.len()) - 1) as u32 & !placed;
        if rest == 0 {
            return self.look(parts);
        }
        let mut mask = rest;
        while mask > 0 && !self.stopped {
            self.try_one();
            let has_all_after = |g: usize| mask >> g & 1 == 0 || self.after[g] & !(placed | mask) == 0;
            if (0..self.groups.len()).all(has_all_after) {
                self.degrees(mask, (placed, parts));
            }
            mask = (mask - 1) & rest;
        }
    }

    fn try_one(&mut self) {
        self.tried += 1;
        self.stopped |= self.tried.is_multiple_of(PATIENCE) && self.cx.should_stop();
    }

    /// Puts the stage of these groups before the others, with all degrees, on each class.
    fn degrees(&mut self, mask: u32, (placed, parts): (u32, usize)) {
        let costs = self.costs;
        let most = self.all.unwrap_or(self.most_parts());
        let classes = self.used.len();
        let degrees = costs.tensor_degrees.iter().flat_map(|&t| costs.data_degrees.iter().map(move |&d| (t, d)));
        for (class, (tensor, data)) in degrees.flat_map(|degrees| (0..classes).map(move |class| (class, degrees))) {
            let parts = parts + data;
            let count = self.problem.spec.platform.accelerators[class].count;
            if parts > most || self.used[class] + tensor * data > count {
                continue;
            }
            let in_flight = costs.in_flight.count(data, parts, most, costs.microbatches);
            let stage = Stage { mask, class, tensor, data, in_flight };
            if let Some(time) = self.time(stage) {
                self.stages.push((stage, time));
                self.used[class] += tensor * data;
                self.walk(placed | mask, parts);
                self.used[class] -= tensor * data;
                self.stages.pop();
            }
        }
    }

    /// Looks at a complete plan, of so many parts.
    fn look(&mut self, parts: usize) {
        if self.all.is_some_and(|all| all != parts) {
            return;
        }
        let of_replica = |&(stage, time): &(Stage, f64)| stage.data as f64 * time;
        let others = |&(stage, time): &(Stage, f64)| (self.costs.microbatches - stage.data) as f64 * time;
        let largest = |times: &mut dyn Iterator<Item = f64>| times.fold(0.0, f64::max);
        let stages = || self.stages.iter();
        let value = match self.is_step() {
            true => stages().map(of_replica).sum::<f64>() + largest(&mut stages().map(others)),
            false => largest(&mut stages().map(|&(_, time)| time)),
        };
        if self.best.as_ref().is_none_or(|&(least, _)| value < least) {
            self.best = Some((value, stages().map(|&(stage, _)| stage).collect()));
        }
        self.plans += 1;
    }

    fn time(&mut self, stage: Stage) -> Option<f64> {
        if !self.known.contains_key(&stage) {
            let mut best = None;
            let nodes = self.nodes(&stage);
            self.choose(&stage, &nodes, &mut Vec::new(), &mut best);
            self.known.insert(stage, best);
        }
        self.known[&stage].as_ref().map(|&(time, _)| time)
    }

    fn nodes(&self, stage: &Stage) -> Vec<NodeId> {
        let groups = (0..self.groups.len()).filter(|g| stage.mask >> g & 1 == 1);
        let mut nodes: Vec<NodeId> = groups.flat_map(|g| self.groups.members[g].iter().copied()).collect();
        nodes.sort_unstable();
        nodes
    }

    /// Looks at every choice of options for the nodes that have none yet.
    fn choose(
        &mut self,
        stage: &Stage,
        nodes: &[NodeId],
        chosen: &mut Vec<usize>,
        best: &mut Option<(f64, Vec<usize>)>,
    ) {
        let costs = self.costs;
        if let Some(&v) = nodes.get(chosen.len()) {
            for (option, cost) in costs.options[v].iter().enumerate() {
                if cost.is_of(stage.class, stage.tensor) && !self.stopped {
                    chosen.push(option);
                    self.choose(stage, nodes, chosen, best);
                    chosen.pop();
                }
            }
            return;
        }
        self.try_one();
        let options: Vec<&OptionCost> = nodes.iter().zip(&*chosen).map(|(&v, &o)| &costs.options[v][o]).collect();
        let lasting = |o: &&OptionCost| self.costs.bytes(o).of(stage.in_flight, stage.data);
        let used = options.iter().map(lasting).sum::<f64>() + options.iter().map(|o| o.working).fold(0.0, f64::max);
        if !fits(used, self.problem.memory_limit(DeviceKind::Accelerator(stage.class))) {
            return;
        }
        let time = self.time_of(stage, nodes, &options);
        if best.as_ref().is_none_or(|&(least, _)| time < least) {
            *best = Some((time, chosen.clone()));
        }
    }

    /// The time for each sample of a stage of these nodes in these options.
    fn time_of(&self, stage: &Stage, nodes: &[NodeId], options: &[&OptionCost]) -> f64 {
        let mut moved = 0.0;
        for (index, edge) in self.costs.edges.iter().enumerate() {
            let ends = [edge.source, edge.target].map(|v| nodes.binary_search(&v).ok());
            if let [Some(inside), None] | [None, Some(inside)] = ends {
                moved += 2.0 * (edge.bytes + options[inside].exchanged_for(index));
            }
        }
        let (data, batch) = (stage.data as f64, self.costs.microbatches as f64);
        let parameters: f64 = options.iter().map(|o| o.parameters).sum();
        let compute: f64 = options.iter().map(|o| o.compute).sum();
        compute / data + (moved / data + 4.0 * (data - 1.0) / data * parameters / batch) / self.costs.bandwidth
    }

    fn device(&self, stage: &Stage) -> DeviceAssignment {
        let nodes = self.nodes(stage);
        let chosen = self.known[stage].as_ref().map_or(&[][..], |(_, chosen)| chosen);
        let name = |(&v, &option): (&NodeId, &usize)| self.costs.options[v][option].name.clone();
        let options = nodes.iter().zip(chosen).map(name).collect();
        let ids = nodes.iter().map(|&v| self.problem.ids[v]).collect();
        let on = DeviceAssignment::new(DeviceKind::Accelerator(stage.class), ids);
        DeviceAssignment { replicas: stage.data, tensor_degree: stage.tensor, options, ..on }
    }
}
