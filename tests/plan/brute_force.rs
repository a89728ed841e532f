//! No plan is below the bounds, and the recommended one is the best of all simulated: against every split and every
//! mapping of small workloads, each simulated by itself.

use dagsplit::instance::{Edge, EdgeBytes, Instance, Node, NodeOption, Parallelism, Platform};
use dagsplit::mapping::{
    Channel, Counted, Device, Mapping, MappingProblem, Message, Stage, StageCost, StageGraph, Topology,
};
use dagsplit::plan::{Candidate, Fate, Joint, Plan, PlanOptions, plan};
use dagsplit::problem::{Optimizer, Precision, StageMemory, Training, fits};
use dagsplit::simulate::schedule::{Interleaved, OneForwardOneBackward, Schedule, ZbV};
use dagsplit::simulate::{Collective, Communication, Links, Options, Pipeline, SimulateError, Unsuitable, simulate};
use dagsplit::solve::{SearchContext, Status};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// A layer: forward time, backward time, bytes of its output, of its parameters, and of what it keeps besides.
type Layer = (u8, u8, u8, u8, u8);

/// Bytes that links of the files move in a unit of time, fewer than those of any topology.
const FILE_BANDWIDTH: f64 = 0.125;

/// Layers for training; those of `chained` are fed by the one before, and those of `skips` by the one before that.
fn training(layers: &[Layer], chained: &[bool], skips: &[bool]) -> Instance {
    let count = layers.len() as u64;
    let node = |id: u64, time: u8, backward: bool| {
        let (_, _, output, parameters, kept) = layers[(id % count) as usize];
        let held = if backward { 0.0 } else { f64::from(parameters) + f64::from(kept) };
        // Every other node states what its output takes over a link of the file's in place of bytes.
        let states_bytes = id.is_multiple_of(2);
        Node {
            accelerator_times: vec![Some(time.into())],
            output_bytes: states_bytes.then_some(output.into()),
            transfer_time: if states_bytes { 0.0 } else { f64::from(output) / FILE_BANDWIDTH },
            parameter_bytes: if backward { 0.0 } else { parameters.into() },
            memory: held,
            color_class: Some(id % count),
            backward,
            ..Node::new(id)
        }
    };
    let forward = (0..count).map(|id| node(id, layers[id as usize].0, false));
    let backward = (0..count).map(|id| node(count + id, layers[id as usize].1, true));
    let ends = (1..count).filter(|&v| chained[v as usize]).map(|v| (v - 1, v));
    let skips = (2..count).filter(|&v| skips[v as usize]).map(|v| (v - 2, v));
    let edge = |(source, target)| Edge { source, target };
    let edges: Vec<(u64, u64)> = ends.chain(skips).collect();
    let own = (0..count).map(|v| (v, count + v));
    let back = edges.iter().map(|&(u, v)| (count + v, count + u));
    Instance {
        platform: Platform { bandwidth: Some(FILE_BANDWIDTH), ..Platform::uniform(1, None, 0) },
        nodes: forward.chain(backward).collect(),
        edges: edges.iter().copied().chain(back).chain(own).map(edge).collect(),
        ..Instance::default()
    }
}

