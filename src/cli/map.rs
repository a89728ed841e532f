//! `dagsplit map`

use std::path::PathBuf;
use std::time::Instant;

use crate::formats::{write_mapping, write_stages};
use crate::mapping::{
    BranchAndBound, ClaimedMapping, Counted, Mapper, MappingProblem, StageCost, StageGraph, Topology,
};
use crate::registry;
use crate::registry::split_list;
use crate::report::MappingAttempt;
use crate::report::mapping::MapRecord;
use crate::report::method::{self, MethodRecord};
use crate::report::picture::draw_topology;
use crate::solve::Status;
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;

use super::mapping_args::{StageArgs, TopologyArgs};
use super::question::Watch;
use super::search_args::SearchArgs;
use super::{Exit, Failure, OrFail, bug, listed, note, print, print_json, progress, started, values, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit map stages.json dgx1.json --replicas 4
  dagsplit map bert.json dgx1.json --split split.json --replicas 8 --draw mapping.svg
  dagsplit map stages.json torus.json --replicas 4 --cost auto --time-limit 30 --json
  dagsplit map stages.json nodes.csv --method branch-and-bound,parmesan,consecutive,p2p   # compare
  nvidia-smi topo -m > host.txt && dagsplit map stages.json host.txt --link NV=21.4GiB

STAGES is a stage graph (schema dagsplit-stages/1), or a workload with the split that makes its stages.
`dagsplit generate topology` makes topologies; docs/mapping.md describes all files. Ctrl-C stops the \
search: the best mapping so far is still verified, printed and written.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    topology: TopologyArgs,

    // The headings of its options would stand over whatever came after it without one.
    #[command(flatten)]
    stages: StageArgs,

    #[command(flatten)]
    placing: PlacingArgs,

    /// Print one JSON object (schema `dagsplit-map/1`) in place of the table.
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Write the mapping to this file (schema `dagsplit-mapping/1`).
    #[arg(long, value_name = "MAPPING", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Write the stages to this file (schema `dagsplit-stages/1`), as `simulate` and `draw` read them with the mapping.
    #[arg(long, value_name = "STAGES", help_heading = "Output")]
    output_stages: Option<PathBuf>,

    /// Draw the mapping on the topology to this file.
    #[arg(long, value_name = "SVG", help_heading = "Output")]
    draw: Option<PathBuf>,

    /// Show no progress line.
    #[arg(long, help_heading = "Output")]
    quiet: bool,
}

/// What is asked of a mapping, and how to search.
#[derive(Debug, clap::Args)]
pub struct PlacingArgs {
    /// How many copies of each stage there are: pipelines that work side by side and all-reduce their gradients.
    #[arg(long, value_name = "R", default_value = "1", value_parser = values::count::<usize>(), help_heading = "Problem")]
    replicas: usize,

    /// Which communication the time of a copy counts beside its compute.
    #[arg(long, value_enum, default_value = "step", help_heading = "Problem")]
    cost: CostArg,

    /// Microbatches of a step, which share its all-reduce (`--cost step` only) [default: 1].
    #[arg(long, value_name = "M", value_parser = values::count::<usize>(), help_heading = "Problem")]
    microbatches: Option<usize>,

    /// How to search. Several specs, separated by commas, run one after the other and are compared. A spec is a name,
    /// with parameters after a colon: `swap:restarts=20`. The names are listed below.
    #[arg(long, value_name = "SPEC,...", default_value_t = default_method(), help_heading = "Search", long_help = method_help())]
    method: String,

    /// Leave these techniques out of branch and bound, to see what they are worth; `--json` tells what each one did.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = PossibleValuesParser::new(BranchAndBound::techniques()), help_heading = "Search")]
    without: Vec<String>,

    #[command(flatten)]
    search: SearchArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CostArg {
    /// What a microbatch costs: the messages, and in training its share of the step's all-reduce.
    Step,
    /// Messages between stages: c^m of Liu et al. (2024).
    Messages,
    /// The all-reduce among a stage's copies: c^AR.
    AllReduce,
    /// Both, with a whole all-reduce for each microbatch.
    Both,
    /// The paper's rule: the all-reduce where it sends more bytes than all messages, else the messages.
    Auto,
}

fn default_method() -> String {
    registry::mappers().first().map_or_else(String::new, |kind| kind.name.to_owned())
}

fn method_help() -> String {
    let mut help =
        "How to search. Several specs, separated by commas, run one after the other and are compared. A spec is a \
                    name, with parameters after a colon: `swap:restarts=20`. There are:\n"
            .to_owned();
    for kind in registry::mappers() {
        help += &format!("\n  {}: {} ({})", kind.name, kind.summary, kind.source);
        for parameter in kind.parameters {
            help += &format!("\n      {} [{}]: {}", parameter.name, parameter.default, parameter.described());
        }
    }
    help
}

/// What came of mapping.
pub struct Mapped {
    /// The best run, and how all runs compare.
    pub record: MapRecord,
    /// The problem that was solved.
    pub problem: MappingProblem,
    /// What the best run says of its mapping, where there is one.
    pub claim: Option<ClaimedMapping>,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let (stages, cost) = self.stages.read()?;
        let topology = self.topology.read()?;
        if !topology.channels.is_empty() {
            note("the cost of a mapping takes the topology's channels for wide enough; `dagsplit simulate` does not");
        }
        let cancelled = progress::interrupt_flag()?;
        let watched = |context| progress::with_progress_line(context, self.quiet);
        let watch = Watch { cancelled: &cancelled, watched: &watched };
        let mapped = self.placing.map(&stages, cost, topology, (started(), watch))?;
        self.write(&stages, &mapped)?;
        let record = &mapped.record;
        if self.json {
            print_json(record)?
        } else {
            print(&record.text())?
        }
        Ok(match record.outcome.status {
            Status::Infeasible => Exit::Infeasible,
            Status::Unknown => Exit::NothingFound,
            _ => Exit::Done,
        })
    }

