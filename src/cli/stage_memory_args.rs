//! Options that say what the devices of stages with degrees keep, and those with several chunks.

use crate::problem::{
    ChunkMemory, ChunksInFlight, InFlight, MOST_IN_FLIGHT, Optimizer, Placement, Precision, StageMemory, Training,
};
use clap::ValueEnum;

use super::values;
use super::{Exit, Failure};

/// What stages with degrees keep (`--microbatches`), or devices with several of them (`--chunks`).
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Memory by place")]
pub struct StageMemoryArgs {
    /// The schedule of the pipeline, by which microbatches are in flight [default: 1f1b; with --chunks that of the placement].
    #[arg(long, value_enum, requires = "microbatches")]
    schedule: Option<FlightArg>,

    /// Microbatches in flight in every stage, such as requests that are served at once, in place of what a schedule
    /// says.
    #[arg(long, value_name = "Y", value_parser = values::whole::<usize>(1..=MOST_IN_FLIGHT as u64), requires = "microbatches", conflicts_with = "schedule")]
    in_flight: Option<usize>,

    #[command(flatten)]
    training: TrainingArgs,
}

/// What training keeps of the parameters, and serving of tokens.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Memory by place")]
pub struct TrainingArgs {
    /// What updates the weights: weights, gradients and its state then follow from the file's parameter bytes, in the
    /// place of what the file's options say of lasting memory.
    #[arg(long, value_enum, requires = "microbatches", requires = "precision")]
    optimizer: Option<OptimizerArg>,

    /// What the file's parameters are stored in.
    #[arg(long, value_enum, requires = "optimizer")]
    precision: Option<PrecisionArg>,

    /// What replicas share out among them: 1 for the optimizer's state, 2 for gradients, too, 3 for weights, too (ZeRO)
    /// [default: 0].
    #[arg(long, value_name = "STAGE", value_parser = values::whole::<usize>(0..=3), requires = "microbatches")]
    zero: Option<usize>,