/// The same layers with options of tensor degrees 1 and 2, each in one that keeps what the layer keeps, and one that keeps
/// nothing and takes a third longer.
fn with_options(layers: &[Layer]) -> Instance {
    let count = layers.len() as u64;
    let option = |node: u64, degree: usize, again: bool| {
        let (forward, backward, _, parameters, kept) = layers[node as usize];
        let share = 1.0 / degree as f64;
        let time = f64::from(forward + backward) * if again { 4.0 / 3.0 } else { 1.0 };
        NodeOption {
            node,
            tensor_degree: degree,
            name: if again { "recompute" } else { "vanilla" }.into(),
            time: time * share + if degree > 1 { 0.5 } else { 0.0 },
            parameter_bytes: f64::from(parameters) * share,
            weight_bytes: f64::from(parameters) * share,
            memory_per_microbatch: if again { 0.0 } else { f64::from(kept) * share },
            working_bytes: if again { f64::from(kept) * share } else { 0.0 },
            sync_out: if degree > 1 && node + 1 < count { [(node + 1, 3.0)].into() } else { Default::default() },
            ..NodeOption::default()
        }
    };
    let nodes = 0..count;
    let all = nodes.flat_map(|v| [(1, false), (1, true), (2, false), (2, true)].map(|(t, again)| option(v, t, again)));
    let edge = |v: u64| EdgeBytes { source: v - 1, target: v, bytes: layers[v as usize - 1].2.into() };
    Instance {
        platform: Platform::uniform(1, None, 0),
        nodes: (0..count).map(Node::new).collect(),
        edges: (1..count).map(|v| Edge { source: v - 1, target: v }).collect(),
        parallelism: Some(Parallelism {
            bandwidth: 1.0,
            options: all.collect(),
            edges: (1..count).map(edge).collect(),
            ..Parallelism::default()
        }),
        ..Instance::default()
    }
}

/// Every way to put `count` layers, whose edges go forward, into at most `most` stages that follow one another.
fn splits(count: usize, edges: &[(usize, usize)], most: usize) -> Vec<Vec<usize>> {
    let all = (0..most.pow(count as u32)).map(|code| (0..count).map(|v| code / most.pow(v as u32) % most).collect());
    all.filter(|stage: &Vec<usize>| {
        let used = stage.iter().max().map_or(0, |&last| last + 1);
        (0..used).all(|s| stage.contains(&s)) && edges.iter().all(|&(u, v)| stage[u] <= stage[v])
    })
    .collect()
}

/// Every way to put a chain of so many layers into stages, a number of chunks of them on each of `most` devices or fewer.
fn chunk_splits(layers: usize, chunks: usize, most: usize) -> Vec<Vec<usize>> {
    let cuts = (0..1_usize << (layers - 1))
        .map(|cuts| (0..layers).map(move |v| (cuts & ((1 << v) - 1)).count_ones() as usize));
    let splits = cuts.map(Iterator::collect::<Vec<usize>>);
    splits.filter(|stage| (1..=most).any(|devices| stage[layers - 1] + 1 == chunks * devices)).collect()
}

/// Every way to choose `count` of so many devices in order.
fn placements(count: usize, devices: usize) -> Vec<Vec<usize>> {
    let all =
        (0..devices.pow(count as u32)).map(|code| (0..count).map(|i| code / devices.pow(i as u32) % devices).collect());
    all.filter(|chosen: &Vec<usize>| (1..count).all(|i| !chosen[..i].contains(&chosen[i]))).collect()
}

/// Bytes of what lasts of so many bytes of parameters on each of so many replicas: weights, gradients, optimizer state.
fn lasting(parameters: f64, memory: StageMemory, replicas: usize) -> f64 {
    let (gradients, state) =
        memory.training.map_or((0.0, 0.0), |training| (training.gradients(), training.optimizer_state()));
    let on_each = |from: usize| if memory.zero >= from { 1.0 / replicas as f64 } else { 1.0 };
    parameters * (on_each(3) + gradients * on_each(2) + state * on_each(1))
}

