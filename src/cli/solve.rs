//! `dagsplit solve`

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::formats::write_split;
use crate::proof::{Proof, Spread};
use crate::report::page::{self, RunPage};
use crate::report::{ProofRecord, RunRecord, StabilityRecord, table};
use crate::solve::Status;
use crate::verify::Verified;

use super::problem_args::ProblemArgs;
use super::question::{Answer, Question, Watch};
use super::reading_args::{ReadingArgs, Workload, graph_of};
use super::verbatim::Verbatim;
use super::{Exit, Failure, OrFail, command_line, invocation, note, print, print_json, progress, started, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit solve bert.json
  dagsplit solve bert.json --accelerators 4 --memory 16GiB --json
  dagsplit solve bert.json --method dp,dpl              # compare methods
  dagsplit solve bert.json --scope acyclic,arbitrary    # what contiguity costs, with proofs
  dagsplit solve bert.json --proof bert.proof           # why no split is better
  dagsplit solve bert.json --html bert.html             # a page to look at
  dagsplit solve bert.json --stable 5%                  # how far from optimal while times move so
  dagsplit solve bert.json --objective latency          # one sample, no pipeline
  dagsplit solve gnmt.txt --training --bandwidth 10GB --time-limit 60 --output split.json

`dagsplit methods` lists the methods. Ctrl-C stops the search: the best split so far is still \
verified, printed and written.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    reading: Verbatim<ReadingArgs>,

    #[command(flatten)]
    question: Verbatim<Question>,

    /// Print one JSON object (schema `dagsplit-run/1`) in place of the table.
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Write the split to this file, in the published shape; the best of the first scope, where several are compared.
    #[arg(long, value_name = "SPLIT", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Write a page to look at: the graph to zoom in, devices, transfers, the proof in words, and how it came about. One
    /// file, which loads nothing.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,

    /// Have the independent checker confirm a proof that no split is better: the status of the record is then
    /// `certified`. Proofs have a time limit of their own, the same again.
    #[arg(long, help_heading = "Search")]
    certify: bool,

    /// Write that proof to this file (`dagsplit-proof/1`), for `dagsplit-check` or a checker of yours.
    #[arg(long, value_name = "PROOF", help_heading = "Output")]
    proof: Option<PathBuf>,

    /// Tell by how much the split can be above the best one while each time moves by this part of itself, such as `5%`, or
    /// by what its measurements spread (`measured`), with a proof that the checker confirms. Every device's scenario has
    /// the time limit again.
    #[arg(long, value_name = "SPREAD", value_parser = spread, help_heading = "Search")]
    stable: Option<Spread>,

    /// Write the proof of that to this file.
    #[arg(long, value_name = "PROOF", requires = "stable", help_heading = "Output")]
    stable_proof: Option<PathBuf>,

    /// Show no progress line.
    #[arg(long, help_heading = "Output")]
    quiet: bool,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let workload = self.reading.options.read()?;
        let cancelled = progress::interrupt_flag()?;
        let watched = |context| progress::with_progress_line(context, self.quiet);
        let watch = Watch { cancelled: &cancelled, watched: &watched };
        let Answer { mut record, verified } = self.question.options.answer(&workload, started(), watch)?;
        if let (Some(path), Some(verified)) = (&self.output, &verified) {
            write_out(Some(path), &write_split(&workload.instance, &verified.to_solution()))?;
        }
        let proof = if self.certify || self.proof.is_some() {
            self.certify(&workload, &mut record, verified.as_ref(), watch)?
        } else {
            None
        };
        if let (Some(spread), Some(verified)) = (self.stable, &verified) {
            record.stability = self.stability(&workload, (&record, verified), spread, watch)?;
        }
        if let Some(path) = &self.html {
            write_out(Some(path), &self.page(&workload, &record, verified.as_ref(), proof.as_ref())?)?;
        }
        if self.json {
            print_json(&record)?
        } else {
            print(&table::run(&record))?
        }
        Ok(match record.status {
            Status::Infeasible => Exit::Infeasible,
            Status::Unknown => Exit::NothingFound,
            _ => Exit::Done,
        })
    }

    /// The proof that the checker accepts, if there is one: it is entered into the record, and written where that is asked
    /// for.
    fn certify(
        &self,
        workload: &Workload,
        record: &mut RunRecord,
        verified: Option<&Verified>,
        watch: Watch,
    ) -> Result<Option<Proof>, Failure> {
        let begun = Instant::now();
        let proof = match verified.filter(|_| record.status == Status::Optimal) {
            Some(verified) => {
                let proof = self.question.options.prove(&self.reading.options, workload, verified, watch)?;
                proof.map_err(|unproven| unproven.to_string())
            }
            None => Err("no split was found that is known to be optimal".to_owned()),
        };
        record.certify(proof.as_ref().ok().map(|proof| proof_record(proof, begun)));
        match (&proof, &self.proof) {
            (Ok(proof), Some(path)) => write_out(Some(path), &proof.text)?,
            (Ok(_), None) => {}
            (Err(cause), _) => note(&format!("not certified: {cause}")),
        }
        Ok(proof.ok())
    }

    /// The page of the run.
    fn page(
        &self,
        workload: &Workload,
        record: &RunRecord,
        verified: Option<&Verified>,
        proof: Option<&Proof>,
    ) -> Result<String, Failure> {
        let graph = graph_of(&workload.instance)?;
        let proof = proof.map(|proof| proof.text.as_str());
        let (instance, commands) = (&workload.instance, &self.commands(record));
        page::run(&RunPage { record, verified, instance, graph: &graph, proof, commands }).or_fail(Exit::Bug)
    }

    /// The command lines that do the run again and check the files that it wrote, each with what it does.
    fn commands(&self, record: &RunRecord) -> Vec<(&'static str, String)> {
        let word = |path: &Path| path.to_string_lossy().into_owned();
        let file = word(self.reading.options.file());
        let again = invocation::words().iter().map(|word| word.to_string_lossy().into_owned());
        let mut commands = vec![("This run:", command_line("dagsplit", again))];
        if let Some(split) = self.output.as_deref().filter(|_| record.verified) {
            let scope = format!("--scope={}", record.scope);
            let problem = self.question.words_of_without::<ProblemArgs>("scope");
            let options = self.reading.words_without("").into_iter().chain(problem).chain([scope]);
            let verify = ["verify".into(), file.clone(), word(split)].into_iter().chain(options);
            commands.push(("The verifier's word on the split:", command_line("dagsplit", verify)));
        }
        if let Some(proof) = self.proof.as_deref().filter(|_| record.proof.is_some()) {
            let check = [file, word(proof)].into_iter().chain(self.output.as_deref().map(word));
            commands.push(("The checker's word on the proof:", command_line("dagsplit-check", check)));
        }
        commands
    }

    /// How far the split can be from the best one while times move; writes its proof where that is asked for.
    fn stability(
        &self,
        workload: &Workload,
        known: (&RunRecord, &Verified),
        spread: Spread,
        watch: Watch,
    ) -> Result<Option<StabilityRecord>, Failure> {
        let begun = Instant::now();
        let stable = match self.question.options.stability(&self.reading.options, workload, known, spread, watch)? {
            Ok(stable) => stable,
            Err(unproven) => {
                note(&format!("nothing is known of its stability: {unproven}"));
                return Ok(None);
            }
        };
        match (&stable.proof, &self.stable_proof) {
            (Ok(proof), Some(path)) => write_out(Some(path), &proof.text)?,
            (Ok(_), None) => {}
            (Err(unproven), _) => note(&format!("its stability is not certified: {unproven}")),
        }
        Ok(Some(StabilityRecord {
            spread: if let Spread::Part(part) = spread { Some(part) } else { None },
            regret: stable.regret,
            relative: stable.relative,
            certified: stable.proof.is_ok(),
            proof: stable.proof.ok().map(|proof| proof_record(&proof, begun)),
        }))
    }
}

/// What is told of a proof that was sought from then on.
fn proof_record(proof: &Proof, begun: Instant) -> ProofRecord {
    ProofRecord {
        bytes: proof.text.len(),
        seconds: begun.elapsed().as_secs_f64(),
        check_seconds: proof.checked_in.as_secs_f64(),
    }
}

/// Reads by how much times move: `5%`, `0.05`, or `measured`.
fn spread(text: &str) -> Result<Spread, String> {
    if text == "measured" {
        return Ok(Spread::Measured);
    }
    let part = match text.strip_suffix('%') {
        // Decimals stay decimals: 7 hundredths are not 0.07 after a division.
        Some(percent) => format!("{}e-2", percent.trim_end()).parse::<f64>(),
        None => text.parse::<f64>(),
    };
    let part = part.ok().filter(|part| (0.0..1.0).contains(part));
    part.map(Spread::Part)
        .ok_or_else(|| "give a part from 0% to below 100%, such as `5%` or `0.05`, or `measured`".into())
}
