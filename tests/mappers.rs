//! Mappers by rule, by local search and by the published search, each held against the exhaustive one and the verifier.

mod mappings;

use dagsplit::cost::{CostModel, Costs, PerEdge, Piece, ProfiledCost, Synchronisation};
use dagsplit::instance::{AcceleratorClass, Edge, Instance, Node, Platform, Problems};
use dagsplit::mapping::{
    ClaimedMapping, Consecutive, Counted, Device, Exhaustive, Mapper, Mapping, MappingOutcome, MappingProblem,
    MappingRun, Message, Parmesan2024, PointToPoint, Stage, StageCost, StageGraph, Topology,
};
use dagsplit::problem::{DeviceAssignment, DeviceKind, Problem, ProblemSpec, Solution};
use dagsplit::registry;
use dagsplit::solve::SearchContext;
use dagsplit::verify::mapping::check;
use mappings::problem;
use proptest::prelude::*;

/// What the run says that no mapping is below; 0 where it says nothing.
fn bound(run: &MappingRun) -> f64 {
    run.outcome.bound().copied().unwrap_or(0.0)
}

/// The objective of a run, which the verifier has to pass; `None` where it has no mapping.
fn verified(problem: &MappingProblem, run: &MappingRun) -> Option<f64> {
    let mapping = run.outcome.solution()?;
    let claim = ClaimedMapping::new(problem, mapping);
    let verified = check(problem, &claim).unwrap_or_else(|violations| panic!("{violations:?}\n{problem:?}"));
    Some(verified.objective())
}

