//! The examples run, and do what they show.

#[path = "../examples/map_stages.rs"]
#[allow(dead_code)]
mod map_stages;
#[path = "../examples/own_costs.rs"]
#[allow(dead_code)]
mod own_costs;
#[path = "../examples/solve.rs"]
#[allow(dead_code)]
mod solve;

#[test]
fn costs_of_ones_own_are_solved_verified_compared_and_conform() {
    assert!(own_costs::run().unwrap());
}

#[test]
fn a_workload_is_solved_and_verified() {
    let found = solve::run("instances/bert12_inference.json").unwrap();
    assert!((found - 13.13919).abs() < 1e-5, "{found}");
}

#[test]
fn stages_stay_inside_servers_where_they_can() {
    let devices = map_stages::run().unwrap();
    // Both copies of a stage share a server, whose links carry the all-reduce.
    assert!(devices.chunks(2).all(|copies| copies[0] / 4 == copies[1] / 4), "{devices:?}");
}

#[test]
fn the_readme_shows_what_the_example_does() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let (readme, example) = (text("README.md"), text("examples/solve.rs"));
    let shown = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let written: Vec<&str> = example.lines().map(str::trim).collect();
    assert!(shown.lines().count() < 10 && shown.lines().all(|line| written.contains(&line)), "{shown}");
}
