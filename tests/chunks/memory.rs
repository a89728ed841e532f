//! Memory by place of devices with several chunks: the solver against all splits, within limits that bind.

use dagsplit::instance::Instance;
use dagsplit::problem::{
    ChunkMemory, Chunks, ChunksInFlight, CostKind, MOST_IN_FLIGHT, Objective, Optimizer, Placement, Precision, Problem,
    ProblemSpec, Solution, Training,
};
use dagsplit::registry::solver;
use dagsplit::verify::{self, Verified, VerifiedDevice, Violation};
use proptest::prelude::*;
use proptest::sample::Index;

use super::common::{config, drawn, layers, near, solve_and_verify};
use super::{INTERLEAVED, chunk_problems, chunked, split_of, splits, trained};

/// Problems whose memory depends on the place, and which of the peaks that splits have is the limit.
fn memory_problems(most_groups: usize) -> impl Strategy<Value = (Instance, ProblemSpec, Index)> {
    let in_flight = prop_oneof![
        4 => Just(ChunksInFlight::OfPlacement),
        1 => Just(ChunksInFlight::GPipe),
        1 => (1..4usize).prop_map(ChunksInFlight::Constant),
    ];
    let adam = Training { optimizer: Optimizer::Adam, precision: Precision::Bf16 };
    let training = prop_oneof![3 => Just(None), 1 => Just(Some(adam))];
    // Two and three devices run six microbatches.
    let rounds = prop_oneof![1 => Just(1), 3 => Just(6)];
    let problems = (chunk_problems(most_groups), in_flight, training, rounds, any::<Index>());
    problems.prop_map(|((mut instance, mut spec), in_flight, training, rounds, limit)| {
        let microbatches = rounds * spec.objective.microbatches().unwrap();
        (spec.objective, spec.cost) = (Objective::Step { microbatches }, CostKind::Additive);
        for class in instance.platform.accelerators.iter_mut().chain(&mut spec.platform.accelerators) {
            (class.load, class.memory) = (None, None);
        }
        let training = training.filter(|_| instance.knows_parameters());
        let memory = Some(ChunkMemory { in_flight, training });
        let chunks = spec.chunks.map(|chunks| Chunks { memory, ..chunks });
        (instance, ProblemSpec { chunks, ..spec }, limit)
    })
}

/// The peak of memory and the step of every split that the verifier passes without a limit, by peak.
fn peaks_and_steps(instance: &Instance, spec: &ProblemSpec) -> Vec<(f64, f64)> {
    let checked = |split| verify::check(instance, spec, &split).ok();
    let peak = |verified: &Verified| verified.devices().iter().map(|device| device.memory()).fold(0.0, f64::max);
    let mut all: Vec<(f64, f64)> =
        splits(instance, spec).filter_map(checked).map(|verified| (peak(&verified), verified.objective())).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

/// The best step of splits within so many bytes.
fn best_within(all: &[(f64, f64)], bytes: f64) -> Option<f64> {
    all.iter().filter(|(peak, _)| *peak <= bytes).map(|&(_, step)| step).reduce(f64::min)
}

/// A limit below what any best split takes, where there is one; else one that some split takes.
fn limit(all: &[(f64, f64)], drawn: &Index) -> f64 {
    let best = best_within(all, f64::INFINITY);
    let binding = all.partition_point(|&(peak, _)| !near(best_within(all, peak), best));
    all[drawn.index(if binding == 0 { all.len() } else { binding })].0
}

fn meets_the_best_within_the_limit((instance, mut spec, drawn): (Instance, ProblemSpec, Index)) {
    let all = peaks_and_steps(&instance, &spec);
    let mut check = |bytes: f64| {
        spec.platform.accelerators.iter_mut().for_each(|class| class.memory = Some(bytes));
        let found = solve_and_verify(solver("chunks").unwrap().as_ref(), &instance, &spec);
        let best = best_within(&all, bytes);
        assert!(near(found, best), "{found:?}, not {best:?}: {spec:?}, {instance:?}");
    };
    if all.is_empty() {
        return check(1e9);
    }
    check(limit(&all, &drawn));
    check((all[0].0 - 0.5).max(0.0));
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn the_best_of_all_splits_within_memory_by_place_is_found_and_proven(problem in memory_problems(6)) {
        meets_the_best_within_the_limit(problem);
    }
}

#[test]
#[ignore = "minutes: 2,000 problems of more stages against all splits"]
fn two_thousand_problems_with_memory_by_place() {
    drawn(&memory_problems(7), 2_000).for_each(meets_the_best_within_the_limit);
}

/// Many of the problems have no best split within the limit.
#[test]
fn limits_of_drawn_problems_bind() {
    let binds = |(instance, spec, drawn): &(Instance, ProblemSpec, Index)| {
        let all = peaks_and_steps(instance, spec);
        !all.is_empty() && !near(best_within(&all, limit(&all, drawn)), best_within(&all, f64::INFINITY))
    };
    let count = drawn(&memory_problems(6), 200).filter(binds).count();
    assert!(count >= 30, "{count}");
}

fn by_place(instance: &Instance, microbatches: usize, count: usize, placement: Placement) -> ProblemSpec {
    let mut spec = chunked(instance, microbatches, count, placement);
    spec.chunks.as_mut().unwrap().memory = Some(ChunkMemory::default());
    spec
}

/// Trained layers that keep so many bytes of each microbatch and have a byte of parameters.
fn trained_layers(kept: &[f64]) -> Instance {
    let mut instance = trained(&vec![1.0; kept.len()], 2);
    for (node, kept) in instance.nodes.iter_mut().zip(kept) {
        (node.memory, node.parameter_bytes) = (1.0 + kept, 1.0);
    }
    instance
}

pub fn four_layers() -> Instance {
    trained_layers(&[1.0, 10.0, 100.0, 1_000.0])
}

fn four_stages(chunks: Chunks) -> Solution {
    split_of(&[vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]], chunks)
}

