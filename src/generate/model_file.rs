//! What files of models leave open, and the workloads that are made of their operators.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::checks::Checks;
use super::model::{Hardware, OperatorGraph, roofline};
use crate::instance::{Instance, Metadata, Problems, Provenance, Setting, validate};

/// What the file of a model leaves open.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelFileOptions {
    /// The devices that the costs are modelled for. Real numbers are as wide as their precision, others as their type.
    pub hardware: Hardware,
    /// Sizes of the dimensions that the file leaves open: by their name, such as `batch`, or by a value and its axis, such
    /// as `image.0`.
    pub dimensions: BTreeMap<String, u64>,
    /// Where the files are that an ONNX model keeps tensors in. Without it shapes that such tensors tell are not known.
    pub folder: Option<PathBuf>,
    /// Adds the backward pass.
    pub training: bool,
}

impl ModelFileOptions {
    pub(super) fn check(&self) -> Result<(), Problems> {
        let mut checks = Checks::default();
        self.hardware.check(&mut checks);
        checks.into_result().map_err(|error| error.0)
    }
}

/// What is told of a file of a model.
pub(super) struct Origin {
    /// The kind of file, such as `ONNX graph`.
    pub kind: &'static str,
    pub name: Option<String>,
    pub source: Option<String>,
}

/// The workload of a model's operators, for six accelerators and one CPU. Times are in milliseconds, memory in bytes.
///
/// # Errors
/// Costs that are no numbers of a valid instance, as sizes out of the question give them.
pub(super) fn workload(
    mut operators: OperatorGraph,
    origin: Origin,
    options: &ModelFileOptions,
) -> Result<Instance, Problems> {
    let metadata = metadata(origin, &operators, options);
    if options.training {
        operators.add_loss();
    }
    let mut instance = roofline::instance(&operators, &options.hardware, options.training);
    instance.platform = options.hardware.platform(6, None, 1);
    instance.metadata = metadata;
    validate(&instance)?;
    Ok(instance)
}

fn metadata(origin: Origin, operators: &OperatorGraph, options: &ModelFileOptions) -> Metadata {
    let pass = if options.training { "training" } else { "inference" };
    let named = origin.name.as_deref().unwrap_or("unnamed");
    let mut settings = BTreeMap::from([
        ("parameters".to_owned(), Setting::Number(operators.parameters())),
        ("product_flops".to_owned(), Setting::Number(operators.product_flops())),
    ]);
    if !options.dimensions.is_empty() {
        let each = options.dimensions.iter().map(|(name, size)| format!("{name}={size}"));
        settings.insert("dimensions".to_owned(), Setting::Text(each.collect::<Vec<_>>().join(" ")));
    }
    Metadata {
        model: Some(format!("{} {named}, {}, {pass}", origin.kind, options.hardware.precision)),
        name: origin.name,
        device: Some(options.hardware.describe()),
        source: origin.source,
        provenance: Some(Provenance::Modelled),
        settings,
        ..Metadata::default()
    }
}
