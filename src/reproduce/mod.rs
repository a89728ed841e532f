//! Published tables made again: what to run, the published figures, and how close ours have to come.
//!
//! Each paper has a file of its own with its [`Study`]s. A study's [`Plan`] says which methods run on which workloads
//! and which figures come of the runs; [`outcomes`] sets them beside the published ones, and [`sheet`](fn@sheet) and
//! [`data`] make tables of that, for people and for programs.

mod chen2024;
mod defaults;
mod outcome;
mod parmesan2024;
mod piper2021;
mod rannc2021;
mod sheets;
mod tarnawski2020;

pub use outcome::{Outcome, Ran, Verdict, outcomes};
pub use sheets::{data, sheet};

use serde::{Deserialize, Serialize};

use crate::generate::Recipe;
use crate::generate::topology::TopologyRecipe;

/// A published table or figure.
#[derive(Debug, Clone, Copy)]
pub struct Study {
    /// The name it is asked for by.
    pub name: &'static str,
    /// What it shows, in one line.
    pub title: &'static str,
    /// The paper, with the table, figure or section.
    pub source: &'static str,
    /// What to run and what comes of it.
    pub plan: fn() -> Plan,
}

/// Every study.
pub fn studies() -> impl Iterator<Item = &'static Study> {
    [
        tarnawski2020::STUDIES,
        parmesan2024::STUDIES,
        rannc2021::STUDIES,
        chen2024::STUDIES,
        piper2021::STUDIES,
        defaults::STUDIES,
    ]
    .into_iter()
    .flatten()
}

/// Why figures differ where the workloads and their costs do.
const OTHER_COSTS: &str = "another workload and another cost model; only the shape is to be compared";

/// What stands for the partitioners that `dagsplit plan` takes where none is named.
pub const OWN_PARTITIONER: &str = "auto";

/// What to run for a study, and what comes of it.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The runs.
    pub runs: Vec<Run>,
    /// The figures, row by row.
    pub figures: Vec<Figure>,
    /// The order of the columns, where the first rows do not have all of them.
    pub columns: Vec<&'static str>,
    /// What differs from the publication as a whole.
    pub notes: Vec<&'static str>,
}

impl Plan {
    /// Whether a figure comes of the run with this index.
    pub fn uses(&self, run: usize) -> bool {
        self.figures.iter().any(|figure| figure.quantity.runs().contains(&run))
    }

    /// The index of `run`, which is added where it is new.
    fn run(&mut self, run: Run) -> usize {
        self.runs.iter().position(|known| *known == run).unwrap_or_else(|| {
            self.runs.push(run);
            self.runs.len() - 1
        })
    }
}

/// A method on a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The workload.
    pub workload: Workload,
    /// The method's spec string. A path that it ends in may begin with `{workloads}/`, the folder of the published
    /// workloads.
    pub method: String,
    /// Where set, the split is mapped to the devices of this topology and simulated by `dagsplit plan`: the objective is
    /// the simulated time of a step.
    pub topology: Option<Box<TopologyRecipe>>,
    /// Where set, the split is not found by the method: it is this one, and the method, `expert`, values it.
    pub answer: Option<Answer>,
    /// Further options of `dagsplit solve` or `dagsplit plan`.
    pub options: Vec<String>,
}

impl Run {
    /// `method` on `workload` with `options`, separated by blanks.
    fn new(workload: Workload, method: impl Into<String>, options: &str) -> Self {
        let options = options.split_whitespace().map(str::to_owned).collect();
        Self { workload, method: method.into(), topology: None, answer: None, options }
    }

    /// A split by `partitioner` into so many stages of so many replicas, planned on `topology` with further `options` of
    /// `dagsplit plan`: four microbatches for each pipeline, under GPipe with recomputation. The partitioner may
    /// be [`OWN_PARTITIONER`].
    fn planned(
        workload: Workload,
        partitioner: impl Into<String>,
        topology: &TopologyRecipe,
        shape: (usize, usize),
        options: &str,
    ) -> Self {
        Self::planned_for(workload, partitioner, topology, (shape, 4), options)
    }

    /// The same with so many `microbatches` for each pipeline.
    fn planned_for(
        workload: Workload,
        partitioner: impl Into<String>,
        topology: &TopologyRecipe,
        ((stages, replicas), microbatches): ((usize, usize), usize),
        options: &str,
    ) -> Self {
        let shape = format!("--stages {stages} --replicas {replicas} --batch {}", microbatches * replicas);
        let options = format!("{shape} --schedule gpipe --recompute always {options}");
        Self { topology: Some(Box::new(topology.clone())), ..Self::new(workload, partitioner, &options) }
    }
}

/// What a program that is not at hand has answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Answer {
    /// A split into stages: of each, the first and the last of its nodes, whose ids follow one another.
    Stages(Vec<[u64; 2]>),
    /// It splits no such thing, for this reason.
    Refusal(String),
}