#[test]
fn memory_by_place_by_hand() {
    let instance = four_layers();
    let devices = |spec: &ProblemSpec| {
        let verified = verify::check(&instance, spec, &four_stages(spec.chunks.unwrap())).unwrap();
        let found = |device: &VerifiedDevice| (device.memory(), device.chunks_in_flight().to_vec());
        verified.devices().iter().map(found).collect::<Vec<_>>()
    };
    // Interleaved 1F1B lets the first device begin with four forward passes before the turns, two of each chunk. Then it has
    // three and two microbatches in flight, or four and one; the second device two and one, or three and none.
    let interleaved = by_place(&instance, 4, 2, INTERLEAVED);
    assert_eq!(devices(&interleaved), [(2.0 + 203.0, vec![3, 2]), (2.0 + 1_020.0, vec![2, 1])]);
    // In a V the first device holds the stages 0 and 3: of four microbatches three may go down before one comes up.
    let v = by_place(&instance, 4, 2, Placement::VShape);
    assert_eq!(devices(&v), [(2.0 + 1_003.0, vec![3, 1]), (2.0 + 220.0, vec![2, 2])]);
    let gpipe = |count| {
        let mut spec = by_place(&instance, 4, 2, INTERLEAVED);
        spec.chunks.as_mut().unwrap().memory.as_mut().unwrap().in_flight = count;
        devices(&spec)
    };
    assert_eq!(gpipe(ChunksInFlight::GPipe), [(2.0 + 404.0, vec![4, 4]), (2.0 + 4_040.0, vec![4, 4])]);
    assert_eq!(gpipe(ChunksInFlight::Constant(2)), [(2.0 + 202.0, vec![2, 2]), (2.0 + 2_020.0, vec![2, 2])]);
    // Adam in bf16 takes 8 bytes for a byte of weights, in place of what lasts by the file.
    let mut adam = by_place(&instance, 4, 2, INTERLEAVED);
    let training = Some(Training { optimizer: Optimizer::Adam, precision: Precision::Bf16 });
    adam.chunks.as_mut().unwrap().memory.as_mut().unwrap().training = training;
    assert_eq!(devices(&adam)[0].0, 16.0 + 203.0);
}

