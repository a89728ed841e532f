//! Options that say what the devices of stages with degrees keep.

use crate::problem::{InFlight, Optimizer, Precision, StageMemory, Training};
use clap::ValueEnum;

use super::values;

/// What stages with degrees keep (`--microbatches`).
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Memory of stages with degrees")]
pub struct StageMemoryArgs {
    /// The schedule of the pipeline, by which microbatches are in flight.
    #[arg(long, value_enum, default_value = "1f1b", requires = "microbatches")]
    schedule: FlightArg,

    /// Microbatches in flight in every stage, such as requests that are served at once, in place of what a schedule says.
    #[arg(long, value_name = "Y", value_parser = values::count::<usize>(), requires = "microbatches", conflicts_with = "schedule")]
    in_flight: Option<usize>,

    /// What updates the weights: weights, gradients and its state then follow from the file's parameter bytes, in the place of what
    /// the file's options say of lasting memory.
    #[arg(long, value_enum, requires = "microbatches", requires = "precision")]
    optimizer: Option<OptimizerArg>,

    /// What the file's parameters are stored in.
    #[arg(long, value_enum, requires = "optimizer")]
    precision: Option<PrecisionArg>,

    /// What replicas share out among them: 1 for the optimizer's state, 2 for gradients, too, 3 for weights, too (ZeRO).
    #[arg(long, value_name = "STAGE", default_value = "0", value_parser = values::whole::<usize>(0..=3), requires = "microbatches")]
    zero: usize,

    /// Tokens of which stages keep keys and values.
    #[arg(long, value_name = "TOKENS", default_value = "0", value_parser = values::whole::<usize>(0..=1_000_000_000), requires = "microbatches")]
    cache_tokens: usize,
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
    /// One: there are forward passes alone.
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
    pub fn asked(&self) -> StageMemory {
        let in_flight = match self.schedule {
            FlightArg::Gpipe => InFlight::GPipe,
            FlightArg::OneForwardOneBackward => InFlight::OneForwardOneBackward,
            FlightArg::Asynchronous => InFlight::Asynchronous,
            FlightArg::ZbH1 => InFlight::ZbH1,
            FlightArg::ZbH2 => InFlight::ZbH2,
            FlightArg::Inference => InFlight::Constant(1),
        };
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
            in_flight: self.in_flight.map_or(in_flight, InFlight::Constant),
            training,
            zero: self.zero,
            cache_tokens: self.cache_tokens,
        }
    }
}
