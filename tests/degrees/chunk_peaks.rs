//! Peaks of devices with several chunks: verifier and simulator count the same bytes of every split and name the same microbatches
//! in flight, and the solver fits a pipeline into the least that any split takes, and into no byte less.

use dagsplit::instance::Instance;
use dagsplit::problem::{
    ChunkMemory, Chunks, ChunksInFlight, DeviceAssignment, DeviceKind, Objective, Placement, Problem, ProblemSpec,
    Solution,
};
use dagsplit::registry::solver;
use dagsplit::simulate::schedule::{GPipe, Interleaved, Schedule, ZbV};
use dagsplit::simulate::{Options, Pipeline, simulate};
use dagsplit::solve::{Outcome, SearchContext};
use proptest::collection::vec;
use proptest::prelude::*;

use super::plain::{TrainedLayer, training_of};
use super::verified;

const INTERLEAVED: Placement = Placement::Interleaved;
const V: Placement = Placement::VShape;
const OF_PLACEMENT: ChunksInFlight = ChunksInFlight::OfPlacement;

/// Every schedule that runs chunks, and how many it runs.
const SCHEDULES: [(usize, Placement, ChunksInFlight, &dyn Schedule); 6] = [
    (1, INTERLEAVED, OF_PLACEMENT, &Interleaved),
    (2, INTERLEAVED, OF_PLACEMENT, &Interleaved),
    (3, INTERLEAVED, OF_PLACEMENT, &Interleaved),
    (2, V, OF_PLACEMENT, &ZbV),
    (2, INTERLEAVED, ChunksInFlight::GPipe, &GPipe),
    (2, V, ChunksInFlight::GPipe, &GPipe),
];

/// Layers, devices for them, and microbatches.
type Drawn = (Vec<TrainedLayer>, usize, usize);

fn drawn() -> impl Strategy<Value = Drawn> {
    (vec((1..9u8, 0..200u8, 0..100u8, 0..100u8), 1..8), 1..5usize, 1..13usize)
}

fn spec_of(instance: &Instance, microbatches: usize, chunks: Chunks) -> ProblemSpec {
    let objective = Objective::Step { microbatches };
    ProblemSpec { objective, chunks: Some(chunks), ..ProblemSpec::of(instance) }
}

/// The splits of so many layers, each with both its passes, into so many stages on devices that hold `chunks` of them.
fn splits(layers: usize, stages: usize, chunks: Chunks) -> Vec<Solution> {
    let devices = stages / chunks.count;
    let split = |set: u32| {
        let mut split = Solution {
            devices: vec![DeviceAssignment::new(DeviceKind::Accelerator(0), Vec::new()); devices],
            objective: None,
        };
        let (mut stage, mut held) = (0, Vec::new());
        for layer in 0..layers {
            held.extend([layer as u64, (layers + layer) as u64]);
            if layer + 1 == layers || set & 1 << layer != 0 {
                let device = match chunks.placement {
                    V if stage >= devices => 2 * devices - 1 - stage,
                    _ => stage % devices,
                };
                split.devices[device].nodes.extend(&held);
                split.devices[device].chunks.push(std::mem::take(&mut held));
                stage += 1;
            }
        }
        split
    };
    let sets = (0..1_u32 << (layers - 1)).filter(|set| set.count_ones() as usize + 1 == stages);
    sets.map(split).collect()
}

/// The largest peak of the split's devices, on which verifier and simulator agree.
fn peak(instance: &Instance, split: &Solution, spec: &ProblemSpec, schedule: &dyn Schedule) -> f64 {
    let microbatches = spec.objective.microbatches().expect("a step");
    let problem = Problem::new(instance, spec.clone()).expect("valid");
    let checked = verified(instance, spec, split);
    let pipeline = Pipeline::of_split(instance, &problem, &checked).expect("a pipeline");
    let simulation = simulate(&pipeline, schedule, Options { microbatches, recompute: false }).expect("simulated");
    let memory = simulation.memory();
    for (device, peak) in checked.devices().iter().zip(&memory.peak) {
        assert_eq!(device.memory(), *peak, "{}, {microbatches} microbatches, {split:?}", schedule.name());
        assert_eq!(device.memory_parts().map(|parts| parts.total()), Some(*peak));
        assert_eq!(device.chunks_in_flight().len(), spec.chunks.expect("chunks").count);
    }
    memory.peak.iter().copied().fold(0.0, f64::max)
}