/// The optimum, `None` where there is no mapping.
fn optimum(problem: &MappingProblem) -> Option<f64> {
    verified(problem, &Exhaustive.map(problem, &SearchContext::new()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_published_search_equals_the_exhaustive_one(problem in problem(6), threads in 1..4_usize) {
        let mut cx = SearchContext::new();
        cx.threads = threads;
        let run = Parmesan2024::default().map(&problem, &cx);
        match (optimum(&problem), verified(&problem, &run)) {
            (None, found) => prop_assert_eq!((found, run.outcome), (None, MappingOutcome::Infeasible)),
            (Some(optimum), Some(found)) => {
                prop_assert!(matches!(run.outcome, MappingOutcome::Optimal { .. }), "{:?}", run.outcome);
                prop_assert!((found - optimum).abs() <= 1e-8 * optimum, "found {}, optimum {}", found, optimum);
                prop_assert!(bound(&run) <= optimum * (1.0 + 1e-12));
            }
            (Some(optimum), None) => prop_assert!(false, "no mapping where the optimum is {}", optimum),
        }
    }

    #[test]
    fn bounds_before_any_search_hold(problem in problem(6)) {
        // A gap of everything is reached at once: the bound is that of equations 10 and 11.
        let mut cx = SearchContext::new();
        cx.gap = 1.0;
        let run = Parmesan2024::default().map(&problem, &cx);
        if let Some(optimum) = optimum(&problem) {
            prop_assert!(bound(&run) <= optimum * (1.0 + 1e-12), "bound {} above the optimum {}", bound(&run), optimum);
        }
    }

    #[test]
    fn bounds_of_heuristics_hold(problem in problem(6)) {
        if let Some(optimum) = optimum(&problem) {
            for name in ["consecutive", "p2p", "greedy", "random", "swap"] {
                let run = registry::mapper(name).expect("it is listed").map(&problem, &SearchContext::new());
                let bound = run.outcome.bound().copied();
                prop_assert!(bound.is_some_and(|bound| bound <= optimum * (1.0 + 1e-12)), "{name}: {bound:?}");
            }
        }
    }

    #[test]
    fn local_search_is_no_worse_than_its_starts(problem in problem(8)) {
        let objective = |name: &str| {
            let run = registry::mapper(name).expect("it is listed").map(&problem, &SearchContext::new());
            verified(&problem, &run).unwrap_or(f64::INFINITY)
        };
        let swapped = objective("swap:restarts=0");
        for start in ["consecutive", "p2p", "greedy"] {
            prop_assert!(swapped <= objective(start), "{}", start);
        }
    }
}

proptest! {
    // Annealing takes its time, whatever the problem.
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_mapper_is_valid_the_same_twice_and_never_below_the_optimum(problem in problem(6), seed in 0..4_u64) {
        let optimum = optimum(&problem);
        for kind in registry::mappers() {
            let run = || {
                let mut cx = SearchContext::new();
                cx.seed = seed;
                let mut run = registry::mapper(kind.name).expect("it is listed").map(&problem, &cx);
                // All but the time that it took.
                run.stats.techniques.iter_mut().for_each(|technique| technique.seconds = 0.0);
                run
            };
            let first = run();
            prop_assert_eq!(&first, &run());
            let found = verified(&problem, &first);
            let found = found.zip(optimum);
            prop_assert!(found.is_none_or(|(found, optimum)| found >= optimum * (1.0 - 1e-12)), "{}", kind.name);
            prop_assert!(optimum.is_none_or(|optimum| bound(&first) <= optimum * (1.0 + 1e-12)), "{}", kind.name);
            prop_assert!(!kind.exact || found.is_some() == optimum.is_some(), "{}", kind.name);
        }
    }
}

/// Two stages in two copies on two nodes of two, ten times faster inside: bandwidth 10 and 1.
fn two_nodes(parameter_bytes: f64, bytes: f64, counted: Counted) -> MappingProblem {
    let stage =
        |name: &str| Stage { name: name.into(), forward: 1.0, backward: 2.0, parameter_bytes, ..Stage::default() };
    let message = |source, target| Message { source, target, bytes };
    let stages = StageGraph {
        name: "pair".into(),
        stages: vec![stage("a"), stage("b")],
        messages: vec![message(0, 1), message(1, 0)],
    };
    let devices = (0..4).map(|d| Device::new(d.to_string())).collect();
    let topology = Topology::new("nodes", "", devices, |a, b| if a / 2 == b / 2 { 10.0 } else { 1.0 });
    MappingProblem { stages, replicas: 2, topology, cost: StageCost::additive(counted) }
}

#[test]
fn consecutive_puts_replicas_and_p2p_puts_pipelines_side_by_side() {
    let problem = two_nodes(20.0, 10.0, Counted::Both);
    let (cs, p2p) = (Consecutive::place(&problem).unwrap(), PointToPoint::place(&problem).unwrap());
    assert_eq!(cs, Mapping { devices: vec![0, 1, 2, 3] });
    assert_eq!(p2p, Mapping { devices: vec![0, 2, 1, 3] });
    // CS: 3, two messages of 10 at 1, and 2 (2 − 1) / 2 · 20 at 10. p2p: 3, two messages at 10, and 20 at 1.
    assert_eq!(problem.objective(&cs), 3.0 + 20.0 + 2.0);
    assert_eq!(problem.objective(&p2p), 3.0 + 2.0 + 20.0);
}

#[test]
fn what_the_paper_counts_depends_on_the_bytes() {
    // 2 (R − 1) / R = 1 for two replicas: 40 bytes of weights against 20 of messages, then 16 against 20.
    assert_eq!(Counted::dominant(&two_nodes(20.0, 10.0, Counted::Both).stages, 2), Counted::AllReduce);
    assert_eq!(Counted::dominant(&two_nodes(8.0, 10.0, Counted::Both).stages, 2), Counted::Messages);
    assert_eq!(Counted::dominant(&two_nodes(20.0, 10.0, Counted::Both).stages, 1), Counted::Messages);
}

#[test]
fn a_search_cut_off_at_once_keeps_a_mapping_and_a_bound_that_holds() {
    let problem = two_nodes(20.0, 10.0, Counted::Messages);
    let cx = SearchContext::new().with_time_limit(std::time::Duration::ZERO);
    let run = Parmesan2024::default().map(&problem, &cx);
    // The better of CS and p2p is p2p, which is the best there is; nothing was searched.
    assert_eq!(verified(&problem, &run), Some(5.0));
    assert!(bound(&run) <= 5.0 && bound(&run) > 4.9);
}

#[test]
fn searches_that_time_out_prove_nothing() {
    let problem = two_nodes(20.0, 10.0, Counted::Both);
    let run = Parmesan2024 { timeout: std::time::Duration::ZERO }.map(&problem, &SearchContext::new());
    let optimum = optimum(&problem).unwrap();
    assert!(matches!(run.outcome, MappingOutcome::Feasible { .. }) && bound(&run) <= optimum);
}

/// A chain 1 → 2 → 3 → 4 with its backward pass for two accelerators; 1 also feeds 4.
fn training() -> Instance {
    let node = |id: u64, backward| Node {
        accelerator_times: vec![Some(id as f64)],
        cpu_time: None,
        backward,
        color_class: Some(id % 10),
        output_bytes: Some(100.0 * id as f64),
        parameter_bytes: if backward { 0.0 } else { 7.0 },
        memory: 5.0,
        ..Node::new(id)
    };
    let edge = |(source, target)| Edge { source, target };
    Instance {
        platform: Platform::uniform(2, None, 0),
        nodes: (1..=4).map(|id| node(id, false)).chain((11..=14).map(|id| node(id, true))).collect(),
        edges: [(1, 2), (2, 3), (3, 4), (1, 4), (4, 14), (14, 13), (13, 12), (12, 11)].map(edge).to_vec(),
        ..Instance::default()
    }
}

fn device(nodes: &[u64]) -> DeviceAssignment {
    DeviceAssignment::new(DeviceKind::Accelerator(0), nodes.to_vec())
}

fn stages_of(instance: &Instance, split: &Solution) -> Result<StageGraph, Problems> {
    StageGraph::of(instance, &Problem::new(instance, ProblemSpec::of(instance)).unwrap(), split)
}

#[test]
fn the_stages_of_a_split_come_in_pipeline_order() {
    let split =
        Solution { devices: vec![device(&[3, 4, 13, 14]), device(&[]), device(&[1, 2, 11, 12])], objective: None };
    let graph = stages_of(&training(), &split).unwrap();
    let figures: Vec<_> = graph.stages.iter().map(|s| (s.forward, s.backward, s.parameter_bytes, s.memory)).collect();
    assert_eq!(figures, [(3.0, 23.0, 14.0, 20.0), (7.0, 27.0, 14.0, 20.0)]);
    // Forward the outputs of 1 (for 4) and of 2 (for 3), backward that of 13.
    let messages: Vec<_> = graph.messages.iter().map(|m| (m.source, m.target, m.bytes)).collect();
    assert_eq!(messages, [(0, 1, 300.0), (1, 0, 1300.0)]);
}

#[test]
fn an_output_is_sent_once_to_each_stage_that_consumes_it() {
    let mut instance = training();
    instance.nodes.retain(|node| !node.backward);
    instance.edges = vec![Edge { source: 1, target: 2 }, Edge { source: 1, target: 3 }, Edge { source: 1, target: 4 }];
    let split = Solution { devices: vec![device(&[1]), device(&[2, 3]), device(&[4])], objective: None };
    let graph = stages_of(&instance, &split).unwrap();
    let messages: Vec<_> = graph.messages.iter().map(|m| (m.source, m.target, m.bytes)).collect();
    assert_eq!(messages, [(0, 1, 100.0), (0, 2, 100.0)]);

    // Without bytes a transfer time stands for them where the bandwidth is known.
    let timed = |bandwidth| {
        let mut instance = instance.clone();
        instance.platform.bandwidth = bandwidth;
        instance.nodes.iter_mut().for_each(|node| (node.output_bytes, node.transfer_time) = (None, 2.0));
        stages_of(&instance, &split)
    };
    assert_eq!(timed(Some(8.0)).unwrap().messages[0].bytes, 16.0);
    // A size beyond all numbers is none; to split such an instance asks for no size.
    assert_eq!(timed(Some(f64::MAX)).unwrap_err().to_string(), timed(None).unwrap_err().to_string());
    insta::assert_snapshot!(timed(None).unwrap_err(), @r"
    1 problem found
      node 1: its output goes to another stage and has no size; state its `output_bytes`, or the platform's `bandwidth`
    ");
}

/// Accelerators that compute beside their transfers, at half speed, keep twice as much and send everything doubled.
#[derive(Debug)]
struct Doubled;

impl CostModel for Doubled {
    fn costs(&self, instance: &Instance, spec: &ProblemSpec) -> Costs {
        let mut costs = ProfiledCost.costs(instance, spec);
        let accelerators = &mut costs.kinds[0];
        accelerators.nodes.iter_mut().flatten().for_each(|node| {
            (node.compute, node.memory) = (2.0 * node.compute, 2.0 * node.memory);
        });
        accelerators.pieces = vec![Piece::COMPUTE, Piece::new(0.0, 1.0, 1.0)];
        costs.transfers.iter_mut().for_each(|transfer| transfer.bytes = transfer.bytes.map(|bytes| 2.0 * bytes));
        costs.synchronisation = Synchronisation::Overlapped;
        costs
    }
}

#[test]
fn stages_cost_what_the_costs_of_the_problem_say() {
    let mut instance = training();
    instance.nodes.retain(|node| !node.backward);
    instance.edges = vec![Edge { source: 1, target: 2 }, Edge { source: 1, target: 3 }, Edge { source: 1, target: 4 }];
    let split = Solution { devices: vec![device(&[1]), device(&[2, 3, 4])], objective: None };
    let problem = |model: &dyn CostModel| Problem::with_costs(&instance, ProblemSpec::of(&instance), model).unwrap();
    let stages = |problem: &Problem| {
        let graph = StageGraph::of(&instance, problem, &split).unwrap();
        let stages: Vec<_> = graph.stages.iter().map(|stage| (stage.forward, stage.memory)).collect();
        (stages, graph.messages[0].bytes)
    };
    assert_eq!(stages(&problem(&ProfiledCost)), (vec![(1.0, 5.0), (9.0, 15.0)], 100.0));
    assert_eq!(stages(&problem(&Doubled)), (vec![(2.0, 10.0), (18.0, 30.0)], 200.0));
    // Edge by edge, the second stage gets the output three times.
    assert_eq!(stages(&problem(&PerEdge(ProfiledCost))).1, 300.0);

    let cost = StageCost::of(&problem(&Doubled), Counted::Both).unwrap();
    assert_eq!((cost.pieces.len(), cost.adds_all_reduce()), (2, false));
    assert_eq!(StageCost::of(&problem(&ProfiledCost), Counted::Both), Ok(StageCost::additive(Counted::Both)));
}

#[test]
fn classes_whose_loads_differ_have_no_common_stage_times() {
    let mut instance = training();
    instance.nodes.iter_mut().for_each(|node| node.accelerator_times.push(Some(1.0)));
    let other = AcceleratorClass { load: Some(vec![Piece::COMPUTE]), ..instance.platform.accelerators[0].clone() };
    instance.platform.accelerators.push(other);
    let problem = Problem::new(&instance, ProblemSpec::of(&instance)).unwrap();
    insta::assert_snapshot!(StageCost::of(&problem, Counted::Both).unwrap_err(), @r"
    1 problem found
      platform: its classes of accelerators differ in their loads, as no devices of a topology do; map splits of an instance whose classes all state the same load, or none
    ");
}

#[test]
fn limits_are_kept_where_no_mapping_is_complete() {
    // Eleven copies fit anywhere, the last one nowhere.
    let mut stages = vec![Stage::default(); 12];
    stages[11].memory = 2.0;
    let device = |d: usize| Device { memory: Some(1.0), ..Device::new(d.to_string()) };
    let topology = Topology::new("small", "", (0..12).map(device).collect(), |_, _| 1.0);
    let stages = StageGraph { name: "large".into(), stages, messages: Vec::new() };
    let problem = MappingProblem { stages, replicas: 1, topology, cost: StageCost::additive(Counted::Both) };
    let cx = SearchContext::new().with_time_limit(std::time::Duration::ZERO);
    assert_eq!(Exhaustive.map(&problem, &cx).outcome, MappingOutcome::Unknown { bound: None });
}

#[test]
fn rules_and_local_search_keep_limits() {
    let problem = two_nodes(20.0, 10.0, Counted::Both);
    let cx = SearchContext::new().with_time_limit(std::time::Duration::ZERO);
    let run = |name: &str| registry::mapper(name).expect("it is listed").map(&problem, &cx);
    assert_eq!(run("greedy").outcome, MappingOutcome::Unknown { bound: Some(3.0) }, "what a stage computes");
    // The consecutive mapping, as it is.
    let swapped = run("swap");
    assert_eq!((verified(&problem, &swapped), &swapped.stats.figures[..]), (Some(25.0), &[("swaps", 0.0)][..]));
}

#[test]
fn splits_that_make_no_stages_are_refused() {
    let cpu = DeviceAssignment::new(DeviceKind::Cpu, vec![1]);
    let split = Solution { devices: vec![cpu, device(&[2, 3])], objective: None };
    let mut instance = training();
    instance.nodes.retain(|node| !node.backward);
    instance.edges.retain(|edge| edge.source.max(edge.target) <= 4);
    insta::assert_snapshot!(stages_of(&instance, &split).unwrap_err(), @r"
    2 problems found
      device 0: it is a CPU, which no topology has; map splits without CPUs, as of `dagsplit solve --cpus 0`
      node 4: it is on no device; give a whole split
    ");

    // What waits for the other device in between is no stage.
    let split = Solution { devices: vec![device(&[1, 3]), device(&[2, 4])], objective: None };
    insta::assert_snapshot!(stages_of(&instance, &split).unwrap_err(), @r"
    1 problem found
      split: devices wait for each other within the forward pass, as no stages do; map splits that are contiguous, as of `dagsplit solve`
    ");

    (instance.nodes[2].accelerator_times, instance.nodes[2].cpu_time) = (vec![None], Some(1.0));
    let split = Solution { devices: vec![device(&[1, 2]), device(&[3, 4])], objective: None };
    insta::assert_snapshot!(stages_of(&instance, &split).unwrap_err(), @r"
    1 problem found
      node 3: device 1 cannot run it; put it on a device that has a time for it
    ");
}

mod violations {
    use dagsplit::mapping::PlacedCopy;
    use dagsplit::verify::mapping::MappingViolation;

    use super::*;

    fn problem() -> MappingProblem {
        let mut problem = two_nodes(20.0, 10.0, Counted::Both);
        problem.topology.devices[3].memory = Some(1.0);
        problem.stages.stages[0].memory = 2.0;
        problem
    }

    /// Violations of the mapping of the four copies to these devices, after `change`.
    fn violations(devices: [usize; 4], change: impl FnOnce(&mut ClaimedMapping)) -> Vec<MappingViolation> {
        let copy = |(i, &device): (usize, &usize)| PlacedCopy { stage: i / 2, replica: i % 2, device, time: None };
        let copies = devices.iter().enumerate().map(copy).collect();
        let mut claim = ClaimedMapping { copies, ..ClaimedMapping::default() };
        change(&mut claim);
        check(&problem(), &claim).err().unwrap_or_default()
    }

    /// A claim is a mapping where it places each copy once, told in any order.
    #[test]
    fn a_claim_that_is_no_mapping_makes_none() {
        let problem = problem();
        let copy = |(i, device): (usize, usize)| PlacedCopy { stage: i / 2, replica: i % 2, device, time: None };
        let claim =
            ClaimedMapping { copies: [(2, 1), (0, 3), (3, 0), (1, 2)].map(copy).to_vec(), ..ClaimedMapping::default() };
        assert_eq!(claim.to_mapping(&problem), Some(Mapping { devices: vec![3, 2, 1, 0] }));
        let changed = |change: fn(&mut PlacedCopy)| {
            let mut claim = claim.clone();
            change(&mut claim.copies[0]);
            claim.to_mapping(&problem)
        };
        for change in [
            |copy: &mut PlacedCopy| copy.replica = 1,
            |copy: &mut PlacedCopy| copy.replica = 2,
            |copy: &mut PlacedCopy| copy.stage = 2,
            |copy: &mut PlacedCopy| copy.stage = usize::MAX,
        ] {
            assert_eq!(changed(change), None);
        }
        assert_eq!(ClaimedMapping { copies: claim.copies[1..].to_vec(), ..claim }.to_mapping(&problem), None);
    }

    #[test]
    fn each_is_found() {
        use MappingViolation::*;
        assert_eq!(violations([0, 1, 2, 3], |_| ()), []);
        assert_eq!(violations([0, 1, 2, 3], |c| c.copies.truncate(3)), [MissingCopy { stage: 1, replica: 1 }]);
        let repeated = RepeatedCopy { stage: 0, replica: 0, devices: (0, 3) };
        let again = PlacedCopy { stage: 0, replica: 0, device: 3, time: None };
        assert_eq!(violations([0, 1, 2, 3], |c| c.copies.push(again)), [repeated]);
        let unknown = PlacedCopy { stage: 2, replica: 0, device: 0, time: None };
        let expected = UnknownCopy { stage: 2, replica: 0, stages: 2, replicas: 2 };
        assert_eq!(violations([0, 1, 2, 3], |c| c.copies.push(unknown)), [expected]);
        let nowhere = UnknownDevice { stage: 1, replica: 1, device: 4, devices: 4 };
        assert_eq!(violations([0, 1, 2, 4], |_| ()), [nowhere]);
        let shared = SharedDevice { device: 0, first: (0, 0), second: (1, 0) };
        assert_eq!(violations([0, 1, 0, 3], |_| ()), [shared]);
        let memory = MemoryExceeded { stage: 0, replica: 1, device: 3, needed: 2.0, limit: 1.0 };
        assert_eq!(violations([0, 3, 2, 1], |_| ()), [memory]);
        // CS takes 25 everywhere.
        let slow = WrongTime { stage: 0, replica: 0, claimed: 24.0, recomputed: 25.0 };
        assert_eq!(violations([0, 1, 2, 3], |c| c.copies[0].time = Some(24.0)), [slow]);
        let wrong = WrongObjective { claimed: 24.0, recomputed: 25.0 };
        assert_eq!(violations([0, 1, 2, 3], |c| c.objective = Some(24.0)), [wrong]);
        assert_eq!(violations([0, 1, 2, 3], |c| c.objective = Some(25.0)), []);
        assert!(matches!(violations([0, 1, 2, 3], |c| c.objective = Some(f64::NAN))[..], [WrongObjective { .. }]));
    }

    #[test]
    fn messages_say_what_to_do() {
        insta::assert_snapshot!(violations([0, 3, 0, 7], |_| ()).iter().map(|v| format!("{v}\n")).collect::<String>(), @r"
        copy 1 of stage 1 is on device 7, but there are 4; name one of them
        copy 1 of stage 0 needs 2 bytes, but device 3 has 1; move it
        device 0 holds copy 0 of stage 0 and copy 0 of stage 1; move one of them
        ");
    }
}
