//! Published figures that benchmarks stand beside, and which of them a benchmark is to look at.

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use dagsplit::formats::{ReadOptions, read_instance};
use dagsplit::instance::Instance;
use dagsplit::problem::{Problem, ProblemSpec, Scope};

use super::workloads;

/// File, and the published values over arbitrary and over contiguous splits: Tarnawski et al. 2020, Table 1.
pub const THROUGHPUT: [(&str, [f64; 2]); 16] = [
    ("operator/bert_l-3_inference", [21.91, 27.92]),
    ("operator/bert_l-6_inference", [28.33, 29.58]),
    ("operator/bert_l-12_inference", [130.03, 147.48]),
    ("operator/resnet50_inference", [124.35, 124.35]),
    ("operator/bert_l-3_training", [54.21, 65.30]),
    ("operator/bert_l-6_training", [71.64, 72.86]),
    ("operator/bert_l-12_training", [373.42, 438.00]),
    ("operator/resnet50_training", [255.19, 255.19]),
    ("layer/bert24_inference", [17.71, 17.79]),
    ("layer/resnet50_inference", [33.31, 33.77]),
    ("layer/inceptionv3_inference", [51.52, 51.55]),
    ("layer/gnmt_inference", [31.68, 32.91]),
    ("layer/bert24_training", [39.79, 41.75]),
    ("layer/resnet50_training", [76.65, 78.63]),
    ("layer/inceptionv3_training", [117.72, 122.76]),
    ("layer/gnmt_training", [88.47, 107.00]),
];

/// PipeDream's profiles, split over each of [`PROFILE_ACCELERATORS`].
pub const PROFILES: [&str; 6] = ["inception_v3", "densenet121", "resnet50", "vgg16", "gnmt", "nasnetamobile"];

/// Over how many accelerators these are split.
pub const PROFILE_ACCELERATORS: [usize; 2] = [6, 16];

/// Which of the workloads at hand to look at, and what to ask of them.
#[derive(clap::Args)]
pub struct Selection {
    /// Accelerators, where not as many as published; then there is nothing to compare with.
    #[arg(long)]
    accelerators: Option<usize>,
    /// Which splits count.
    #[arg(long, value_enum, default_value_t = Shape::Arbitrary)]
    scope: Shape,
    /// Only workloads whose name holds this.
    #[arg(long, default_value = "")]
    only: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shape {
    Arbitrary,
    Convex,
}

impl Selection {
    /// Prints the line that `line` makes of each workload, from its name, its file and the published value.
    pub fn print(&self, line: impl Fn(&str, &Path, Option<f64>) -> Result<String>) -> Result<()> {
        for (name, published) in THROUGHPUT.iter().filter(|(name, _)| name.contains(&self.only)) {
            if let Some(path) = workloads::find(&format!("tarnawski2020/throughput/{name}.json")) {
                let published = Some(published[self.scope as usize]).filter(|_| self.accelerators.is_none());
                println!("{}", line(name, &path, published)?);
            }
        }
        Ok(())
    }

    /// The workload of a file, and what is asked of it.
    pub fn problem(&self, path: &Path) -> Result<(Instance, Problem)> {
        let mut instance = read_instance(path, &ReadOptions::default())?;
        if let Some(accelerators) = self.accelerators {
            instance.platform.accelerators[0].count = accelerators;
        }
        let scope = if self.scope == Shape::Convex { Scope::Convex } else { Scope::Arbitrary };
        let problem = Problem::new(&instance, ProblemSpec { scope, ..ProblemSpec::of(&instance) })?;
        Ok((instance, problem))
    }
}
