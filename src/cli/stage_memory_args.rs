//! Options that say what the devices of stages with degrees keep.

use crate::problem::{InFlight, Optimizer, Precision, StageMemory, Training};
use clap::ValueEnum;

use super::values;

/// What stages with degrees keep (`--microbatches`).
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Memory of stages with degrees")]
pub struct StageMemoryArgs {
    /// The schedule of the pipeline, by which microbatches are in flight [default: 1f1b].
    #[arg(long, value_enum, requires = "microbatches")]
    schedule: Option<FlightArg>,

    /// Microbatches in flight in every stage, such as requests that are served at once, in place of what a schedule
    /// says.
    #[arg(long, value_name = "Y", value_parser = values::count::<usize>(), requires = "microbatches", conflicts_with = "schedule")]
    in_flight: Option<usize>,

    #[command(flatten)]
    training: TrainingArgs,

    /// Tokens of which stages keep keys and values [default: 0].
    #[arg(long, value_name = "TOKENS", value_parser = values::whole::<usize>(0..=1_000_000_000), requires = "microbatches")]
    cache_tokens: Option<usize>,
}

/// What training keeps of the parameters.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Memory of stages with degrees")]
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
}

#[derive(Debug, Clone, Copy, ValueEnum)]
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
        self.schedule.is_some() || self.in_flight.is_some() || self.training.is_given() || self.cache_tokens.is_some()
    }

    pub fn asked(&self) -> StageMemory {
        let in_flight = self.schedule.map_or(InFlight::default(), |schedule| match schedule {
            FlightArg::Gpipe => InFlight::GPipe,
            FlightArg::OneForwardOneBackward => InFlight::OneForwardOneBackward,
            FlightArg::Asynchronous => InFlight::Asynchronous,
            FlightArg::ZbH1 => InFlight::ZbH1,
            FlightArg::ZbH2 => InFlight::ZbH2,
            FlightArg::Inference => InFlight::Constant(1),
        });
        StageMemory {
            in_flight: self.in_flight.map_or(in_flight, InFlight::Constant),
            cache_tokens: self.cache_tokens.unwrap_or(0),
            ..self.training.asked()
        }
    }
}

impl TrainingArgs {
    fn is_given(&self) -> bool {
        self.optimizer.is_some() || self.zero.is_some()
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
        StageMemory { training, zero: self.zero.unwrap_or(0), ..StageMemory::default() }
    }
}
