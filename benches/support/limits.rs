//! The options that benchmarks share.

use std::time::Duration;

use dagsplit::solve::SearchContext;

/// Whether to measure at all, and how long.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Limits {
    /// Given by cargo; without it nothing is measured.
    #[arg(long, hide = true)]
    bench: bool,
    /// Seconds for each measurement [default: what the benchmark says].
    #[arg(long)]
    time_limit: Option<f64>,
}

impl Limits {
    /// Whether cargo asks for the benchmark of this name; else says how it is started.
    pub fn is_asked(&self, name: &str) -> bool {
        if !self.bench {
            println!("start me by `cargo bench --bench {name}`");
        }
        self.bench
    }

    /// Seconds for each measurement.
    pub fn seconds(&self, default: f64) -> f64 {
        self.time_limit.unwrap_or(default)
    }
}

/// The limits of a benchmark that searches in this process.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Searching {
    #[command(flatten)]
    pub limits: Limits,
    /// How many threads to use.
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
}

impl Searching {
    /// A context with these limits, which begins now.
    pub fn context(&self, default_seconds: f64) -> SearchContext {
        let seconds = Duration::from_secs_f64(self.limits.seconds(default_seconds));
        let mut context = SearchContext::new().with_time_limit(seconds);
        context.threads = self.threads;
        context
    }
}
