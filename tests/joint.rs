//! Partition and mapping together: the search against every split on every choice of devices.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use common::{InstanceOptions, config, instances};
use dagsplit::cost::{Piece, Synchronisation};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::mapping::{Counted, Device, Mapping, MappingProblem, Message, Stage, StageCost, StageGraph, Topology};
use dagsplit::mapping::{JointError, JointProblem, JointRun, JointSearch, UnitGraph};
use dagsplit::problem::{DeviceAssignment, DeviceKind, MemoryModel, Problem, ProblemSpec, Scope, Solution};
use dagsplit::solve::{SearchContext, Status};
use dagsplit::verify;
use proptest::prelude::*;

/// Everything that one search needs.
#[derive(Debug, Clone)]
struct Case {
    instance: Instance,
    stages: usize,
    replicas: usize,
    topology: Topology,
    cost: StageCost,
}

impl Case {
    fn spec(&self) -> ProblemSpec {
        ProblemSpec {
            platform: Platform::uniform(self.stages, None, 0),
            scope: Scope::Acyclic,
            ..ProblemSpec::of(&self.instance)
        }
    }

    fn problem(&self) -> (JointProblem, Vec<Vec<u64>>) {
        let problem = Problem::new(&self.instance, self.spec()).unwrap();
        let (units, members) = UnitGraph::new(&self.instance, &problem).unwrap();
        let Case { stages, replicas, topology, cost, .. } = self.clone();
        (JointProblem { units, stages, replicas, topology, cost }, members)
    }

    /// The stages of the nodes, as plainly as can be.
    fn stage_graph(&self, stage_of: &[usize]) -> StageGraph {
        let mut graph = StageGraph { stages: vec![Stage::default(); self.stages], ..StageGraph::default() };
        for (node, &stage) in self.instance.nodes.iter().zip(stage_of) {
            let (time, stage) = (node.accelerator_times[0].unwrap(), &mut graph.stages[stage]);
            *(if node.backward { &mut stage.backward } else { &mut stage.forward }) += time;
            stage.parameter_bytes += node.parameter_bytes;
            stage.memory += node.memory;
        }
        let index: BTreeMap<u64, usize> =
            self.instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
        let sent: BTreeSet<(usize, usize)> =
            self.instance.edges.iter().map(|e| (index[&e.source], stage_of[index[&e.target]])).collect();
        let mut bytes: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for (v, target) in sent.into_iter().filter(|&(v, target)| stage_of[v] != target) {
            *bytes.entry((stage_of[v], target)).or_default() += self.instance.nodes[v].output_bytes.unwrap();
        }
        let messages = bytes.into_iter().filter(|(_, bytes)| *bytes > 0.0);
        graph.messages = messages.map(|((source, target), bytes)| Message { source, target, bytes }).collect();
        graph
    }

    /// The best time over every split and every choice of devices.
    fn by_hand(&self) -> Option<f64> {
        let nodes = self.instance.nodes.len();
        let splits = (0..self.stages.pow(nodes as u32)).map(|code| digits(code, self.stages, nodes));
        let valid = splits.filter(|stage_of| self.is_valid(stage_of));
        valid.filter_map(|stage_of| self.best_mapping(self.stage_graph(&stage_of))).min_by(f64::total_cmp)
    }

    fn is_valid(&self, stage_of: &[usize]) -> bool {
        let nodes = |stage| {
            let held = self.instance.nodes.iter().zip(stage_of).filter(|&(_, &s)| s == stage);
            held.map(|(node, _)| node.id).collect::<Vec<_>>()
        };
        let device = |stage| DeviceAssignment::new(DeviceKind::Accelerator(0), nodes(stage));
        let solution = Solution { devices: (0..self.stages).map(device).collect(), objective: None };
        solution.devices.iter().all(|device| !device.nodes.is_empty())
            && verify::check(&self.instance, &self.spec(), &solution).is_ok()
    }

    fn best_mapping(&self, stages: StageGraph) -> Option<f64> {
        let Case { replicas, topology, cost, .. } = self.clone();
        let problem = MappingProblem { stages, replicas, topology, cost };
        let mut best: Option<f64> = None;
        each_mapping(&problem, &mut Vec::new(), &mut |mapping| {
            let time = problem.objective(mapping);
            best = Some(best.map_or(time, |best| best.min(time)));
        });
        best
    }
}

fn digits(mut code: usize, base: usize, count: usize) -> Vec<usize> {
    let mut next = || {
        let digit = code % base;
        code /= base;
        digit
    };
    (0..count).map(|_| next()).collect()
}

fn each_mapping(problem: &MappingProblem, devices: &mut Vec<usize>, visit: &mut impl FnMut(&Mapping)) {
    if devices.len() == problem.copies() {
        visit(&Mapping { devices: devices.clone() });
        return;
    }
    let stage = devices.len() / problem.replicas;
    for device in 0..problem.topology.len() {
        if !devices.contains(&device) && problem.fits(stage, device) {
            devices.push(device);
            each_mapping(problem, devices, visit);
            devices.pop();
        }
    }
}

