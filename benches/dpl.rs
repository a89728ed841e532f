//! Linearized DP against graph size: one order, and the solver's own number of orders.

mod support;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dagsplit::problem::{Problem, ProblemSpec};
use dagsplit::solve::LinearizedDp;
use dagsplit::solve::{SearchContext, Solver};
use support::family::Family;

const SIZES: [usize; 3] = [1_000, 10_000, 50_000];

fn dpl(c: &mut Criterion) {
    for family in Family::ALL {
        let mut group = c.benchmark_group(format!("dpl/{}", family.name()));
        group.sample_size(10);
        for size in SIZES.into_iter().filter(|&size| family.has(size)) {
            let instance = family.instance(size);
            let problem = Problem::new(&instance, ProblemSpec::of(&instance)).expect("generated workloads are valid");
            let nodes = instance.nodes.len();
            group.throughput(Throughput::Elements(nodes as u64));
            for orders in [1, LinearizedDp::default().orders] {
                group.bench_function(BenchmarkId::new(format!("{orders} orders"), nodes), |b| {
                    b.iter(|| LinearizedDp { orders }.solve(&problem, &mut SearchContext::new()));
                });
            }
        }
    }
}

criterion_group!(benches, dpl);
criterion_main!(benches);