/// The stages of nodes, of which so many bytes of parameters take so many bytes.
fn of_nodes(
    layers: &[Layer],
    edges: &[(usize, usize)],
    stage_of: &[usize],
    lasting: impl Fn(f64) -> f64,
) -> StageGraph {
    let stages = stage_of.iter().max().unwrap() + 1;
    let mut graph = StageGraph { stages: vec![Stage::default(); stages], ..StageGraph::default() };
    // Where no node states parameters, all of its memory lasts.
    let states_parameters = layers.iter().any(|layer| layer.3 > 0);
    for (&(forward, backward, _, parameters, kept), &stage) in layers.iter().zip(stage_of) {
        let stage = &mut graph.stages[stage];
        stage.forward += f64::from(forward);
        stage.backward += f64::from(backward);
        stage.parameter_bytes += f64::from(parameters);
        let lasting = lasting(parameters.into());
        stage.memory += lasting + f64::from(kept);
        *stage.lasting_bytes.get_or_insert(0.0) += lasting + if states_parameters { 0.0 } else { f64::from(kept) };
    }
    let mut send = |source: usize, target: usize, bytes: u8| match graph
        .messages
        .iter_mut()
        .find(|message| (message.source, message.target) == (source, target))
    {
        Some(message) => message.bytes += f64::from(bytes),
        None => graph.messages.push(Message { source, target, bytes: bytes.into() }),
    };
    for (v, layer) in layers.iter().enumerate() {
        let others = |ends: fn(&(usize, usize)) -> (usize, usize)| {
            let mut stages: Vec<usize> =
                edges.iter().map(ends).filter(|&(from, _)| from == v).map(|(_, to)| stage_of[to]).collect();
            stages.retain(|&stage| stage != stage_of[v]);
            stages.sort_unstable();
            stages.dedup();
            stages
        };
        others(|&edge| edge).into_iter().for_each(|target| send(stage_of[v], target, layer.2));
        // The gradient node sends its own output, which is as large, to whoever fed the layer.
        others(|&(u, v)| (v, u)).into_iter().for_each(|target| send(stage_of[v], target, layer.2));
    }
    // Of messages that are ready at once, the one to the earlier stage goes first.
    graph.messages.sort_by_key(|message| (message.source, message.target));
    graph
}

/// The stages of options of one tensor degree, each option chosen by the bits of `choice`.
fn of_options(
    instance: &Instance,
    stage_of: &[usize],
    (degree, choice): (usize, usize),
    (fastest, homes): (f64, &[usize]),
    lasting: impl Fn(f64) -> f64,
) -> StageGraph {
    let stated = instance.parallelism.as_ref().unwrap();
    let stages = stage_of.iter().max().unwrap() + 1;
    let mut graph = StageGraph { stages: vec![Stage::default(); stages], ..StageGraph::default() };
    let (mut kept, mut working) = (vec![0.0; stages], vec![0.0_f64; stages]);
    for (v, &s) in stage_of.iter().enumerate() {
        let name = if choice >> v & 1 == 1 { "recompute" } else { "vanilla" };
        let is_chosen = |o: &&NodeOption| o.node == v as u64 && o.tensor_degree == degree && o.name == name;
        let option = stated.options.iter().find(is_chosen).unwrap();
        let leaves = stage_of.get(v + 1).is_some_and(|&next| next != s);
        // What stays on its device is not exchanged.
        let is_sent = leaves && homes[s] != homes[s + 1];
        let exchanged = if is_sent { option.sync_out.values().sum::<f64>() / fastest } else { 0.0 };
        let stage = &mut graph.stages[s];
        stage.forward += option.time / 3.0 + exchanged;
        stage.backward += option.time * 2.0 / 3.0 + exchanged;
        stage.parameter_bytes += option.parameter_bytes;
        kept[s] += option.memory_per_microbatch;
        working[s] = working[s].max(option.working_bytes);
        *stage.lasting_bytes.get_or_insert(0.0) += lasting(option.weight_bytes);
        if leaves {
            let bytes = stated.edges[v].bytes;
            graph.messages.push(Message { source: s, target: s + 1, bytes });
            graph.messages.push(Message { source: s + 1, target: s, bytes });
        }
    }
    for (s, stage) in graph.stages.iter_mut().enumerate() {
        let lasting = stage.lasting_bytes.unwrap() + working[s];
        (stage.lasting_bytes, stage.working_bytes, stage.memory) = (Some(lasting), working[s], lasting + kept[s]);
    }
    graph
}

