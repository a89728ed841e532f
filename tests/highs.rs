//! The toolchain builds HiGHS, and good_lp reaches it.

#![cfg(feature = "highs")]

use good_lp::{Solution, SolverModel, constraint, default_solver, variable, variables};

/// Two stages of three layers with times 3, 2 and 2: the first layer alone, the other two together, makes 4.
#[test]
fn a_tiny_integer_program_is_solved() {
    let times = [3.0, 2.0, 2.0];
    let mut vars = variables!();
    let largest = vars.add(variable().min(0));
    let on_first: Vec<_> = times.iter().map(|_| vars.add(variable().binary())).collect();
    let load = |stage: usize| -> good_lp::Expression {
        let share = |x: good_lp::Variable| if stage == 0 { x.into() } else { good_lp::Expression::from(1.0) - x };
        times.iter().zip(&on_first).map(|(&time, &x)| time * share(x)).sum()
    };
    let solution = vars
        .minimise(largest)
        .using(default_solver)
        .with(constraint!(load(0) <= largest))
        .with(constraint!(load(1) <= largest))
        .with(constraint!(on_first[1] <= on_first[0]))
        .with(constraint!(on_first[2] <= on_first[1]))
        .solve()
        .expect("HiGHS solves a program of three binaries");
    let split: Vec<f64> = on_first.iter().map(|&x| solution.value(x).round()).collect();
    assert_eq!((solution.value(largest).round(), split), (4.0, vec![1.0, 0.0, 0.0]));
}
