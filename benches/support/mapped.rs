//! What a search for a mapping comes to within a limit.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use dagsplit::mapping::{Mapper, MappingOutcome, MappingProblem};
use dagsplit::registry::mapper;
use dagsplit::solve::SearchContext;

/// Branch and bound without some of its techniques.
pub fn branch_and_bound(without: &[String]) -> Result<Box<dyn Mapper>> {
    let parameter = if without.is_empty() { String::new() } else { format!(":without={}", without.join("/")) };
    Ok(mapper(&format!("branch-and-bound{parameter}"))?)
}

/// What a run came to.
pub struct Mapped {
    pub is_proven: bool,
    /// Infinite where no mapping was found.
    pub objective: f64,
    pub bound: f64,
    pub decisions: u64,
    pub seconds: f64,
}

impl Mapped {
    /// Runs `mapper` for so many seconds, and no longer than so many CPU seconds of all its threads.
    pub fn measure(mapper: &dyn Mapper, problem: &MappingProblem, limit: f64) -> Result<Self> {
        let (stop, is_done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let time = Duration::from_secs_f64(limit);
        let cx = SearchContext::new().with_time_limit(time).with_cancellation(Arc::clone(&stop));
        let clock = Clock::start();
        let end = Arc::clone(&is_done);
        let watch = thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
                stop.fetch_or(clock.seconds() >= limit, Ordering::Relaxed);
            }
        });
        let run = mapper.map(problem, &cx);
        let seconds = clock.seconds();
        is_done.store(true, Ordering::Relaxed);
        ensure!(watch.join().is_ok(), "the watch failed");
        Ok(Self {
            is_proven: matches!(run.outcome, MappingOutcome::Optimal { .. }),
            objective: run.outcome.solution().map_or(f64::INFINITY, |mapping| problem.objective(mapping)),
            bound: run.outcome.bound().copied().unwrap_or(0.0),
            decisions: run.stats.get("decisions").or_else(|| run.stats.get("placements")).unwrap_or(0.0) as u64,
            seconds,
        })
    }

    /// What part of the objective may be too much.
    pub fn gap(&self) -> f64 {
        if self.objective.is_finite() { ((self.objective - self.bound) / self.objective).max(0.0) } else { 1.0 }
    }

    /// A line about it.
    pub fn line(&self, problem: &MappingProblem) -> String {
        let (topology, stages) = (&problem.topology.name, &problem.stages);
        let of = format!("{topology} {} {}x{}", stages.name, stages.stages.len(), problem.replicas);
        let (cost, gap) = (problem.cost.counted.name(), 100.0 * self.gap());
        let Self { objective, bound, decisions, seconds, .. } = self;
        format!("{of} {cost}: {objective:.4} {bound:.4} gap {gap:.3}% {decisions} decisions {seconds:.2} s")
    }
}

/// CPU time of all threads to a hundredth of a second, or the time of day where the system does not tell it.
#[derive(Clone, Copy)]
struct Clock {
    start: Instant,
    used: Option<f64>,
}

impl Clock {
    fn start() -> Self {
        Self { start: Instant::now(), used: Self::used() }
    }

    fn used() -> Option<f64> {
        let text = fs::read_to_string("/proc/self/stat").ok()?;
        // User and system time, in ticks, follow the command's name and eleven other fields.
        let mut fields = text.rsplit(')').next()?.split_whitespace().skip(11);
        let mut ticks = || fields.next()?.parse::<f64>().ok();
        Some((ticks()? + ticks()?) / 100.0)
    }

    fn seconds(&self) -> f64 {
        match (self.used, Self::used()) {
            (Some(before), Some(now)) => now - before,
            _ => self.start.elapsed().as_secs_f64(),
        }
    }
}
