//! Spec strings: a method by name, its parameters, and chains of steps.
//!
//! `dp`, `local-search:restarts=10,seed=1`, `cluster:k=48+dp+refine`.

use super::named::{Named, Seeded};
use super::parameters::{EXEC, Values, parts};
use super::{Registry, SpecError};
use crate::mapping::Mapper;
use crate::solve::chain::Chain;
use crate::solve::{Clustering, Refinement, Solver};

/// The spec strings of a list separated by commas. A piece such as `seed=1` belongs to the spec before it, whose
/// parameters are separated by commas, too. The command line of `exec:` ends at the first comma that is not quoted.
pub fn split_list(text: &str) -> Vec<String> {
    let mut specs: Vec<String> = Vec::new();
    for piece in text.split(',') {
        let begun = piece.trim_start();
        let is_parameter = piece.split_once('=').is_some_and(|(name, _)| !name.contains([':', '+']));
        let continued = specs.last_mut().filter(|spec| match spec.strip_prefix(EXEC) {
            Some(line) => shlex::split(line).is_none(),
            None => is_parameter,
        });
        match continued {
            Some(program) if program.starts_with(EXEC) => *program += &format!(",{piece}"),
            Some(spec) => *spec += &format!(",{}", piece.trim()),
            None if begun.starts_with(EXEC) => specs.push(begun.into()),
            None => specs.push(piece.trim().into()),
        }
    }
    specs.iter().map(|spec| spec.trim_end().to_owned()).collect()
}

/// The steps of a spec string. A program stands alone: its command line may hold anything.
pub(super) fn steps(spec: &str) -> Vec<&str> {
    if spec.starts_with(EXEC) { vec![spec] } else { spec.split('+').collect() }
}

impl Registry {
    /// The solver that `spec` names: a method with its parameters, or a chain of clusterings, a method and refinements.
    ///
    /// Every method takes the parameter `seed`, which stands in for the seed of the run. Commas part parameters and plus
    /// signs part steps, so that a value, such as a path, holds neither. Whether a chain takes a problem is asked of its
    /// method before anything is joined; see [`Clustering`].
    ///
    /// # Errors
    /// [`SpecError`] says what is wrong and what there is.
    pub fn solver(&self, spec: &str) -> Result<Box<dyn Solver>, SpecError> {
        if let Some(method) = self.methods.iter().find(|method| method.name == spec) {
            return Ok(method.solver());
        }
        let no_chain = || SpecError::NoChain { spec: spec.into() };
        let mut chain = Building::default();
        for step in steps(spec) {
            match (self.step(step)?, &chain.solver) {
                (Step::Clustering(clustering), None) => chain.clusterings.push(clustering),
                (Step::Solver(solver), None) => chain.solver = Some(solver),
                (Step::Refinement(refinement), Some(_)) => chain.refinements.push(refinement),
                _ => return Err(no_chain()),
            }
        }
        let Building { clusterings, solver, refinements } = chain;
        let solver = solver.ok_or_else(no_chain)?;
        let is_chain = !clusterings.is_empty() || !refinements.is_empty();
        if is_chain && solver.is_program() {
            return Err(no_chain());
        }
        let solver = if is_chain { Box::new(Chain { clusterings, solver, refinements }) } else { solver };
        Ok(Box::new(Named { spec: spec.into(), solver }))
    }

    /// The mapper that `spec` names, with its parameters: `swap:restarts=20`.
    ///
    /// # Errors
    /// [`SpecError`] says what is wrong and what there is.
    pub fn mapper(&self, spec: &str) -> Result<Box<dyn Mapper>, SpecError> {
        let (name, given) = parts(spec);
        let Some(kind) = self.mappers.iter().find(|kind| kind.name == name) else {
            let known = self.mappers.iter().map(|kind| kind.name).collect();
            return Err(SpecError::UnknownMethod { name: name.into(), known });
        };
        kind.mapper(given)
    }

