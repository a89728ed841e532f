//! Operator graphs of published networks with modelled costs.

mod builder;
mod by_layer;
mod dense;
mod hardware;
mod image;
mod inception;
mod llm;
mod nasnet;
mod operator;
mod resnet;
pub(super) mod roofline;
mod semantic_fpn;
mod swin;
mod tensor_parallel;
mod transformer;

pub use hardware::{Accelerator, Cpu, Hardware, Link, OtherAccelerators, Precision};
pub use inception::Inception;
pub use llm::{Granularity, LanguageModel, Llm};
pub use nasnet::Nasnet;
pub use operator::{Operator, OperatorGraph, OperatorKind};
pub use resnet::Resnet;
pub use semantic_fpn::SemanticFpn;
pub use swin::Swin;
pub use transformer::{Head, Style, Transformer};

use serde::Serialize;

use super::Workload;
use super::checks::Checks;
use crate::instance::Instance;

/// A published network with its settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "family", rename_all = "kebab-case")]
pub enum Architecture {
    /// BERT-style encoders and GPT-style decoders.
    Transformer(Transformer),
    /// Residual networks with bottleneck blocks.
    Resnet(Resnet),
    /// InceptionV3.
    Inception(Inception),
    /// NASNet-A.
    Nasnet(Nasnet),
    /// Swin transformers.
    Swin(Swin),
    /// SemanticFPN.
    SemanticFpn(SemanticFpn),
    /// Language models of today.
    Llm(Llm),
}

impl Architecture {
    fn network(&self) -> &dyn Network {
        match self {
            Self::Transformer(network) => network,
            Self::Resnet(network) => network,
            Self::Inception(network) => network,
            Self::Nasnet(network) => network,
            Self::Swin(network) => network,
            Self::SemanticFpn(network) => network,
            Self::Llm(network) => network,
        }
    }

    /// A short name, such as `resnet-50`.
    pub fn name(&self) -> String {
        self.network().name()
    }

    /// The network with its settings, in words.
    pub fn describe(&self) -> String {
        self.network().describe()
    }

    /// The operators of one forward pass, in topological order.
    ///
    /// # Errors
    /// [`GenerateError`](super::GenerateError) names every setting that makes no sense.
    pub fn operators(&self) -> Result<OperatorGraph, super::GenerateError> {
        let mut checks = Checks::default();
        self.check(false, &mut checks);
        checks.into_result()?;
        Ok(self.network().operators())
    }

    fn check(&self, training: bool, checks: &mut Checks) {
        let network = self.network();
        network.check(checks);
        let nodes = network.most_operators();
        checks.size(training, nodes, 2.0 * nodes);
        if training && !network.tensor_degrees().is_empty() {
            let cause = "options are of both passes, and --training adds nodes of the second";
            checks.problem("tensor-degrees", cause, "leave one of them out");
        }
    }
}

/// What an architecture must tell and do.
trait Network {
    fn name(&self) -> String;
    fn describe(&self) -> String;
    /// Checks the settings, but not the size.
    fn check(&self, checks: &mut Checks);
    /// An upper bound on the number of operators.
    fn most_operators(&self) -> f64;
    /// The operators of one forward pass, for settings that passed [`Network::check`].
    fn operators(&self) -> OperatorGraph;
    /// How many devices may share each operator in the options of its nodes; none where there are no options.
    fn tensor_degrees(&self) -> &[u32] {
        &[]
    }
    /// Whether these options are of inference, not of a training step.
    fn is_served(&self) -> bool {
        false
    }
    /// Whether nodes are layers.
    fn is_by_layer(&self) -> bool {
        false
    }
}

/// A published network on given hardware.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Model {
    /// The network.
    #[serde(flatten)]
    pub architecture: Architecture,
    /// The devices that its costs are modelled for.
    #[serde(flatten)]
    pub hardware: Hardware,
}

impl Model {
    pub(super) fn check(&self, training: bool, checks: &mut Checks) {
        self.architecture.check(training, checks);
        self.hardware.check(checks);
    }

    pub(super) fn build(&self, training: bool) -> Instance {
        let network = self.architecture.network();
        let mut operators = network.operators();
        if training {
            operators.add_loss();
        }
        let mut instance = roofline::instance(&operators, &self.hardware, training);
        let degrees = network.tensor_degrees();
        if !degrees.is_empty() {
            let options = if network.is_served() { tensor_parallel::serving } else { tensor_parallel::training };
            instance.parallelism = Some(options(&operators, &self.hardware, degrees));
        }
        if network.is_by_layer() { by_layer::joined(instance) } else { instance }
    }
}

impl From<Model> for Workload {
    fn from(model: Model) -> Self {
        Self::Model(model)
    }
}

/// Networks become workloads of the default hardware.
macro_rules! networks_are_workloads {
    ($($network:ident),*) => {$(
        impl From<$network> for Architecture {
            fn from(network: $network) -> Self {
                Self::$network(network)
            }
        }

        impl From<$network> for Workload {
            fn from(network: $network) -> Self {
                Model { architecture: network.into(), hardware: Hardware::default() }.into()
            }
        }
    )*};
}

networks_are_workloads!(Transformer, Resnet, Inception, Nasnet, Swin, SemanticFpn, Llm);