fn topologies() -> impl Strategy<Value = Topology> {
    let links = prop::collection::vec(prop::sample::select(vec![1.0, 2.0, 8.0]), 25);
    let speeds = prop_oneof![Just(vec![1.0; 5]), prop::collection::vec(prop::sample::select(vec![1.0, 2.0]), 5)];
    let memory = prop::option::weighted(0.2, 3..20u8);
    (2..=5usize, 0..4u8, links, speeds, memory, prop::bool::weighted(0.2)).prop_map(
        |(count, form, links, speeds, memory, latency)| {
            let device = |d: usize| Device { speed: speeds[d], memory: memory.map(f64::from), ..Device::new("device") };
            let bandwidth = |a: usize, b: usize| match form {
                0 => {
                    if a / 2 == b / 2 {
                        8.0
                    } else {
                        1.0
                    }
                }
                1 => {
                    if (a + 1) % count == b || (b + 1) % count == a {
                        4.0
                    } else {
                        1.0
                    }
                }
                2 => links[5 * a.min(b) + a.max(b)],
                _ => links[5 * a + b],
            };
            let topology = Topology::new("test", "test", (0..count).map(device).collect(), bandwidth);
            if latency { topology.with_latency(|a, b| (a + b) as f64) } else { topology }
        },
    )
}

