//! Many plans: each workload on each topology, each in a process of its own.

use std::path::PathBuf;

use crate::formats::write_topology;
use crate::report::comparison::{Record, Status};
use crate::report::plan::many;
use crate::report::table;
use dagsplit_check::hash;

use super::export_args::ExportArgs;
use super::mapping_args::{LinkArgs, refuse_topology};
use super::plan::PlanQuestion;
use super::plan_args::HowArgs;
use super::reading_args::{ReadingOptions, listed};
use super::series::SeriesArgs;
use super::task::{PlanTask, Task};
use super::verbatim::Verbatim;
use super::{Exit, Failure, print};

/// What else is planned, and how the plans are made.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Runs")]
pub struct PlansArgs {
    /// Plan further workloads, too, from a list: a file name a line; `-` is standard input. Each is planned on each
    /// topology, in a process of its own.
    #[arg(long, value_name = "LIST")]
    workloads_from: Option<PathBuf>,

    /// Plan on further topologies, too, from a list.
    #[arg(long, value_name = "LIST")]
    topologies_from: Option<PathBuf>,

    #[command(flatten)]
    pub series: SeriesArgs,
}

impl PlansArgs {
    /// Whether there may be several plans, or results are kept.
    pub fn are_asked(&self) -> bool {
        self.workloads_from.is_some() || self.topologies_from.is_some() || self.series.are_asked()
    }

    /// Makes the plans and shows a row for each; `files` are the options that tell what is written of one plan.
    ///
    /// # Errors
    /// Something cannot be read or written, or files of one plan are asked for.
    pub fn make(
        &self,
        question: &Verbatim<PlanQuestion>,
        files: &[String],
        export: &ExportArgs,
    ) -> Result<Exit, Failure> {
        if !files.is_empty() {
            let cure = "where runs are asked for, these are options of one plan; the command of each is in its record";
            return Err(Failure::message(Exit::Usage, format!("{}: {cure}", files.join(", "))));
        }
        let (topologies, tasks) = self.tasks(question)?.into_iter().unzip::<_, _, Vec<String>, Vec<Task>>();
        let Some(made) = self.series.make(tasks)? else { return Ok(Exit::Done) };
        let plans = topologies.into_iter().zip(made.records);
        let plans: Vec<(String, Record)> = plans.filter_map(|(topology, plan)| Some((topology, plan?))).collect();
        let sheet = many(&plans);
        print(&table::sheet(&sheet))?;
        let records: Vec<&Record> = plans.iter().map(|(_, record)| record).collect();
        export.write(&records, &sheet, &sheet)?;
        let each = |holds: fn(&Record) -> bool| records.iter().all(|record| holds(record));
        Ok(if made.is_interrupted {
            Exit::NothingFound
        } else if self.series.is_part() || each(|plan| plan.ending.objective.is_some()) {
            Exit::Done
        } else if each(|plan| plan.ending.status == Status::Infeasible) {
            Exit::Infeasible
        } else {
            Exit::NothingFound
        })
    }

    /// The plan of each workload on each topology, with the topology's name.
    fn tasks(&self, question: &Verbatim<PlanQuestion>) -> Result<Vec<(String, Task)>, Failure> {
        let PlanQuestion { reading, topology, planning } = &question.options;
        let more = |list: &Option<PathBuf>| list.as_deref().map(listed).transpose();
        let how = question.words_of_without::<HowArgs>("");
        let words = || [question.words_of_without::<ReadingOptions>(""), question.words_of_without::<LinkArgs>("")];
        let mut topologies = Vec::new();
        for file in [topology.file().to_owned()].into_iter().chain(more(&self.topologies_from)?.into_iter().flatten()) {
            topologies.push((topology.links().read(&file)?, file));
        }
        let mut tasks = Vec::new();
        for file in [reading.file().to_owned()].into_iter().chain(more(&self.workloads_from)?.into_iter().flatten()) {
            refuse_topology(&file)?;
            let workload = reading.options().read(&file)?;
            for (devices, place) in &topologies {
                // The same name may stand for other devices elsewhere.
                let content = hash(write_topology(devices).as_bytes());
                let method = format!("plan {} on {} {content}", how.join(" "), devices.name);
                let plan = PlanTask { file: &file, topology: place, method, partitioner: None };
                let options = words().into_iter().chain([how.clone()]).flatten();
                let of_file = (&workload.instance, &workload.platform);
                tasks.push((devices.name.clone(), plan.task(of_file, options, &planning.search)));
            }
        }
        Ok(tasks)
    }
}
