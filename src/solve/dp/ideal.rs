//! The ideal DP.

use super::consumption::Consumption;
use super::frontier::Frontier;
use super::fronts::{FrontTable, Increment, Label};
use super::linear::Line;
use super::loads::{Loads, objective};
use super::relaxation::{Front, Ratio, Relaxation};
use super::search::{Effort, Search, Verdict};
use super::stage::{Ideals, StageKind, Variant, Variants, descendants, stage_kinds};
use crate::preprocess::Reduced;
use crate::problem::Problem;
use crate::solve::SearchContext;
use std::time::Instant;

/// The exact DP over ideals.
#[derive(Debug, Clone, Default)]
pub struct IdealDp;

fn variants_of(reduced: &Reduced, stages: &[StageKind], builder: &Variants, theta: f64) -> Vec<Variant> {
    stages
        .iter()
        .enumerate()
        .flat_map(|(i, &stage)| {
            let piece = reduced.kinds[stage.kind].pieces[0];
            builder.of(i, stage, piece, theta)
        })
        .collect()
}

fn pareto(mut labels: Vec<Label>) -> Vec<Label> {
    labels.sort_unstable_by(|a, b| a.y.total_cmp(&b.y).then(b.x.total_cmp(&a.x)));
    let mut best = f64::NEG_INFINITY;
    labels.retain(|l| {
        let keep = l.x > best;
        best = best.max(l.x);
        keep
    });
    labels
}

/// Probe entry.
pub fn probe(problem: &Problem, theta: f64, orders: usize) {
    let t0 = Instant::now();
    let reduced = Reduced::new(problem);
    let frontier = match Frontier::smallest(&reduced, 5_000_000) {
        Ok(f) => f,
        Err(_) => {
            println!("too wide");
            return;
        }
    };
    println!(
        "units {} nets {} states {} width {} ideals {} {:?}",
        reduced.unit_count(),
        reduced.nets.len(),
        frontier.state_count(),
        frontier.width(),
        frontier.ideal_count(),
        t0.elapsed()
    );
    let loads = Loads::new(problem, &reduced);
    let stages = stage_kinds(problem, &reduced);
    let consumption = Consumption::new(&reduced, &stages);
    let ceiling: f64 = 1e6;
    // UB
    let order = super::orders::depth_first(&reduced.order, |v| v);
    let mut upper = ceiling;
    let mut best = None;
    let mut rng = 1u64;
    for it in 0..orders {
        let order = if it == 0 {
            order.clone()
        } else {
            let salt = it as u64;
            super::orders::depth_first(&reduced.order, |v| {
                (v as u64 + 1)
                    .wrapping_mul(0x9E3779B97F4A7C15)
                    .rotate_left((salt % 64) as u32)
                    .wrapping_mul(salt * 2 + 1)
            })
        };
        rng ^= 1;
        let mut position = vec![0; order.len()];
        order.iter().enumerate().for_each(|(i, &u)| position[u] = i);
        let line = Line::new(&loads, &stages, &consumption, &order);
        let builder = Variants::new(problem, &reduced, Ideals::Prefixes(&position), ceiling);
        let variants = variants_of(&reduced, &stages, &builder, theta);
        let values: Vec<_> = variants.iter().map(|v| line.boundary_values(v)).collect();
        let fronts: Vec<Vec<Label>> = (0..variants.len() * variants.len())
            .map(|i| {
                let (b, a) = (i / variants.len(), i % variants.len());
                pareto((0..=order.len()).map(|p| Label { x: values[a].0[p], y: values[b].1[p] }).collect())
            })
            .collect();
        let fronts = fronts.iter().map(|f| Front::Labels(f)).collect();
        let relaxation = Relaxation::new(&stages, &variants, &consumption, fronts);
        let low = relaxation.least_target(0.0, ceiling);
        if it < 3 {
            println!("  line lb {low} {:?}", t0.elapsed());
        }
        if low >= upper {
            continue;
        }
        for f in [1.01, 1.05, 1.2, 1.5, 2.0, 10.0] {
            let target = (low * f).min(upper);
            let windows = relaxation.windows(target);
            if let Some((value, chain)) = line.solve(target, &relaxation, &windows) {
                upper = objective(value);
                best = Some((chain, order.clone()));
                println!("  order {it} ub {upper} {:?}", t0.elapsed());
                break;
            }
            if target >= upper {
                break;
            }
        }
    }
    let _ = best;
    let below = descendants(&reduced).unwrap();
    let builder = Variants::new(problem, &reduced, Ideals::Graph(&below), ceiling);
    let variants = variants_of(&reduced, &stages, &builder, theta);
    println!(
        "variants {} caps {:?} {:?}",
        variants.len(),
        variants.iter().map(|v| v.cap).collect::<Vec<_>>(),
        t0.elapsed()
    );
    let v = variants.len();
    let mut tables: Vec<Option<FrontTable>> = Vec::new();
    for i in 0..v * v {
        let (b, a) = (&variants[i / v], &variants[i % v]);
        if !b.is_charged() && !a.is_charged() {
            tables.push(None);
            continue;
        }
        let table = FrontTable::new(&frontier, Increment::new(&reduced, b, a), 400_000_000);
        match table {
            Ok(t) => {
                println!("  table {i} labels {} root {} {:?}", t.label_count(), t.root().len(), t0.elapsed());
                tables.push(Some(t));
            }
            Err(_) => {
                println!("too many labels {:?}", t0.elapsed());
                return;
            }
        }
    }
    let fronts = (0..v * v)
        .map(|i| match &tables[i] {
            Some(t) => Front::Labels(t.root()),
            None => Front::Ratio(Ratio::new(&variants[i / v], &variants[i % v])),
        })
        .collect();
    let relaxation = Relaxation::new(&stages, &variants, &consumption, fronts);
    let low = relaxation.least_target(0.0, upper);
    println!("LB {low} UB {upper} gap {} {:?}", 1.0 - low / upper, t0.elapsed());
    let cx = SearchContext::new();
    loop {
        let target = upper * (1.0 - 1e-9);
        let windows = relaxation.windows(target);
        let search = Search {
            loads: &loads,
            frontier: &frontier,
            relaxation: &relaxation,
            tables: &tables,
            max_reached: 200_000,
        };
        let mut effort = Effort::default();
        match search.run(&windows, &cx, &mut effort) {
            Verdict::Found(_, value) => {
                upper = objective(value);
                println!("found {upper} {effort:?} {:?}", t0.elapsed());
            }
            Verdict::Refuted => {
                println!("OPTIMAL {upper} {effort:?} {:?}", t0.elapsed());
                return;
            }
            Verdict::Unknown => {
                println!("gave up {effort:?} {:?}", t0.elapsed());
                return;
            }
        }
    }
}
