//! SemanticFPN.

use serde::Serialize;

use super::Network;
use super::builder::ModelBuilder;
use super::image::{Map, Window};
use super::operator::OperatorGraph;
use super::resnet::backbone;
use crate::generate::checks::Checks;

/// Channels of the feature pyramid.
const PYRAMID: u32 = 256;

/// Channels of the semantic branch.
const SEMANTIC: u32 = 128;

/// Semantic segmentation by a feature pyramid on ResNet-50 (Kirillov et al., Panoptic Feature Pyramid Networks, CVPR
/// 2019), as in MMSegmentation. Each stage of the backbone feeds the pyramid past the stages behind it, so that splits of
/// it have messages that skip stages.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct SemanticFpn {
    /// Images at a time.
    #[arg(long, default_value_t = Self::default().batch)]
    pub batch: u32,
    /// Height and width of the images; a multiple of 32.
    #[arg(long, default_value_t = Self::default().resolution)]
    pub resolution: u32,
    /// Classes of pixels to tell apart.
    #[arg(long, default_value_t = Self::default().classes)]
    pub classes: u32,
}

impl Default for SemanticFpn {
    fn default() -> Self {
        Self { batch: 16, resolution: 512, classes: 150 }
    }
}

impl Network for SemanticFpn {
    fn name(&self) -> String {
        "semantic-fpn".to_owned()
    }

    fn describe(&self) -> String {
        let Self { batch, resolution, classes } = self;
        format!("SemanticFPN on ResNet-50, {resolution}x{resolution} images, {classes} classes, batch {batch}")
    }

    fn check(&self, checks: &mut Checks) {
        checks.count("batch", self.batch);
        checks.within("resolution", self.resolution, 32, 1 << 16);
        if !self.resolution.is_multiple_of(32) {
            let cause = format!("{} does not halve five times", self.resolution);
            checks.problem("resolution", cause, "give a multiple of 32");
        }
        checks.count("classes", self.classes);
    }

    fn most_operators(&self) -> f64 {
        300.0
    }

    fn operators(&self) -> OperatorGraph {
        let mut b = ModelBuilder::default();
        let stages = b.scope("backbone", |b| backbone(b, self.batch, self.resolution, [3, 4, 6, 3]));
        let pyramid = b.layer("pyramid", |b| pyramid(b, stages));
        b.layer("head", |b| {
            let branches = pyramid.into_iter().enumerate().map(|(level, x)| branch(b, level, x)).collect::<Vec<_>>();
            let sum = branches.into_iter().reduce(|sum, x| b.add_maps("add", sum, x));
            if let Some(x) = sum {
                let scores = b.biased_convolution("classifier", x, self.classes, Window::square(1));
                b.enlarge("enlarge", scores, 4, BILINEAR);
            }
        });
        b.finish()
    }
}

/// Operations for each element that bilinear interpolation gives.
const BILINEAR: f64 = 7.0;

/// The pyramid's levels from fine to coarse: each stage's map, and with it those of all coarser stages.
fn pyramid(b: &mut ModelBuilder, stages: [Map; 4]) -> [Map; 4] {
    let mut levels = stages;
    for level in (0..4).rev() {
        b.scope(format!("level{}", level + 1), |b| {
            let lateral = b.biased_convolution("lateral", stages[level], PYRAMID, Window::square(1));
            levels[level] = match levels.get(level + 1) {
                Some(&coarser) => {
                    let coarser = b.enlarge("enlarge", coarser, 2, 0.0);
                    b.add_maps("add", lateral, coarser)
                }
                None => lateral,
            };
        });
    }
    std::array::from_fn(|level| {
        let name = format!("level{}/output", level + 1);
        b.biased_convolution(&name, levels[level], PYRAMID, Window::square(3))
    })
}

/// The semantic branch of a level: convolutions, each with enlargement to twice the size, up to that of the finest.
fn branch(b: &mut ModelBuilder, level: usize, x: Map) -> Map {
    b.scope(format!("branch{}", level + 1), |b| {
        (0..level.max(1)).fold(x, |x, step| {
            b.scope(format!("step{}", step + 1), |b| {
                let x = b.convolution("conv", x, SEMANTIC, Window::square(3));
                let x = b.batch_norm("norm", x);
                let x = b.relu(x);
                if level > 0 { b.enlarge("enlarge", x, 2, BILINEAR) } else { x }
            })
        })
    })
}