/// The place of each of so many stages: of p places stage s is on the one of s mod p, or down them and up again.
fn homes(candidate: &Candidate, stages: usize) -> Vec<usize> {
    let places = stages / candidate.chunks;
    match candidate.schedule.name() {
        "zb-v" => (0..places).chain((0..places).rev()).collect(),
        _ => (0..stages).map(|stage| stage % places).collect(),
    }
}

/// The shortest step of any mapping that fits in memory, with all-reduces in parts where they pass beside the compute.
fn shortest(stages: &StageGraph, topology: &Topology, candidate: &Candidate, how: Communication) -> Option<f64> {
    let replicas = candidate.shape.replicas;
    let cost = StageCost::additive(Counted::Both);
    let problem = MappingProblem { stages: stages.clone(), replicas, topology: topology.clone(), cost };
    let options = Options { microbatches: candidate.microbatches, recompute: candidate.recompute };
    let held = problem.copies() / candidate.chunks;
    let homes = homes(candidate, stages.stages.len());
    let time = |chosen: Vec<usize>| {
        let place = |copy: usize| homes[copy / replicas] * replicas + copy % replicas;
        let devices = (0..problem.copies()).map(|copy| chosen[place(copy)]).collect();
        let pipeline = Pipeline::of_mapping(&problem, &Mapping { devices }, how).unwrap();
        let pipeline = Pipeline { buckets: BUCKETS, ..pipeline };
        let simulation = match simulate(&pipeline, candidate.schedule, options) {
            Err(SimulateError::Unsuitable(Unsuitable::NotAMultiple { .. })) => return None,
            simulation => simulation.unwrap(),
        };
        let fit = simulation.memory().peak.iter().zip(&pipeline.memory).all(|(&peak, &limit)| fits(peak, limit));
        fit.then(|| simulation.makespan())
    };
    placements(held, topology.len()).into_iter().filter_map(time).min_by(f64::total_cmp)
}

/// Holds a plan against the shortest step of each of its candidates.
fn check(plan: &Plan, best_of: impl Fn(&Candidate) -> Option<f64>) -> Result<(), TestCaseError> {
    let mut best: Option<f64> = None;
    for candidate in &plan.candidates {
        let shortest = best_of(candidate);
        best = shortest.into_iter().chain(best).min_by(f64::total_cmp);
        if let Some(shortest) = shortest {
            prop_assert!(!matches!(candidate.fate, Fate::Refuted(_)), "{:?}: {shortest}", candidate.shape);
            prop_assert!(candidate.bound <= shortest * (1.0 + 1e-9), "{} above {shortest}", candidate.bound);
        }
        if let (Some(found), Some(shortest)) = (candidate.time(), shortest) {
            prop_assert!(found >= shortest * (1.0 - 1e-9), "{found} below {shortest}, the best there is");
        }
        prop_assert!(candidate.time().is_none() || shortest.is_some());
    }
    let times = plan.candidates.iter().filter_map(Candidate::time);
    let recommended = plan.best().and_then(Candidate::time);
    prop_assert_eq!(recommended, times.min_by(f64::total_cmp));
    if let Some(best) = best {
        prop_assert!(plan.lower_bound().unwrap() <= best * (1.0 + 1e-9));
        prop_assert!(plan.status() != Status::Infeasible);
    }
    if plan.status() == Status::Optimal {
        prop_assert!(recommended.unwrap() <= best.unwrap() * (1.0 + 1e-8));
    }
    Ok(())
}

fn topology(count: usize, (rates, latency): (&[u8], u8), fast: &[bool], memory: Option<u16>) -> Topology {
    let device = |d: usize| Device {
        speed: if fast[d] { 2.0 } else { 1.0 },
        memory: memory.map(f64::from),
        ..Device::new(format!("{d}"))
    };
    let rate = |a: usize, b: usize| f64::from(rates[(a * count + b) % rates.len()]);
    let mut topology =
        Topology::new("any", "made up", (0..count).map(device).collect(), rate).with_latency(|_, _| latency.into());
    // In half of the cases, the second half of the devices shares an uplink.
    let devices: Vec<usize> = (count / 2..count).collect();
    let channel = Channel { name: "uplink".into(), inside: devices.clone(), devices, bandwidth: f64::from(rates[0]) };
    topology.channels = Some(channel).filter(|_| rates[0].is_multiple_of(2)).into_iter().collect();
    topology
}

