//! Operator graphs of published networks with modelled costs.

mod builder;
mod dense;
mod hardware;
mod image;
mod inception;
mod nasnet;
mod operator;
mod resnet;
pub(super) mod roofline;
mod semantic_fpn;
mod swin;
mod transformer;

pub use hardware::{Accelerator, Cpu, Hardware, Link, Precision};
pub use inception::Inception;
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
        let mut operators = self.architecture.network().operators();
        if training {
            operators.add_loss();
        }
        roofline::instance(&operators, &self.hardware, training)
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

networks_are_workloads!(Transformer, Resnet, Inception, Nasnet, Swin, SemanticFpn);