    /// Writes the files asked for; `stages` are those that were read.
    fn write(&self, stages: &StageGraph, Mapped { record, problem, claim }: &Mapped) -> Result<(), Failure> {
        if let (Some(path), Some(claim)) = (&self.output, claim) {
            write_out(Some(path), &write_mapping(&problem.stages, &problem.topology, claim))?;
        }
        if let Some(path) = &self.output_stages {
            write_out(Some(path), &write_stages(stages))?;
        }
        if let Some(path) = self.draw.as_ref().filter(|_| record.verified) {
            write_out(Some(path), &draw_topology(&problem.topology, &record.copies))?;
        }
        Ok(())
    }
}

impl PlacingArgs {
    /// Runs every mapper. The time of the first counts from `begun`.
    pub fn map(
        &self,
        stages: &StageGraph,
        cost: StageCost,
        topology: Topology,
        (mut begun, watch): (Instant, Watch),
    ) -> Result<Mapped, Failure> {
        let problem = self.problem(stages, cost, topology)?;
        let specs = self.specs()?;
        let mappers = specs.iter().map(|spec| registry::mapper(spec).or_fail(Exit::Usage));
        let mappers = mappers.collect::<Result<Vec<_>, _>>()?;
        let mut attempts = Vec::with_capacity(specs.len());
        for (spec, mapper) in specs.iter().zip(&mappers) {
            attempts.push(self.attempt(spec, mapper.as_ref(), &problem, (begun, watch))?);
            begun = Instant::now();
        }
        best(problem, attempts)
    }

    /// The specs of the mappers, with what is left out.
    fn specs(&self) -> Result<Vec<String>, Failure> {
        let mut specs = split_list(&self.method);
        if self.without.is_empty() {
            return Ok(specs);
        }
        let name = BranchAndBound::default().name().to_owned();
        let searches = specs.iter_mut().filter(|spec| spec.split(':').next() == Some(&name));
        let with_techniques: Vec<&mut String> = searches.collect();
        if with_techniques.is_empty() {
            let cause = format!("--without: only {name} has techniques to leave out");
            return Err(Failure::message(Exit::Usage, format!("{cause}; add it to --method, or leave --without out")));
        }
        for spec in with_techniques {
            let mark = if spec.contains(':') { ',' } else { ':' };
            *spec += &format!("{mark}without={}", self.without.join("/"));
        }
        Ok(specs)
    }

    fn problem(&self, stages: &StageGraph, cost: StageCost, topology: Topology) -> Result<MappingProblem, Failure> {
        let (copies, devices) = (stages.stages.len().saturating_mul(self.replicas), topology.len());
        if copies > devices {
            let (replicas, count) = (self.replicas, stages.stages.len());
            let cause = format!("--replicas {replicas}: {count} stages make {copies} copies for {devices} devices");
            let cure = "give fewer replicas, fewer stages or more devices";
            return Err(Failure::message(Exit::Usage, format!("{cause}; {cure}")));
        }
        let (stages, counted) = self.counted(stages)?;
        Ok(MappingProblem { stages, replicas: self.replicas, topology, cost: StageCost { counted, ..cost } })
    }

    /// The stages as `--cost` sees them, and which communication it counts.
    fn counted(&self, stages: &StageGraph) -> Result<(StageGraph, Counted), Failure> {
        let counted = match self.cost {
            CostArg::Step => {
                let stages = stages.of_microbatch(self.microbatches.unwrap_or(1));
                let reduces = self.replicas > 1 && stages.stages.iter().any(|stage| stage.parameter_bytes > 0.0);
                return Ok((stages, if reduces { Counted::Both } else { Counted::Messages }));
            }
            CostArg::Messages => Counted::Messages,
            CostArg::AllReduce => Counted::AllReduce,
            CostArg::Both => Counted::Both,
            CostArg::Auto => Counted::dominant(stages, self.replicas),
        };
        if self.microbatches.is_some() {
            let cause = "--microbatches: only `--cost step` shares an all-reduce among microbatches";
            return Err(Failure::message(Exit::Usage, format!("{cause}; leave one of the two out")));
        }
        Ok((stages.clone(), counted))
    }

    fn attempt(
        &self,
        spec: &str,
        mapper: &dyn Mapper,
        problem: &MappingProblem,
        (begun, watch): (Instant, Watch),
    ) -> Result<MappingAttempt, Failure> {
        let context = (watch.watched)(self.search.context(watch.cancelled, begun));
        MappingAttempt::of(spec, mapper, problem, context).map_err(|violations| {
            bug(&format!("the mapping that method {spec} found is invalid:{}", listed(&violations)))
        })
    }
}

/// The best mapping, and how the mappers compare.
fn best(problem: MappingProblem, mut attempts: Vec<MappingAttempt>) -> Result<Mapped, Failure> {
    let records: Vec<MethodRecord> = attempts.iter().map(|attempt| attempt.record.clone()).collect();
    method::consistent(&records).map_err(|contradiction| bug(&contradiction.to_string()))?;
    let best = attempts.swap_remove(MethodRecord::best(&records));
    let mut record = MapRecord::new(&problem, best.record, best.stats, best.verified.as_ref());
    if records.len() > 1 {
        record.compared = records;
    }
    Ok(Mapped { record, problem, claim: best.claim })
}