fn costs() -> impl Strategy<Value = StageCost> {
    let counted = prop_oneof![Just(Counted::Messages), Just(Counted::AllReduce), Just(Counted::Both)];
    let shapes = prop_oneof![
        Just(vec![Piece::new(1.0, 1.0, 1.0)]),
        Just(vec![Piece::new(1.0, 0.0, 0.0), Piece::new(0.0, 1.0, 1.0)]),
        Just(vec![Piece::new(1.0, 0.0, 0.0), Piece::new(0.0, 1.0, 0.0), Piece::new(0.0, 0.0, 1.0)]),
    ];
    let synchronisation = prop_oneof![Just(Synchronisation::Added), Just(Synchronisation::Overlapped)];
    (counted, shapes, synchronisation).prop_map(|(counted, pieces, synchronisation)| StageCost {
        counted,
        pieces,
        synchronisation,
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let options = InstanceOptions { max_accelerators: 1, max_classes: 1, unsupported: false, ..InstanceOptions::ALL };
    let sizes = prop_oneof![Just((1, 1)), Just((2, 1)), Just((3, 1)), Just((2, 2)), Just((1, 3))];
    let small = instances(4, options).prop_filter("small enough to try everything", |i| i.nodes.len() <= 7);
    (small, sizes, topologies(), costs()).prop_map(|(mut instance, (stages, replicas), topology, cost)| {
        instance.platform = Platform::uniform(1, None, 0);
        for node in &mut instance.nodes {
            node.output_bytes = Some(node.transfer_time);
            node.accelerator_times = vec![Some(node.accelerator_times.first().copied().flatten().unwrap_or(1.0))];
        }
        Case { instance, stages, replicas, topology, cost }
    })
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn the_search_finds_what_trying_everything_finds(case in cases()) {
        let (problem, members) = case.problem();
        let run = JointSearch::default().solve(&problem, &SearchContext::new()).unwrap();
        prop_assert!(is_proven(&run));
        let expected = case.by_hand();
        prop_assert_eq!(run.outcome.solution().map(|plan| plan.time), expected);
        let Some(plan) = run.outcome.solution() else { return Ok(()) };
        prop_assert!(common::proves(*run.outcome.bound().unwrap(), plan.time));
        let used: BTreeSet<usize> = plan.mapping.devices.iter().copied().collect();
        prop_assert_eq!(used.len(), case.stages * case.replicas);
        let mut stage_of: BTreeMap<u64, usize> = BTreeMap::new();
        for (stage, units) in plan.stages.iter().enumerate() {
            let nodes = units.iter().flat_map(|&unit| &members[unit]);
            nodes.for_each(|&node| prop_assert_once(stage_of.insert(node, stage)));
        }
        let stage_of: Vec<usize> = case.instance.nodes.iter().map(|node| stage_of[&node.id]).collect();
        prop_assert!(case.is_valid(&stage_of));
        let mapped = MappingProblem { stages: case.stage_graph(&stage_of), ..problem.mapping_problem(&plan.stages) };
        prop_assert_eq!(mapped.objective(&plan.mapping), plan.time);
    }

    /// Times that nearly tie, and hardly a start: bounds and dominance have no room for errors.
    #[test]
    fn a_narrow_beam_and_near_ties_lead_to_the_same(case in cases(), step in prop_oneof![Just(1e-3), Just(0.01)]) {
        let mut case = case;
        for (i, node) in case.instance.nodes.iter_mut().enumerate() {
            node.accelerator_times[0] = node.accelerator_times[0].map(|time| time + step * i as f64);
            node.parameter_bytes += step * (i * i) as f64;
        }
        let (problem, _) = case.problem();
        let run = JointSearch { beam: 1, ..JointSearch::default() }.solve(&problem, &SearchContext::new()).unwrap();
        prop_assert!(is_proven(&run));
        let found = run.outcome.solution().map(|plan| plan.time);
        prop_assert!(common::near(found, case.by_hand()), "{found:?}");
    }

    #[test]
    fn a_given_split_is_mapped_as_well_as_can_be(case in cases()) {
        let (problem, _) = case.problem();
        let best = JointSearch::default().solve(&problem, &SearchContext::new()).unwrap();
        let Some(plan) = best.outcome.solution() else { return Ok(()) };
        let given = problem.with_stages(&plan.stages);
        let run = JointSearch::default().solve(&given, &SearchContext::new()).unwrap();
        prop_assert!(is_proven(&run));
        prop_assert_eq!(run.outcome.solution().map(|plan| plan.time), Some(plan.time));
    }

    #[test]
    fn a_stopped_search_keeps_a_bound(case in cases()) {
        let (problem, _) = case.problem();
        let best = JointSearch::default().solve(&problem, &SearchContext::new()).unwrap();
        let stopped = SearchContext::new().with_cancellation(Arc::new(AtomicBool::new(true)));
        for (search, cx) in [
            (JointSearch::default(), stopped),
            (JointSearch { beam: 1, max_labels: 3, ..JointSearch::default() }, SearchContext::new()),
        ] {
            let run = search.solve(&problem, &cx).unwrap();
            let is_bound = |time: f64| run.outcome.bound().is_none_or(|&bound| bound <= time);
            match (run.outcome.solution(), best.outcome.solution()) {
                (Some(plan), Some(best)) => prop_assert!(best.time <= plan.time && is_bound(best.time)),
                (None, Some(best)) => prop_assert!(!is_proven(&run) && is_bound(best.time)),
                (plan, None) => prop_assert!(plan.is_none()),
            }
        }
    }
}

/// Whether a plan is proven to be the best, or that there is none.
fn is_proven(run: &JointRun) -> bool {
    matches!(run.outcome.status(), Status::Optimal | Status::Infeasible)
}

fn prop_assert_once(before: Option<usize>) {
    assert_eq!(before, None, "a node lies in two stages");
}

/// Four nodes in a row that send much, then little, then much; fast pairs of devices with a slow link between.
fn row() -> Case {
    let bytes = [8.0, 6.0, 8.0, 0.0];
    let node = |(id, bytes)| Node { accelerator_times: vec![Some(2.0)], output_bytes: Some(bytes), ..Node::new(id) };
    let instance = Instance {
        platform: Platform::uniform(1, None, 0),
        nodes: (0..4).zip(bytes).map(node).collect(),
        edges: (0..3).map(|id| Edge { source: id, target: id + 1 }).collect(),
        ..Instance::default()
    };
    let devices = (0..4).map(|d| Device::new(format!("d{d}"))).collect();
    let topology = Topology::new("pairs", "test", devices, |a, b| if a / 2 == b / 2 { 8.0 } else { 1.0 });
    Case { instance, stages: 2, replicas: 1, topology, cost: StageCost::additive(Counted::Messages) }
}

#[test]
fn a_row_is_cut_where_little_is_sent_unless_a_fast_link_is_at_hand() {
    let (problem, _) = row().problem();
    let run = JointSearch::default().solve(&problem, &SearchContext::new()).unwrap();
    let plan = run.outcome.solution().unwrap();
    assert_eq!((&plan.stages, plan.time), (&vec![vec![0, 1], vec![2, 3]], 4.0 + 6.0 / 8.0));
    assert_eq!(plan.mapping.devices[0] / 2, plan.mapping.devices[1] / 2, "one pair holds both");
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let (problem, _) = row().problem();
    let search = |problem: &JointProblem| JointSearch::default().solve(problem, &SearchContext::new());
    assert_eq!(search(&JointProblem { stages: 0, ..problem.clone() }), Err(JointError::Nothing));
    let few = JointSearch { max_ideals: 3, ..JointSearch::default() };
    assert_eq!(few.solve(&problem, &SearchContext::new()), Err(JointError::TooManyIdeals(3)));
    let none = search(&JointProblem { stages: 5, ..problem }).unwrap();
    assert!(none.outcome.status() == Status::Infeasible, "four nodes make no five stages");

    // What a stage keeps for its boundaries is no sum of its nodes' memory.
    let mut instance = row().instance;
    instance.nodes.iter_mut().for_each(|node| node.output_bytes = Some(1.0));
    let memory = MemoryModel::Recomputation { microbatches: 2 };
    let stages = Problem::new(&instance, ProblemSpec { memory, ..row().spec() }).unwrap();
    insta::assert_snapshot!(UnitGraph::new(&instance, &stages).unwrap_err(), @r"
    1 problem found
      memory: that of a stage is more than its nodes' together; ask for the memory model `additive`
    ");
}
