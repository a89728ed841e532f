//! The examples run, and do what they show.

#[path = "../examples/own_costs.rs"]
#[allow(dead_code)]
mod own_costs;

#[test]
fn costs_of_ones_own_are_solved_verified_compared_and_conform() {
    assert!(own_costs::run().unwrap());
}