const BUCKETS: usize = 3;

/// Messages and all-reduces paid for in any way.
fn communication() -> impl Strategy<Value = Communication> {
    let links = select(vec![Links::Blocking, Links::Overlapped, Links::Contended]);
    let all_reduce = select(vec![Collective::Ring, Collective::Hierarchical, Collective::Tree, Collective::Auto]);
    (links, all_reduce).prop_map(|(links, all_reduce)| Communication { links, all_reduce })
}

/// How a model is trained, and what replicas share out of it.
fn trained() -> impl Strategy<Value = StageMemory> {
    let optimizer = prop_oneof![Just(Optimizer::Sgd), Just(Optimizer::Adam)];
    let precision = prop_oneof![Just(Precision::Fp32), Just(Precision::Bf16)];
    (optimizer, precision, 0..4usize).prop_map(|(optimizer, precision, zero)| StageMemory {
        training: Some(Training { optimizer, precision }),
        zero,
        ..StageMemory::default()
    })
}

fn options(how: Communication, batch: usize, memory: StageMemory) -> PlanOptions {
    let schedules = PlanOptions::schedules().into_iter().map(|(schedule, _)| schedule).filter(|s| s.has_backward());
    let schedules: Vec<&'static dyn Schedule> = schedules.collect();
    let mappers = ["consecutive", "exhaustive"].map(String::from).to_vec();
    let (batch, Communication { links, all_reduce }) = (Some(batch), how);
    PlanOptions { batch, schedules, links, all_reduce, buckets: BUCKETS, mappers, memory, ..PlanOptions::default() }
}

fn layer() -> impl Strategy<Value = Layer> {
    (1..9u8, 1..9u8, 0..20u8, 0..20u8, 0..20u8)
}

/// Plans layers and holds the plan against every split and mapping.
fn check_nodes(
    layers: &[Layer],
    (chained, skips): (&[bool], &[bool]),
    topology: &Topology,
    asked: &PlanOptions,
) -> Result<Plan, TestCaseError> {
    let states_parameters = layers.iter().any(|layer| layer.3 > 0);
    let kept = if states_parameters { asked.memory } else { StageMemory::default() };
    let instance = training(layers, chained, skips);
    let found =
        plan(&instance, topology, &PlanOptions { memory: kept, ..asked.clone() }, &SearchContext::new()).unwrap();
    let count = layers.len() as u64;
    let forward = instance.edges.iter().filter(|edge| edge.target < count);
    let how = Communication { links: asked.links, all_reduce: asked.all_reduce };
    let edges: Vec<(usize, usize)> = forward.map(|edge| (edge.source as usize, edge.target as usize)).collect();
    check(&found, |candidate| {
        let splits = splits(layers.len(), &edges, candidate.shape.stages);
        let lasting = |parameters| lasting(parameters, kept, candidate.shape.replicas);
        let times = splits
            .iter()
            .filter_map(|split| shortest(&of_nodes(layers, &edges, split, lasting), topology, candidate, how));
        times.min_by(f64::total_cmp)
    })?;
    Ok(found)
}

/// A plan whose memory holds one layer on each device, for as many microbatches: the bound of its shape, and its step.
fn one_layer_each(layers: &[Layer], edges: (&[bool], &[bool]), devices: usize, replicas: usize) -> (f64, f64) {
    let largest = layers.iter().map(|layer| layer.3 + layer.4).max().unwrap();
    let topology = topology(devices, (&[1], 0), &[false; 4], Some(largest.into()));
    let asked = PlanOptions {
        replicas: vec![replicas],
        schedules: vec![&OneForwardOneBackward],
        recompute: vec![false],
        ..options(Communication::default(), replicas * layers.len(), StageMemory::default())
    };
    let found = check_nodes(layers, edges, &topology, &asked).unwrap();
    let best = found.best().unwrap();
    assert_eq!(best.stages(), layers.len());
    (best.bound, best.time().unwrap())
}