    /// Tokens whose keys and values each replica keeps, where options of serving state what they take [default: 0].
    #[arg(long, value_name = "TOKENS", value_parser = values::whole::<usize>(0..=1_000_000_000), requires = "microbatches")]
    cache_tokens: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FlightArg {
    /// All microbatches of a replica.
    Gpipe,
    /// As many as there are stages from this one to the last, where all have one data degree.
    #[value(name = "1f1b")]
    OneForwardOneBackward,
    /// As many, and a version of the weights for each.
    #[value(name = "async-1f1b")]
    Asynchronous,
    /// As many as there are stages.
    #[value(name = "zb-h1")]
    ZbH1,
    /// Twice as many but one.
    #[value(name = "zb-h2")]
    ZbH2,
    /// With --chunks: interleaved 1F1B, which takes a microbatch for each device at a time through each chunk. It uses as
    /// many devices as divide the microbatches.
    Interleaved,
    /// With --placement v-shape: ZB-V, which has 2p of them in the two chunks of each of p devices.
    #[value(name = "zb-v")]
    ZbV,
    /// One. What else training takes stays: `--optimizer none` leaves that out.
    Inference,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OptimizerArg {
    /// Nothing: there are no gradients.
    None,
    /// Gradients alone.
    Sgd,
    /// Gradients and one moment.
    Momentum,
    /// Gradients and two moments.
    Adam,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PrecisionArg {
    /// Four bytes.
    Fp32,
    /// Two bytes, and four in a copy for the optimizer.
    Bf16,
    /// As bf16.
    Fp16,
}

impl StageMemoryArgs {
    /// Whether anything is asked for.
    pub fn is_given(&self) -> bool {
        self.schedule.is_some() || self.in_flight.is_some() || self.training.is_given()
    }

    /// What stages with degrees keep.
    pub fn of_stages(&self) -> Result<StageMemory, Failure> {
        let in_flight = match self.schedule {
            None => InFlight::default(),
            Some(FlightArg::Gpipe) => InFlight::GPipe,
            Some(FlightArg::OneForwardOneBackward) => InFlight::OneForwardOneBackward,
            Some(FlightArg::Asynchronous) => InFlight::Asynchronous,
            Some(FlightArg::ZbH1) => InFlight::ZbH1,
            Some(FlightArg::ZbH2) => InFlight::ZbH2,
            Some(FlightArg::Inference) => InFlight::Constant(1),
            Some(schedule @ (FlightArg::Interleaved | FlightArg::ZbV)) => {
                let cure = "it runs several stages on each device; ask for them by --chunks, or for another schedule";
                return Err(schedule.refused(cure));
            }
        };
        Ok(StageMemory { in_flight: self.in_flight.map_or(in_flight, InFlight::Constant), ..self.training.asked() })
    }

    /// What devices with so many chunks keep, where nodes have no options, if anything is asked for.
    pub fn of_chunks(&self, placement: Placement, count: usize) -> Result<Option<ChunkMemory>, Failure> {
        if self.training.zero.is_some() {
            return Err(refused(
                "--zero",
                "devices with several chunks have no replicas; leave it out, or name --tensor-degrees and --data-degrees",
            ));
        }
        if self.training.cache_tokens.is_some() {
            return Err(refused("--cache-tokens", "nodes without options keep no keys and values; leave it out"));
        }
        let in_flight = self.in_flight_in_chunks(placement, count)?;
        Ok(self.is_given().then_some(ChunkMemory { in_flight, training: self.training.asked().training }))
    }

    /// What options keep, whatever is in flight in chunks.
    pub fn of_options(&self) -> StageMemory {
        self.training.asked()
    }

    /// What is in flight in so many chunks of a device. One on each is 1F1B.
    pub fn in_flight_in_chunks(&self, placement: Placement, count: usize) -> Result<ChunksInFlight, Failure> {
        let own = match placement {
            Placement::Interleaved => FlightArg::Interleaved,
            Placement::VShape => FlightArg::ZbV,
        };
        let is_own = |schedule: FlightArg| {
            schedule == own
                || own == FlightArg::Interleaved && count == 1 && schedule == FlightArg::OneForwardOneBackward
        };
        let in_flight = match self.schedule.unwrap_or(own) {
            FlightArg::Gpipe => ChunksInFlight::GPipe,
            schedule if is_own(schedule) => ChunksInFlight::OfPlacement,
            schedule => {
                let cure = format!(
                    "it does not run {} chunks; ask for {} or gpipe, or for --in-flight, or leave --chunks out",
                    placement.name(),
                    own.name()
                );
                return Err(schedule.refused(&cure));
            }
        };
        Ok(self.in_flight.map_or(in_flight, ChunksInFlight::Constant))
    }
}

impl FlightArg {
    /// What it is called on the command line.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().into())
    }

    fn refused(self, cure: &str) -> Failure {
        refused(&format!("--schedule {}", self.name()), cure)
    }
}

fn refused(option: &str, cure: &str) -> Failure {
    Failure::message(Exit::Usage, format!("{option}: {cure}"))
}

impl TrainingArgs {
    /// Whether anything is asked for.
    pub fn is_given(&self) -> bool {
        self.optimizer.is_some() || self.zero.is_some() || self.cache_tokens.is_some()
    }

    /// What is asked for, whatever is in flight.
    pub fn asked(&self) -> StageMemory {
        let training = self.optimizer.zip(self.precision).map(|(optimizer, precision)| Training {
            optimizer: match optimizer {
                OptimizerArg::None => Optimizer::None,
                OptimizerArg::Sgd => Optimizer::Sgd,
                OptimizerArg::Momentum => Optimizer::Momentum,
                OptimizerArg::Adam => Optimizer::Adam,
            },
            precision: match precision {
                PrecisionArg::Fp32 => Precision::Fp32,
                PrecisionArg::Bf16 => Precision::Bf16,
                PrecisionArg::Fp16 => Precision::Fp16,
            },
        });
        StageMemory {
            training,
            zero: self.zero.unwrap_or(0),
            cache_tokens: self.cache_tokens.unwrap_or(0),
            ..StageMemory::default()
        }
    }
}