#[test]
fn what_is_wrong_with_memory_by_place_is_said() {
    let instance = trained_layers(&[1.0, 10.0, 100.0, 1_000.0, 1.0]);
    let mut spec = by_place(&instance, 4, 2, INTERLEAVED);
    let stages = [vec![0, 5], vec![1, 6], vec![2, 7], vec![3, 8, 4, 9]];
    let good = split_of(&stages, spec.chunks.unwrap());
    let mut within = |bytes: f64, split: &Solution| {
        spec.platform.accelerators[0].memory = Some(bytes);
        verify::check(&instance, &spec, split).map(|_| ())
    };
    let exceeded = |device, used, limit| Err(vec![Violation::MemoryExceeded { device, used, limit }]);
    let needed = 3.0 + 2.0 * 10.0 + 1_001.0;
    assert_eq!(within(needed, &good), Ok(()));
    assert_eq!(within(needed - 1.0, &good), exceeded(1, needed, needed - 1.0));
    // The largest layer, moved to the first device, is there twice.
    let [first, second, third, _] = stages.clone();
    let moved = split_of(&[first, second, [third, vec![3, 8]].concat(), vec![4, 9]], Chunks::new(2, INTERLEAVED));
    assert_eq!(within(needed, &moved), exceeded(0, 3.0 + 3.0 + 2.0 * 1_100.0, needed));
    let mut without = good.clone();
    without.devices[1].chunks.clear();
    assert_eq!(within(1e9, &without), Err(vec![Violation::NotInChunks { device: 1, count: 2 }]));
    let three = by_place(&instance, 3, 2, INTERLEAVED);
    let found = verify::check(&instance, &three, &good).unwrap_err();
    assert_eq!(found, [Violation::NotInGroups { devices: 2, microbatches: 3 }]);
    assert_eq!(solve_and_verify(solver("chunks").unwrap().as_ref(), &instance, &three), Some(3.0 * 15.0));
}

#[test]
fn memory_by_place_that_means_nothing_is_refused() {
    let instance = layers(&[1.0; 4], 0.5, 2);
    let wrong = |change: &dyn Fn(&mut ProblemSpec)| {
        let mut spec = by_place(&instance, 4, 2, INTERLEAVED);
        change(&mut spec);
        Problem::new(&instance, spec).map(|_| ()).unwrap_err().to_string()
    };
    let memory = |spec: &mut ProblemSpec, memory| spec.chunks.as_mut().unwrap().memory = Some(memory);
    let none = ChunkMemory { in_flight: ChunksInFlight::Constant(0), training: None };
    assert!(wrong(&|spec| memory(spec, none)).contains("no microbatch is in flight"));
    let in_flight = |count| ChunkMemory { in_flight: ChunksInFlight::Constant(count), training: None };
    assert!(wrong(&|spec| memory(spec, in_flight(MOST_IN_FLIGHT + 1))).contains("ask for 1000000 at most"));
    let mut most = by_place(&instance, 4, 2, INTERLEAVED);
    memory(&mut most, in_flight(MOST_IN_FLIGHT));
    assert!(Problem::new(&instance, most).is_ok());
    let adam = Training { optimizer: Optimizer::Adam, precision: Precision::Bf16 };
    let trained = ChunkMemory { training: Some(adam), ..ChunkMemory::default() };
    assert!(wrong(&|spec| memory(spec, trained)).contains("no node states parameters"));
    assert!(wrong(&|spec| spec.cost = CostKind::Overlap).contains("ask for the additive cost"));
    let endless = Objective::Step { microbatches: usize::MAX };
    assert!(wrong(&|spec| spec.objective = endless).contains("more than can be counted"));
}

/// Alike loads do not fit where the largest layer is in flight twice on the first device; counted once it fits.
#[test]
fn the_plain_optimum_need_not_fit() {
    let mut instance = trained(&[1.0, 1.0, 0.5, 1.0, 1.0], 2);
    for (node, memory) in instance.nodes.iter_mut().zip([2.0, 2.0, 2.0, 1_001.0, 2.0]) {
        (node.memory, node.parameter_bytes) = (memory, 1.0);
    }
    let mut spec = by_place(&instance, 4, 2, INTERLEAVED);
    let found = |spec: &ProblemSpec| solve_and_verify(solver("chunks").unwrap().as_ref(), &instance, spec);
    assert_eq!(found(&spec), Some((13.5 + 7.0 * 7.5) / 2.0));
    spec.platform.accelerators[0].memory = Some(1_006.0);
    assert_eq!(found(&spec), Some((13.5 + 7.0 * 9.0) / 2.0));
    spec.chunks = Some(Chunks::new(2, INTERLEAVED));
    assert_eq!(found(&spec), Some((13.5 + 7.0 * 7.5) / 2.0));
    let mut least = by_place(&instance, 4, 2, INTERLEAVED);
    least.platform.accelerators[0].memory = Some(1_005.0);
    assert_eq!(found(&least), None);
}