/// What memory forces apart runs one after the other, which the bound counts to the end.
#[test]
fn stages_in_line_wait_for_each_other() {
    let layers = [(2, 5, 0, 0, 10), (3, 4, 0, 0, 10), (6, 1, 0, 0, 10)];
    let (bound, time) = one_layer_each(&layers, (&[true; 4], &[false; 4]), 3, 1);
    assert_eq!(time, 2.0 * 7.0 + 3.0 * 7.0);
    assert!(bound > 34.0 && bound <= time, "{bound} of {time}");
}

/// Of two branches side by side neither waits for the other: the last layer waits for one of them alone.
#[test]
fn branches_side_by_side_do_not_add_up() {
    let layers = [(1, 1, 0, 0, 10), (5, 5, 0, 0, 10), (5, 5, 0, 0, 10), (9, 9, 0, 0, 10)];
    let edges = ([true, true, false, true], [false, false, true, true]);
    let (bound, time) = one_layer_each(&layers, (&edges.0, &edges.1), 4, 1);
    assert!(bound <= time, "{bound} above {time}");
    assert!(time < 4.0 * 18.0 + 2.0 + 10.0 + 10.0, "{time}, as in line");
}

/// The all-reduce of the last stage passes while the first one runs its backward pass.
#[test]
fn all_reduces_do_not_hold_up_the_stages_before() {
    let layers = [(1, 30, 0, 60, 0), (1, 1, 0, 120, 0)];
    let (bound, time) = one_layer_each(&layers, (&[true; 4], &[false; 4]), 4, 2);
    assert!(bound <= time, "{bound} above {time}");
    assert!(time < 31.0 + 2.0 * 2.0 + 120.0, "{time}, as one after the other");
}

/// Splits for links of one bandwidth mostly miss the shortest step; split again for the links that they get, half of them find it.
#[test]
fn stages_are_split_again_for_their_places() {
    let topology = topology(4, (&[1], 0), &[false; 4], None);
    let pairs = |a: usize, b: usize| if a / 2 == b / 2 { 29.0 } else { 3.0 };
    let topology = Topology::new("pairs", "made up", topology.devices, pairs);
    let asked = PlanOptions {
        replicas: vec![1],
        schedules: vec![&OneForwardOneBackward],
        recompute: vec![false],
        joint: Joint::Never,
        ..options(Communication::default(), 4, StageMemory::default())
    };
    let (mut split_again, mut shortest) = (0, 0);
    for seed in 1..=20_u32 {
        let drawn = |i: u32, most: u8| 1 + ((100 * seed + i).wrapping_mul(2_654_435_761) >> 16) as u8 % most;
        let layers: Vec<Layer> =
            (0..6).map(|i| (drawn(3 * i, 4), drawn(3 * i + 1, 6), drawn(3 * i + 2, 30), 0, 1)).collect();
        let found = check_nodes(&layers, (&[true; 6], &[false; 6]), &topology, &asked).unwrap();
        let best = found.best().unwrap();
        split_again += usize::from(best.pipeline().unwrap().method.ends_with("+places"));
        shortest += usize::from(best.time().unwrap() <= best_step(&layers, &topology, best) * (1.0 + 1e-9));
    }
    assert!(split_again >= 10 && shortest >= 10, "{split_again} are split again, {shortest} of 20 are the shortest");
}

