//! The table of mappers.

use std::str::FromStr;
use std::time::Duration;

use super::kinds::Make;
use super::shared::COUNT;
use super::{MapperKind, Parameter, Values};
use crate::mapping::{
    BranchAndBound, Consecutive, Exhaustive, GreedyMapping, MappingAnnealing, Parmesan2024, PointToPoint,
    RandomMapping, SwapSearch,
};

/// Every mapper; the first is the one to take where none is named.
pub(super) const MAPPERS: &[MapperKind] = &[
    MapperKind {
        name: "branch-and-bound",
        summary: "targets refuted by propagation and search, mappings found by annealing; exact and anytime",
        exact: true,
        source: "docs/mapping.md",
        parameters: &[
            Parameter {
                name: "moves",
                default: "1000",
                meaning: "moves of the first round of annealing, per copy",
                values: Values::Whole(1, COUNT),
            },
            Parameter {
                name: "decisions",
                default: "50",
                meaning: "decisions of the first round of searches",
                values: Values::Whole(1, COUNT),
            },
            Parameter {
                name: "without",
                default: "",
                meaning: "techniques to leave out, separated by slashes: docs/mapping.md names them",
                values: Values::Text,
            },
        ],
        make: Make::Built(|given| {
            let Without(without) = given.get("without")?;
            Ok(Box::new(BranchAndBound { moves: given.get("moves")?, decisions: given.get("decisions")?, without }))
        }),
    },
    MapperKind {
        name: "parmesan",
        summary: "the published search: bisection outside, depth-first search inside",
        exact: true,
        source: "Liu et al. 2024, section V",
        parameters: &[Parameter {
            name: "timeout",
            default: "60",
            meaning: "seconds that each inner search may take; one that takes longer counts as not found",
            values: Values::Number(0.0, COUNT as f64),
        }],
        make: Make::Built(|given| {
            let seconds: f64 = given.get("timeout")?;
            Ok(Box::new(Parmesan2024 { timeout: Duration::from_secs_f64(seconds) }))
        }),
    },
    MapperKind {
        name: "exhaustive",
        summary: "every mapping, for at most 8 devices or so",
        exact: true,
        source: "oracle",
        parameters: &[],
        make: Make::Built(|_| Ok(Box::new(Exhaustive))),
    },
    MapperKind {
        name: "consecutive",
        summary: "replicas of a stage side by side, consecutive stages on consecutive devices",
        exact: false,
        source: "Liu et al. 2024, section VIII-A",
        parameters: &[],
        make: Make::Built(|_| Ok(Box::new(Consecutive))),
    },
    MapperKind {
        name: "p2p",
        summary: "stages of a pipeline side by side, one pipeline after another",
        exact: false,
        source: "Liu et al. 2024, section VIII-C",
        parameters: &[],
        make: Make::Built(|_| Ok(Box::new(PointToPoint))),
    },
    MapperKind {
        name: "random",
        summary: "the best of some random mappings",
        exact: false,
        source: "baseline",
        parameters: &[Parameter {
            name: "samples",
            default: "1",
            meaning: "how many are drawn",
            values: Values::Whole(1, COUNT),
        }],
        make: Make::Built(|given| Ok(Box::new(RandomMapping { samples: given.get("samples")? }))),
    },
    MapperKind {
        name: "greedy",
        summary: "one copy after another where the slowest copy it touches is fastest",
        exact: false,
        source: "baseline",
        parameters: &[],
        make: Make::Built(|_| Ok(Box::new(GreedyMapping))),
    },
    MapperKind {
        name: "annealing",
        summary: "annealing that swaps the contents of two devices, below ever lower targets",
        exact: false,
        source: "docs/mapping.md",
        parameters: &[Parameter {
            name: "moves",
            default: "20000",
            meaning: "how many swaps it tries for each copy",
            values: Values::Whole(1, COUNT),
        }],
        make: Make::Built(|given| Ok(Box::new(MappingAnnealing { moves: given.get("moves")? }))),
    },
    MapperKind {
        name: "swap",
        summary: "local search that swaps the contents of two devices, from several starts",
        exact: false,
        source: "baseline",
        parameters: &[Parameter {
            name: "restarts",
            default: "8",
            meaning: "how many random mappings it starts from, besides consecutive, p2p and greedy",
            values: Values::Whole(0, COUNT),
        }],
        make: Make::Built(|given| Ok(Box::new(SwapSearch { restarts: given.get("restarts")? }))),
    },
];

/// Techniques of branch and bound, separated by slashes.
struct Without(Vec<&'static str>);

impl FromStr for Without {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let known = BranchAndBound::techniques();
        let technique = |name: &str| known.iter().copied().find(|&technique| technique == name).ok_or(());
        text.split('/').filter(|name| !name.is_empty()).map(technique).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{mapper, mappers};

    #[test]
    fn mappers_are_called_as_they_are_listed_and_defaults_are_values() {
        for kind in mappers() {
            assert_eq!(mapper(kind.name).expect("defaults are values").name(), kind.name);
        }
    }

    #[test]
    fn each_error_says_what_there_is() {
        let message = |spec| mapper(spec).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(message("nonesuch").starts_with("there is no method `nonesuch`; there are "));
        assert_eq!(message("swap:rounds=3"), "swap has no parameter `rounds`; it has restarts");
        assert!(message("random:samples=0").starts_with("random: parameter `samples` cannot be `0`"));
        assert!(
            message("branch-and-bound:without=luck").starts_with("branch-and-bound: parameter `without` cannot be ")
        );
        assert!(mapper("branch-and-bound:without=tiling/sliding-windows").is_ok());
        assert!(message("parmesan:timeout=-1").starts_with("parmesan: parameter `timeout` cannot be `-1`"));
    }
}
