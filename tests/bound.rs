//! Lower bounds against brute force, and each minimum cut against all sets.

mod common;
mod workloads;

use common::{InstanceOptions, config, problems, solve_and_verify};
use dagsplit::formats::{ReadOptions, read_instance};
use dagsplit::internals::bound;
use dagsplit::internals::bound::Holder;
use dagsplit::internals::preprocess::{Reduced, Unordered};
use dagsplit::problem::NodeSet;
use dagsplit::problem::{Interconnect, Problem, ProblemSpec, Scope};
use dagsplit::solve::BruteForce;
use dagsplit::solve::SearchContext;
use proptest::prelude::*;

/// The units whose splits the scope of `problem` is about.
fn units(problem: &Problem) -> Reduced {
    match problem.spec.scope {
        Scope::Acyclic | Scope::Linearized(_) => Reduced::new(problem),
        Scope::Arbitrary | Scope::Convex => Unordered::new(problem).units,
    }
}

/// The same request without servers and replication, for which the cost model alone gives the load of a set.
fn plain(spec: ProblemSpec) -> ProblemSpec {
    ProblemSpec { replication: None, interconnect: None::<Interconnect>, ..spec }
}

/// By definition: the least load, over all sets of units that hold `unit`, on devices of the kind with index `kind`.
fn least_load(problem: &Problem, units: &Reduced, kind: usize, unit: usize) -> Option<f64> {
    let costs = &units.kinds[kind];
    let load = |set: usize| {
        let held = (0..units.unit_count()).filter(|u| set >> u & 1 == 1);
        // A set that does not fit together still counts: the cuts know the memory of single units only.
        let fits = held.clone().all(|u| dagsplit::problem::fits(costs.memory[u], costs.memory_limit));
        let set = NodeSet::from_nodes(problem.node_count(), units.lift(held));
        fits.then(|| problem.costs.load(&set, costs.kind)).flatten()
    };
    (0..1usize << units.unit_count()).filter(|set| set >> unit & 1 == 1).filter_map(load).min_by(f64::total_cmp)
}

proptest! {
    #![proptest_config(config(1500))]

    #[test]
    fn bounds_never_exceed_the_optimum((instance, spec) in problems(5, InstanceOptions::ALL)) {
        let Some(optimum) = solve_and_verify(&BruteForce, &instance, &spec) else { return Ok(()) };
        let problem = Problem::new(&instance, spec).unwrap();
        let units = units(&problem);
        prop_assert!(bound::work(&units) <= optimum);
        let cx = SearchContext::new();
        prop_assert!(bound::heaviest(&problem, &units, &cx) <= optimum);
        prop_assert!(!bound::refutes(&problem, &units, optimum, &cx));
        let (best, source) = bound::best(&problem, &units, 2.0 * optimum + 1.0, &cx);
        prop_assert!(best <= optimum, "{best} by {source:?} above {optimum}");
    }

    #[test]
    fn cuts_find_the_least_load((instance, spec) in problems(5, InstanceOptions::ALL)) {
        let problem = Problem::new(&instance, plain(spec)).unwrap();
        let units = Unordered::new(&problem).units;
        for holder in &mut Holder::all(&problem, &units) {
            for u in 0..units.unit_count() {
                let least = least_load(&problem, &units, holder.kind, u);
                let bounds: Vec<Option<f64>> = holder.cuts.iter_mut().map(|cuts| cuts.least(&[u])).collect();
                let best = bounds.iter().copied().reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten();
                if holder.cuts.len() == 1 {
                    prop_assert_eq!(best, least);
                } else {
                    prop_assert!(best.is_some() == least.is_some() && best <= least);
                }
                for cuts in &mut holder.cuts {
                    let Some(load) = cuts.least(&[u]) else { continue };
                    prop_assert!(cuts.set().any(|v| v == u));
                    prop_assert!(!cuts.exceeds(&[u], load) && (load == 0.0 || cuts.exceeds(&[u], 0.75 * load)));
                }
            }
        }
    }
}

/// Times per sample of the best arbitrary splits known (Tarnawski et al. 2020, Table 1, or better), and whether these
/// bounds alone prove them.
const BEST_KNOWN: [(&str, f64, bool); 16] = [
    ("operator/bert_l-3_inference", 21.91, true),
    ("operator/bert_l-6_inference", 28.33, false),
    ("operator/bert_l-12_inference", 130.03, true),
    ("operator/resnet50_inference", 124.35, true),
    ("operator/bert_l-3_training", 54.21, true),
    ("operator/bert_l-6_training", 71.64, false),
    ("operator/bert_l-12_training", 373.42, false),
    ("operator/resnet50_training", 255.19, false),
    ("layer/bert24_inference", 17.71, true),
    ("layer/resnet50_inference", 33.31, false),
    ("layer/inceptionv3_inference", 51.284, false),
    ("layer/gnmt_inference", 31.68, false),
    ("layer/bert24_training", 39.79, true),
    ("layer/resnet50_training", 76.513, false),
    ("layer/inceptionv3_training", 117.092, false),
    ("layer/gnmt_training", 88.47, false),
];

#[test]
fn published_workloads_are_bounded() {
    for (name, known, proven) in BEST_KNOWN {
        let Some(path) = workloads::find(&format!("tarnawski2020/throughput/{name}.json")) else { continue };
        let instance = read_instance(&path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
        let problem = Problem::new(&instance, spec).unwrap();
        let units = Unordered::new(&problem).units;
        let cx = SearchContext::new();
        let (bound, source) = bound::best(&problem, &units, 1.01 * known, &cx);
        println!("{name}: {} units, {known} known, {bound} by {source:?}, {:.2?}", units.unit_count(), cx.elapsed());
        // Published values have two decimals, rounded or cut.
        assert!(bound <= known + 0.01, "{name}: {bound} by {source:?}");
        assert!(!proven || bound >= 0.9995 * known, "{name}: {bound} by {source:?}");
    }
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn crowds_only_where_no_set_fits((instance, spec) in problems(7, InstanceOptions::PLAIN), among in 1..128usize, count in 1..5usize, target in 0..40u8) {
        let problem = Problem::new(&instance, plain(spec)).unwrap();
        let units = Unordered::new(&problem).units;
        let n = units.unit_count();
        let among: Vec<usize> = (0..n).filter(|u| among >> u & 1 == 1).collect();
        prop_assume!(count <= among.len());
        for holder in &mut Holder::all(&problem, &units) {
            let kind = units.kinds[holder.kind].kind;
            let fits = (0..1usize << n).filter(|set| among.iter().filter(|u| set >> **u & 1 == 1).count() >= count).any(|set| {
                let nodes = NodeSet::from_nodes(problem.node_count(), units.lift((0..n).filter(|u| set >> u & 1 == 1)));
                problem.costs.load(&nodes, kind).is_some_and(|load| load <= f64::from(target))
            });
            for cuts in &mut holder.cuts {
                match cuts.crowds(&among, count, target.into()) {
                    Some(true) => prop_assert!(!fits),
                    Some(false) => {
                        let set: Vec<usize> = cuts.set().collect();
                        prop_assert!(among.iter().filter(|u| set.contains(u)).count() >= count);
                        prop_assert!(!cuts.exceeds(&set, target.into()));
                    }
                    None => {}
                }
            }
        }
    }
}