/// Where a workload comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum Workload {
    /// A file of the folder of published workloads.
    Published {
        /// Its path in the folder.
        path: String,
        /// Where it is published.
        origin: &'static str,
    },
    /// A workload of our own.
    Generated(Box<Recipe>),
}

/// Files and folders of `instances/profiled`, and where they stand in their authors' repositories.
const AT_AUTHORS: [(&str, &str); 7] = [
    // The one file whose name is written otherwise.
    (
        "tarnawski2020/throughput/operator/bert_l-12_training.json",
        "throughput-inputs/OperatorGraphs/bert_L-12_training.json",
    ),
    ("tarnawski2020/throughput/layer/", "throughput-inputs/LayerGraphs/"),
    ("tarnawski2020/throughput/operator/", "throughput-inputs/OperatorGraphs/"),
    ("tarnawski2020/latency/layer/", "latency-inputs/LayerGraphs/"),
    ("tarnawski2020/latency/operator/", "latency-inputs/OperatorGraphs/"),
    ("tarnawski2020/expert/", "human-experts/"),
    ("piper2021/", "inputs/"),
];

/// Where the file at `path` of `instances/profiled` stands in its authors' repository.
pub fn place_at_authors(path: &str) -> Option<String> {
    AT_AUTHORS.iter().find_map(|(ours, theirs)| Some(format!("{theirs}{}", path.strip_prefix(ours)?)))
}

/// One figure of a table.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Its row.
    pub row: String,
    /// Its column.
    pub column: String,
    /// How it comes of the runs.
    pub quantity: Quantity,
    /// What is published.
    pub published: Published,
    /// Why ours cannot be the same, where it cannot.
    pub because: Option<&'static str>,
}

/// How a figure comes of the runs, by their indices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quantity {
    /// The objective.
    Objective(usize),
    /// How many samples are processed in a time unit: one over the objective.
    Rate(usize),
    /// The seconds of the method.
    Seconds(usize),
    /// How many nodes the workload has.
    Nodes(usize),
    /// What the method says of itself under this name.
    Stat(&'static str, usize),
    /// The first one's objective over the second one's: the speed-up of the second.
    ObjectiveRatio(usize, usize),
    /// The first one's seconds over the second one's.
    SecondsRatio(usize, usize),
    /// What the first one says of itself under this name, over what the second one does.
    StatRatio(&'static str, usize, usize),
    /// Of several pairs, which chance alone tells apart, the median of the ratios of their objectives.
    ObjectiveRatios(Vec<[usize; 2]>),
}

impl Quantity {
    /// Whether it compares two runs.
    fn is_ratio(&self) -> bool {
        self.runs().len() > 1
    }

    /// The runs that it comes of.
    fn runs(&self) -> Vec<usize> {
        match self {
            Self::Objective(a) | Self::Rate(a) | Self::Seconds(a) | Self::Nodes(a) | Self::Stat(_, a) => vec![*a],
            Self::ObjectiveRatio(a, b) | Self::SecondsRatio(a, b) | Self::StatRatio(_, a, b) => vec![*a, *b],
            Self::ObjectiveRatios(pairs) => pairs.concat(),
        }
    }
}

/// What is published.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Published {
    /// A value.
    Value {
        /// The value.
        value: f64,
        /// What its last digit counts.
        digit: f64,
        /// How far ours may be from it, in its own unit, and still be close.
        tolerance: f64,
    },
    /// A claim that the figure is at least this.
    AtLeast(f64),
    /// No number.
    Nothing,
}

impl Published {
    /// A value whose last printed digit counts `digit`; those after it were rounded or cut.
    fn printed(value: f64, digit: f64) -> Self {
        Self::Value { value, digit, tolerance: digit }
    }

    /// A number of things.
    fn count(value: f64) -> Self {
        Self::Value { value, digit: 1.0, tolerance: 0.0 }
    }

    /// A value with two decimals that ours is close to within this part of it.
    fn within(value: f64, part: f64) -> Self {
        Self::Value { value, digit: 0.01, tolerance: part * value }
    }

    /// A speed-up with one decimal, which ours is close to within a tenth of it.
    fn speed_up(value: f64) -> Self {
        Self::Value { value, digit: 0.1, tolerance: 0.1 * value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_has_a_name_of_its_own_and_a_sound_plan() {
        let names: Vec<&str> = studies().map(|study| study.name).collect();
        for (i, study) in studies().enumerate() {
            assert!(!names[..i].contains(&study.name), "{}", study.name);
            let plan = (study.plan)();
            assert!(!plan.figures.is_empty(), "{}", study.name);
            let used: Vec<usize> = plan.figures.iter().flat_map(|f| f.quantity.runs()).collect();
            assert!((0..plan.runs.len()).all(|run| plan.uses(run)), "{}: a run is of no use", study.name);
            assert!(used.iter().all(|&run| run < plan.runs.len()), "{}", study.name);
            for run in &plan.runs {
                if let Workload::Generated(recipe) = &run.workload {
                    crate::generate::generate(recipe).unwrap_or_else(|error| panic!("{}: {error}", study.name));
                }
            }
        }
    }
}