    /// The step that `spec` names.
    fn step(&self, spec: &str) -> Result<Step, SpecError> {
        let (name, mut given) = parts(spec);
        if let Some(method) = self.methods.iter().find(|method| method.name == name) {
            let seeds: Vec<&str> = given.extract_if(.., |(name, _)| *name == "seed").map(|(_, text)| text).collect();
            if seeds.len() > 1 {
                return Err(SpecError::Twice { method: method.name, name: "seed".into() });
            }
            let solver = method.solver_with(given)?;
            let seed = seeds.first().map(|text| seed(method.name, text)).transpose()?;
            return Ok(Step::Solver(match seed {
                Some(seed) => Box::new(Seeded { seed, solver }),
                None => solver,
            }));
        }
        if let Some(kind) = self.clusterings.iter().find(|kind| kind.name == name) {
            return Ok(Step::Clustering(kind.step(given)?));
        }
        if let Some(kind) = self.refinements.iter().find(|kind| kind.name == name) {
            return Ok(Step::Refinement(kind.step(given)?));
        }
        let steps = self.clusterings.iter().map(|kind| kind.name).chain(self.refinements.iter().map(|kind| kind.name));
        let known = self.methods.iter().map(|method| method.name).chain(steps).collect();
        Err(SpecError::UnknownMethod { name: name.into(), known })
    }
}

/// A chain while its steps are read.
#[derive(Default)]
struct Building {
    clusterings: Vec<Box<dyn Clustering>>,
    solver: Option<Box<dyn Solver>>,
    refinements: Vec<Box<dyn Refinement>>,
}

enum Step {
    Clustering(Box<dyn Clustering>),
    Solver(Box<dyn Solver>),
    Refinement(Box<dyn Refinement>),
}

fn seed(method: &'static str, text: &str) -> Result<u64, SpecError> {
    text.parse().map_err(|_| SpecError::BadValue {
        method,
        name: "seed",
        value: text.into(),
        meaning: "the seed of everything random",
        range: Values::Whole(0, u64::MAX).to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::solver;
    use super::*;
    use crate::solve::Guarantee;

    #[test]
    fn commas_separate_specs_and_parameters() {
        let specs = split_list("dp, local-search:restarts=10,seed=1,ip:strong,cluster:k=48+dp:seed=2,seed=3");
        let parts = ["dp", "local-search:restarts=10,seed=1", "ip:strong", "cluster:k=48+dp:seed=2,seed=3"];
        assert_eq!(specs, parts);
        let specs = split_list("dp, exec:python3 'a, b=1.py' --k=2,dpl,exec:x -a=\\, y+z , seed=1, dpl , seed=2");
        assert_eq!(specs, ["dp", "exec:python3 'a, b=1.py' --k=2", "dpl", "exec:x -a=\\, y+z", "seed=1", "dpl,seed=2"]);
    }

    #[test]
    fn a_program_is_known_by_its_command_line() {
        let program = solver("exec:python3 'a+b.py' --k=2").unwrap();
        assert_eq!((program.name(), program.is_program()), ("exec:python3 'a+b.py' --k=2", true));
    }

    #[test]
    fn a_spec_keeps_its_name_and_its_method_s_guarantee() {
        let solver = solver("annealing:patience=3,seed=7").unwrap();
        assert_eq!((solver.name(), solver.guarantee()), ("annealing:patience=3,seed=7", Guarantee::Heuristic));
    }

    #[test]
    fn each_error_says_what_there_is() {
        let message = |spec| solver(spec).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(message("nonesuch").starts_with("there is no method `nonesuch`; there are portfolio, dp, "));
        assert_eq!(message("annealing:rounds=3"), "annealing has no parameter `rounds`; it has patience");
        assert_eq!(message("dpl:seed=1,seed=2"), "dpl: parameter `seed` is given twice; give it once");
        assert_eq!(message("dpl:depth=1"), "dpl has no parameter `depth`; it has none");
        assert!(message("annealing:patience=x").starts_with("annealing: parameter `patience` cannot be `x`: it is "));
        assert!(message("dpl:seed=x").starts_with("dpl: parameter `seed` cannot be `x`"));
        assert!(message("slicegraph:bias=1.5").starts_with("slicegraph: parameter `bias` cannot be `1.5`: it is "));
        assert!(message("cluster:alpha=1/nan+dp").contains("cannot be `1/nan`"));
        assert!(message("cluster:alpha=inf+dp").contains("cannot be `inf`"));
        assert!(message("metis:imbalance=1e999").contains("cannot be `1e999`"));
        assert!(message("hierarchical:levels=4/x").contains("cannot be `4/x`"));
        assert!(message("dp+dp").starts_with("`dp+dp` is no chain of steps"));
        assert!(message("cluster:k=4+exec:x").starts_with("`cluster:k=4+exec:x` is no chain of steps"));
        assert!(message("exec:'x").starts_with("exec: parameter `program` cannot be `'x`: it is "));
    }
}
