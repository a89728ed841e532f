//! The frontier automaton: building it and counting ideals, against graph size and family; and the plain enumeration
//! of ideals, where they are few.

mod reference;
mod support;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dagsplit::internals::dp::frontier::Frontier;
use dagsplit::internals::preprocess::Reduced;
use dagsplit::problem::{Problem, ProblemSpec};
use dagsplit::solve::SearchContext;
use support::family::Family;

const SIZES: [usize; 3] = [100, 1_000, 10_000];

/// States beyond which a graph is left out.
const MAX_STATES: usize = 1_000_000;

/// Ideals beyond which the enumeration is left out.
const MAX_IDEALS: usize = 20_000;

fn ideals(c: &mut Criterion) {
    for family in [Family::Dnn, Family::Inception, Family::Transformer, Family::Nasnet] {
        let mut group = c.benchmark_group(format!("ideals/{}", family.name()));
        group.sample_size(10);
        for size in SIZES.into_iter().filter(|&size| family.has(size)) {
            let instance = family.instance(size);
            let problem = Problem::new(&instance, ProblemSpec::of(&instance)).expect("generated workloads are valid");
            let reduced = Reduced::new(&problem);
            let Ok(frontier) = Frontier::smallest(&reduced, MAX_STATES, &SearchContext::new()) else {
                println!("{}, {size} nodes: over {MAX_STATES} states, left out", family.name());
                continue;
            };
            let nodes = instance.nodes.len();
            let (count, states, width) = (frontier.ideal_count(), frontier.state_count(), frontier.width());
            println!("{}, {nodes} nodes: {count:.0} ideals, {states} states, at most {width} at once", family.name());
            group.throughput(Throughput::Elements(nodes as u64));
            group.bench_function(BenchmarkId::new("count", nodes), |b| {
                b.iter(|| {
                    Frontier::smallest(&reduced, MAX_STATES, &SearchContext::new())
                        .map(|frontier| frontier.ideal_count())
                });
            });
            let Some(all) = reference::Ideals::new(&reduced, MAX_IDEALS) else { continue };
            assert_eq!(all.len() as f64, count, "the count disagrees with the enumeration");
            group.bench_function(BenchmarkId::new("enumerate", nodes), |b| {
                b.iter(|| reference::Ideals::new(&reduced, MAX_IDEALS).map(|all| all.len()));
            });
        }
    }
}

criterion_group!(benches, ideals);
criterion_main!(benches);