fn agree((rows, devices, microbatches): Drawn) {
    let mut instance = training_of(&rows, devices);
    for (count, placement, in_flight, schedule) in SCHEDULES {
        let memory = ChunkMemory { in_flight, training: None };
        let chunks = Chunks { memory: Some(memory), ..Chunks::new(count, placement) };
        let runs =
            |&devices: &usize| count == 1 || placement == V || in_flight != OF_PLACEMENT || microbatches % devices == 0;
        let spec = spec_of(&instance, microbatches, chunks);
        let all = (1..=devices).filter(runs).flat_map(|devices| splits(rows.len(), devices * count, chunks));
        let least = all.map(|split| peak(&instance, &split, &spec, schedule)).reduce(f64::min);
        let mut within = |bytes: f64| {
            instance.platform.accelerators[0].memory = Some(bytes);
            let problem = Problem::new(&instance, spec_of(&instance, microbatches, chunks)).expect("valid");
            instance.platform.accelerators[0].memory = None;
            solver("chunks").expect("known").solve(&problem, &mut SearchContext::new()).expect("solved").outcome
        };
        let Some(least) = least else {
            assert_eq!(within(1e9), Outcome::Infeasible, "{}", schedule.name());
            continue;
        };
        let found = within(least);
        let split = found.solution().unwrap_or_else(|| panic!("{least} bytes, {}", schedule.name())).clone();
        assert!(least == 0.0 || within(least - 1.0) == Outcome::Infeasible, "{least} bytes, {}", schedule.name());
        assert_eq!(peak(&instance, &split, &spec, schedule), least, "{}", schedule.name());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn verifier_simulator_and_solver_agree_on_chunks_to_the_byte(drawn in drawn()) {
        agree(drawn);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "takes minutes"]
    fn verifier_simulator_and_solver_agree_on_chunks_to_the_byte_on_many_cases(drawn in drawn()) {
        agree(drawn);
    }
}

/// Whatever chunks keep, the moments that the solver looks at are those of the largest memory of all.
#[test]
fn no_moment_is_left_out() {
    let kept = |seed: usize, chunk: usize| (seed * 31 + chunk * 17 + seed * chunk * 7) % 23;
    for (count, placement, in_flight, schedule) in SCHEDULES {
        let chunks =
            Chunks { memory: Some(ChunkMemory { in_flight, training: None }), ..Chunks::new(count, placement) };
        for (devices, microbatches, seed) in
            (1..6).flat_map(|devices| (1..16).flat_map(move |m| (0..3).map(move |seed| (devices, m, seed))))
        {
            if !chunks.runs(devices, microbatches) {
                continue;
            }
            let rows: Vec<TrainedLayer> =
                (0..devices * count).map(|stage| (1 + (stage % 2) as u8, 1, kept(seed, stage) as u8, 0)).collect();
            let instance = training_of(&rows, devices);
            let spec = spec_of(&instance, microbatches, chunks);
            let split = splits(rows.len(), rows.len(), chunks).remove(0);
            let _ = peak(&instance, &split, &spec, schedule);
            let checked = verified(&instance, &spec, &split);
            for (i, device) in checked.devices().iter().enumerate() {
                let stages = (0..devices * count).filter(|&stage| chunks.device_of(stage, devices) == i);
                let held: Vec<f64> = stages.map(|stage| f64::from(rows[stage].2)).collect();
                let bytes = |moment: &[usize]| moment.iter().zip(&held).map(|(&k, held)| k as f64 * held).sum::<f64>();
                let moments = chunks.in_flight(i, devices, microbatches);
                let most = moments.iter().map(|moment| bytes(moment)).fold(0.0, f64::max);
                let activations = device.memory_parts().expect("by place").activations;
                assert_eq!(most, activations, "{}, {i} of {devices}, {microbatches}", schedule.name());
                assert!(moments[0].iter().all(|&count| count > 0));
            }
        }
    }
}
