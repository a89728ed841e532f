//! Language models of today: dense, mixtures of experts, with latent attention, with state spaces.

mod layers;
mod shape;

pub use shape::LanguageModel;

use serde::Serialize;

use super::Network;
use super::operator::OperatorGraph;
use crate::generate::checks::Checks;
use layers::Layers;

/// What is a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Granularity {
    /// Each layer, and embedding and head: a chain.
    #[default]
    Layer,
    /// Each operator.
    Operator,
}

/// A published language model, without dropout, with attention as one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct Llm {
    /// Which one.
    #[arg(long, value_enum, default_value_t = Self::default().model)]
    pub model: LanguageModel,
    /// How many layers it has, where not as published.
    #[arg(long)]
    pub layers: Option<u32>,
    /// What is a node.
    #[arg(long, value_enum, default_value_t = Self::default().granularity)]
    pub granularity: Granularity,
    /// Tokens of a sequence.
    #[arg(long, default_value_t = Self::default().sequence)]
    pub sequence: u32,
    /// Sequences of a microbatch.
    #[arg(long, default_value_t = Self::default().batch)]
    pub batch: u32,
    /// Also state what a training step takes on so many devices that share each operator, and with its activations
    /// recomputed (the options of `solve --microbatches`), such as 1,2,4,8.
    #[arg(long, value_name = "T,...", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tensor_degrees: Vec<u32>,
    /// Let the options be those of inference: the forward pass alone, and keys and values of each token
    /// (`solve --cache-tokens`).
    #[arg(long, requires = "tensor_degrees")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub serving: bool,
}

impl Default for Llm {
    /// Llama 3 with 8 billion parameters, layer by layer, in sequences of its training.
    fn default() -> Self {
        let (model, granularity) = Default::default();
        Self { model, layers: None, granularity, sequence: 8192, batch: 1, tensor_degrees: Vec::new(), serving: false }
    }
}

impl Llm {
    fn layers(&self) -> u32 {
        self.layers.unwrap_or_else(|| self.model.shape().layers)
    }
}

impl Network for Llm {
    fn name(&self) -> String {
        match self.layers {
            None => self.model.name(),
            Some(layers) => format!("{}-{layers}-layers", self.model.name()),
        }
    }

    fn describe(&self) -> String {
        let Self { sequence, batch, .. } = self;
        format!("{}, {} layers, {sequence} tokens, batch {batch}", self.model.name(), self.layers())
    }

    fn check(&self, checks: &mut Checks) {
        checks.count("layers", self.layers());
        checks.count("sequence", self.sequence);
        checks.count("batch", self.batch);
        let most = self.model.shape().key_heads;
        for &degree in &self.tensor_degrees {
            if degree == 0 || !most.is_multiple_of(degree) {
                let cause = format!("{degree} devices cannot share {most} heads of keys evenly");
                checks.problem("tensor-degrees", cause, format!("give divisors of {most}"));
            }
        }
    }

    fn most_operators(&self) -> f64 {
        40.0 * (f64::from(self.layers()) + 2.0)
    }

    fn operators(&self) -> OperatorGraph {
        let shape = self.model.shape();
        let (sequence, batch) = (f64::from(self.sequence), f64::from(self.batch));
        Layers { shape: &shape, count: self.layers(), sequence, batch }.operators()
    }

    fn tensor_degrees(&self) -> &[u32] {
        &self.tensor_degrees
    }

    fn is_served(&self) -> bool {
        self.serving
    }

    fn is_by_layer(&self) -> bool {
        self.granularity == Granularity::Layer
    }
}
