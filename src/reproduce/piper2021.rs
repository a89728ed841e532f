//! Piper (Tarnawski, Narayanan and Phanishayee 2021): tensor, data and pipeline parallelism with recomputation.

use super::{Figure, Plan, Published, Quantity, Run, Study, Workload};

pub(super) const STUDIES: &[Study] = &[Study {
    name: "piper",
    title: "samples per second of BERT-32 at best, and what is lost without one kind of choice",
    source: "Piper 2021, its published program and Figure 2",
    plan: piper,
}];

/// Devices, GiB of each, and the time per sample in seconds that the published program prints for 1,920 microbatches;
/// zero where none is at hand.
const SETTINGS: [(usize, usize, f64); 8] = [
    (8, 8, 0.16585575),
    (8, 80, 0.12200726935),
    (64, 8, 0.0202005502945),
    (512, 8, 0.00256112784601),
    (2048, 8, 0.000703591184443),
    (64, 2, 0.0),
    (512, 2, 0.0),
    (2048, 2, 0.0),
];

/// What is left out, as in Figure 2 of the paper, and the options that do so.
const WITHOUT: [(&str, &str); 3] = [
    ("without data degrees", "--data-degrees 1"),
    ("without tensor degrees", "--tensor-degrees 1"),
    ("without recomputation", "--options vanilla"),
];

/// A value that is printed with all its digits, of which the last may differ.
fn printed_in_full(value: f64) -> Published {
    Published::printed(value, 2e-9 * value)
}

fn piper() -> Plan {
    let path = "piper2021/bert32a100.json".to_owned();
    let workload = Workload::Published { path, origin: "https://github.com/msr-fiddle/piper" };
    let mut plan = Plan {
        notes: vec![
            "Columns without a choice are the time per sample over that with all choices; a dash: nothing fits.",
            "Published figures are what the published program prints; its rule for options under memory is greedy, so that a \
             deviation from a proven optimum is what it loses. Not run: its other networks, more layers and other batches, \
             whose figures are not at hand.",
        ],
        ..Plan::default()
    };
    for (devices, memory, published) in SETTINGS {
        let asked =
            format!("--accelerators {devices} --cpus 0 --memory {memory}GiB --bandwidth 25GiB --microbatches 1920");
        let mut run = |more: &str| plan.run(Run::new(workload.clone(), "degrees", &format!("{asked} {more}")));
        let all = run("");
        let without = WITHOUT.map(|(column, options)| (column, run(options)));
        let row = format!("{devices} devices of {memory} GiB");
        let rate = if published > 0.0 { printed_in_full(1.0 / published) } else { Published::Nothing };
        let mut add = |column: &str, quantity, published| {
            plan.figures.push(Figure { row: row.clone(), column: column.into(), quantity, published, because: None });
        };
        add("samples per second", Quantity::Rate(all), rate);
        for (column, run) in without {
            add(column, Quantity::ObjectiveRatio(run, all), Published::Nothing);
        }
        add("seconds", Quantity::Seconds(all), Published::Nothing);
    }
    plan
}
