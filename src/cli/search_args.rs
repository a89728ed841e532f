//! Limits, threads and seed of a search.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use crate::report::comparison::Limits;
use crate::solve::SearchContext;

use super::{memory, note, values};

/// To bound, verify and write an answer takes at most about so many times as long as to read and check the problem did.
const REPORT_TIME: f64 = 1.25;

/// When a method has to stop, and what it may use.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Search")]
pub struct SearchArgs {
    /// Stop each method after this time and keep its best split and bound; reading counts for the first one.
    #[arg(long, value_name = "SECONDS", value_parser = values::seconds)]
    time_limit: Option<Duration>,

    /// Stay below this much memory, such as `2GB`, by smaller tables or an earlier end [default: three quarters of what
    /// the machine, the job's control group or `ulimit -v` allows].
    #[arg(long, value_name = "BYTES", value_parser = values::whole_bytes)]
    memory_limit: Option<u64>,

    /// Stop at this relative gap; 0 asks for a proof of optimality.
    #[arg(long, value_name = "REL", default_value = "0", value_parser = values::number(0.0..=1.0))]
    gap: f64,

    /// How many threads to use; 0 takes all cores, and no more than these are used. The same input, seed and number of
    /// threads give the same split.
    #[arg(long, value_name = "N", default_value = "1", value_parser = values::whole::<usize>(0..=values::COUNT))]
    threads: usize,

    /// Seed of everything random.
    #[arg(long, value_name = "S", default_value = "0", value_parser = values::whole::<u64>(0..=u64::MAX))]
    pub seed: u64,
}

impl SearchArgs {
    /// Takes `limit` as the time limit where none was given.
    pub fn default_time_limit(&mut self, limit: Duration) {
        self.time_limit.get_or_insert(limit);
    }

    /// A context with these limits, for a search that begins now and is cancelled by a flag. Its time has been running
    /// since `begun`; some of it is left to verify and write the answer.
    pub fn context(&self, cancelled: &Arc<AtomicBool>, begun: Instant) -> SearchContext {
        let mut context = SearchContext::new().with_cancellation(Arc::clone(cancelled));
        if let Some(limit) = self.time_limit {
            let spent = begun.elapsed();
            let reserve = spent.mul_f64(REPORT_TIME).min(limit / 4);
            context = context.with_time_limit(limit.saturating_sub(spent + reserve));
        }
        if let Some(budget) = memory::budget(self.memory_limit) {
            context = context.with_memory_budget(budget);
        }
        let Limits { gap, threads, .. } = self.limits();
        (context.gap, context.threads, context.seed) = (gap, threads, self.seed);
        context
    }

    /// The limits, with the number of threads that are used.
    pub fn limits(&self) -> Limits {
        let time_limit = self.time_limit.map(|limit| limit.as_secs_f64());
        let (threads, memory_limit) = (self.used_threads(), self.memory_limit);
        Limits { time_limit, gap: self.gap, threads, memory_limit, certify: false }
    }

    /// The threads asked for, or all cores; threads beyond these only wait for each other, which is said once.
    fn used_threads(&self) -> usize {
        static SAID: Once = Once::new();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if self.threads > cores {
            SAID.call_once(|| {
                note(&format!("--threads {}: there are {cores} cores; {cores} threads are used", self.threads))
            });
        }
        if self.threads == 0 { cores } else { self.threads.min(cores) }
    }
}