/// The shortest step of a chain of layers, whatever the split and the mapping.
fn best_step(layers: &[Layer], topology: &Topology, candidate: &Candidate) -> f64 {
    let edges: Vec<(usize, usize)> = (1..layers.len()).map(|v| (v - 1, v)).collect();
    let splits = splits(layers.len(), &edges, candidate.shape.stages);
    let step = |split: &Vec<usize>| {
        shortest(&of_nodes(layers, &edges, split, |_| 0.0), topology, candidate, Communication::default())
    };
    splits.iter().filter_map(step).min_by(f64::total_cmp).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn no_plan_of_nodes_is_below_its_bound(
        layers in vec(layer(), 1..5), chained in vec(proptest::bool::weighted(0.7), 4), skips in vec(any::<bool>(), 4), devices in 1..5usize, rates in vec(1..30u8, 9),
        latency in 0..3u8, fast in vec(any::<bool>(), 4), limit in proptest::option::of(20..150u16), how in communication(), batch in 1..7usize, kept in prop_oneof![Just(StageMemory::default()), trained()],
    ) {
        let topology = topology(devices, (&rates, latency), &fast, limit);
        let asked = options(how, batch, kept);
        check_nodes(&layers, (&chained, &skips), &topology, &asked)?;
    }

    #[test]
    fn no_plan_of_chunks_is_below_its_bound(
        layers in vec(layer(), 4..7), alike in any::<bool>(), devices in 2..4usize, rates in vec(1..30u8, 9), latency in 0..3u8,
        fast in vec(any::<bool>(), 3), limit in proptest::option::of(20..150u16), how in communication(), batch in 1..7usize, kept in prop_oneof![Just(StageMemory::default()), trained()],
    ) {
        // Alike layers that send nothing come to the least bubble.
        let layers = if alike { vec![(layers[0].0, layers[0].1, 0, layers[0].3, layers[0].4); layers.len()] } else { layers };
        let kept = if layers.iter().any(|layer| layer.3 > 0) { kept } else { StageMemory::default() };
        let instance = training(&layers, &[true; 6], &[false; 6]);
        let topology = topology(devices, (&rates, latency), &fast, limit);
        let schedules: Vec<&'static dyn Schedule> = vec![&Interleaved, &ZbV];
        let options = PlanOptions { schedules, ..options(how, batch, kept) };
        let found = plan(&instance, &topology, &options, &SearchContext::new()).unwrap();
        let edges: Vec<(usize, usize)> = (1..layers.len()).map(|v| (v - 1, v)).collect();
        prop_assert!(found.candidates.iter().all(|candidate| candidate.chunks == 2));
        check(&found, |candidate| {
            let splits = chunk_splits(layers.len(), candidate.chunks, candidate.shape.stages);
            let lasting = |parameters| lasting(parameters, kept, candidate.shape.replicas);
            let times = splits.iter().filter_map(|split| {
                shortest(&of_nodes(&layers, &edges, split, lasting), &topology, candidate, how)
            });
            times.min_by(f64::total_cmp)
        })?;
    }

    #[test]
    fn no_plan_of_options_is_below_its_bound(
        layers in vec(layer(), 1..4), devices in 1..4usize, rates in vec(1..30u8, 9), latency in 0..3u8, fast in vec(any::<bool>(), 3),
        limit in proptest::option::of(20..150u16), how in communication(), batch in 1..7usize, zero in prop_oneof![Just(0), Just(3)],
    ) {
        let kept = StageMemory { zero: if layers.iter().any(|layer| layer.3 > 0) { zero } else { 0 }, ..StageMemory::default() };
        let instance = with_options(&layers);
        let whole = topology(devices, (&rates, latency), &fast, limit);
        let found = plan(&instance, &whole, &options(how, batch, kept), &SearchContext::new()).unwrap();
        check(&found, |candidate| best_of_options(&instance, &layers, &whole, candidate, (how, kept)))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn no_plan_of_chunks_with_options_is_below_its_bound(
        layers in vec(layer(), 4..6), devices in 2..4usize, rates in vec(1..30u8, 9), latency in 0..3u8, fast in vec(any::<bool>(), 3),
        limit in proptest::option::of(20..150u16), how in communication(), batch in 1..7usize, zero in prop_oneof![Just(0), Just(3)],
    ) {
        let kept = StageMemory { zero: if layers.iter().any(|layer| layer.3 > 0) { zero } else { 0 }, ..StageMemory::default() };
        let whole = topology(devices, (&rates, latency), &fast, limit);
        check_chunks(&layers, &whole, 1, (how, batch, kept))?;
    }

    #[test]
    fn no_plan_of_chunks_on_pairs_of_devices_is_below_its_bound(
        layers in vec(layer(), 4..6), rates in vec(1..30u8, 9), latency in 0..3u8, fast in vec(any::<bool>(), 4),
        limit in proptest::option::of(20..100u16), how in communication(), batch in 1..7usize,
    ) {
        // Of an odd rate no channel is made.
        let rates: Vec<u8> = rates.into_iter().map(|rate| rate | 1).collect();
        let whole = topology(4, (&rates, latency), &fast, limit);
        check_chunks(&layers, &whole, 2, (how, batch, StageMemory::default()))?;
    }
}

/// Plans two chunks of layers with options on each device, or on each so many, and holds the plan against every split, options and
/// mapping.
fn check_chunks(
    layers: &[Layer],
    topology: &Topology,
    tensor: usize,
    (how, batch, kept): (Communication, usize, StageMemory),
) -> Result<(), TestCaseError> {
    let instance = with_options(layers);
    let schedules: Vec<&'static dyn Schedule> = vec![&Interleaved, &ZbV];
    let options = PlanOptions { schedules, tensor_degrees: vec![tensor], ..options(how, batch, kept) };
    let found = plan(&instance, topology, &options, &SearchContext::new()).unwrap();
    prop_assert!(found.candidates.iter().all(|one| (one.chunks, one.shape.tensor) == (2, tensor)));
    check(&found, |candidate| best_of_options(&instance, layers, topology, candidate, (how, kept)))
}

/// The shortest step of a chain of layers with options, whatever the split, the options and the mapping.
fn best_of_options(
    instance: &Instance,
    layers: &[Layer],
    whole: &Topology,
    candidate: &Candidate,
    (how, kept): (Communication, StageMemory),
) -> Option<f64> {
    let edges: Vec<(usize, usize)> = (1..layers.len()).map(|v| (v - 1, v)).collect();
    let degree = candidate.shape.tensor;
    let lasting = |parameters| lasting(parameters, kept, candidate.shape.replicas);
    let grouped = if degree == 1 { whole.clone() } else { group(whole) };
    let pairs = (0..grouped.len().pow(2)).map(|i| (i / grouped.len(), i % grouped.len())).filter(|(a, b)| a != b);
    let fastest = pairs.map(|(a, b)| grouped.bandwidth(a, b)).fold(0.0, f64::max);
    let splits = match candidate.chunks {
        1 => splits(layers.len(), &edges, candidate.shape.stages),
        chunks => chunk_splits(layers.len(), chunks, candidate.shape.stages),
    };
    let all = splits.iter().flat_map(|split| (0..1 << layers.len()).map(move |choice| (split, choice)));
    let times = all.filter_map(|(split, choice)| {
        let homes = homes(candidate, split.iter().max().map_or(0, |&last| last + 1));
        let stages = of_options(instance, split, (degree, choice), (fastest, &homes), lasting);
        shortest(&stages, &grouped, candidate, how)
    });
    times.min_by(f64::total_cmp)
}

/// Each two devices as one, which sends to its like.
fn group(topology: &Topology) -> Topology {
    let pair = |two: &[Device]| Device { speed: two[0].speed.min(two[1].speed), ..two[0].clone() };
    let devices = topology.devices.chunks_exact(2).map(pair).collect();
    let rate = |a: usize, b: usize| topology.bandwidth(2 * a, 2 * b).min(topology.bandwidth(2 * a + 1, 2 * b + 1));
    let latency = |a: usize, b: usize| topology.latency(2 * a, 2 * b).max(topology.latency(2 * a + 1, 2 * b + 1));
    Topology::new("pairs", "made up", devices, rate).with_latency(latency)
}
