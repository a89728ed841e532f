//! Limits, threads and seed of a search.

use std::sync::Once;
use std::time::Duration;

use dagsplit::report::comparison::Limits;
use dagsplit::solve::SearchContext;

use super::{note, values};

/// When a method has to stop, and what it may use.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Search")]
pub struct SearchArgs {
    /// Stop each method after this time and keep its best split and bound.
    #[arg(long, value_name = "SECONDS", value_parser = values::seconds)]
    time_limit: Option<Duration>,

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

    /// A context with these limits, which begins now.
    pub fn context(&self) -> SearchContext {
        let mut context = SearchContext::new();
        if let Some(limit) = self.time_limit {
            context = context.with_time_limit(limit);
        }
        let Limits { gap, threads, .. } = self.limits();
        (context.gap, context.threads, context.seed) = (gap, threads, self.seed);
        context
    }

    /// The limits, with the number of threads that are used.
    pub fn limits(&self) -> Limits {
        let time_limit = self.time_limit.map(|limit| limit.as_secs_f64());
        Limits { time_limit, gap: self.gap, threads: self.used_threads() }
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
