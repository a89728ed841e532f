//! InceptionV3.

use serde::Serialize;

use super::Network;
use super::builder::ModelBuilder;
use super::image::{Map, Window};
use super::operator::OperatorGraph;
use crate::generate::checks::Checks;

/// InceptionV3 (Szegedy et al., CVPR 2016) without the auxiliary head; modules A to E are named as in torchvision.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct Inception {
    /// Images at a time.
    #[arg(long, default_value_t = Self::default().batch)]
    pub batch: u32,
    /// Height and width of the images.
    #[arg(long, default_value_t = Self::default().resolution)]
    pub resolution: u32,
    /// Classes to tell apart.
    #[arg(long, default_value_t = Self::default().classes)]
    pub classes: u32,
}

impl Default for Inception {
    fn default() -> Self {
        Self { batch: 32, resolution: 299, classes: 1000 }
    }
}

impl Network for Inception {
    fn name(&self) -> String {
        "inception-v3".to_owned()
    }

    fn describe(&self) -> String {
        let Self { batch, resolution, classes } = self;
        format!(
            "InceptionV3 without auxiliary head, {resolution}x{resolution} images, {classes} classes, batch {batch}"
        )
    }

    fn check(&self, checks: &mut Checks) {
        checks.count("batch", self.batch);
        checks.within("resolution", self.resolution, 75, 1 << 16);
        checks.count("classes", self.classes);
    }

    fn most_operators(&self) -> f64 {
        400.0
    }

    fn operators(&self) -> OperatorGraph {
        let mut b = ModelBuilder::default();
        let mut x = b.layer("stem", |b| stem(b, self.batch, self.resolution));
        for (i, pool_channels) in [32, 64, 64].into_iter().enumerate() {
            x = b.layer(format!("a{}", i + 1), |b| module_a(b, x, pool_channels));
        }
        x = b.layer("b1", |b| module_b(b, x));
        for (i, inner) in [128, 160, 160, 192].into_iter().enumerate() {
            x = b.layer(format!("c{}", i + 1), |b| module_c(b, x, inner));
        }
        x = b.layer("d1", |b| module_d(b, x));
        x = b.layer("e1", |b| module_e(b, x));
        x = b.layer("e2", |b| module_e(b, x));
        b.layer("head", |b| b.classifier(x, self.classes));
        b.finish()
    }
}

const ONE: Window = Window::square(1);
const THREE: Window = Window::square(3);
const HALVING: Window = THREE.stride(2).unpadded();
const ROW: Window = Window::new(1, 7);
const COLUMN: Window = Window::new(7, 1);

/// Convolutions in a row, each with normalization and ReLU.
fn branch(b: &mut ModelBuilder, name: &str, x: Map, convolutions: &[(u32, Window)]) -> Map {
    b.scope(name, |b| {
        convolutions.iter().enumerate().fold(x, |x, (i, &(channels, window))| {
            b.scope(format!("conv{}", i + 1), |b| {
                let x = b.convolution("conv", x, channels, window);
                let x = b.batch_norm("norm", x);
                b.relu(x)
            })
        })
    })
}

fn pool_branch(b: &mut ModelBuilder, x: Map, channels: u32) -> Map {
    let pooled = b.pool("average_pool", x, THREE);
    branch(b, "pool", pooled, &[(channels, ONE)])
}

fn stem(b: &mut ModelBuilder, batch: u32, resolution: u32) -> Map {
    let images = b.images(batch, resolution);
    let x = branch(b, "first", images, &[(32, HALVING), (32, THREE.unpadded()), (64, THREE)]);
    let x = b.pool("max_pool1", x, HALVING);
    let x = branch(b, "second", x, &[(80, ONE), (192, THREE.unpadded())]);
    b.pool("max_pool2", x, HALVING)
}

fn module_a(b: &mut ModelBuilder, x: Map, pool_channels: u32) -> Map {
    let branches = [
        branch(b, "1x1", x, &[(64, ONE)]),
        branch(b, "5x5", x, &[(48, ONE), (64, Window::square(5))]),
        branch(b, "3x3", x, &[(64, ONE), (96, THREE), (96, THREE)]),
        pool_branch(b, x, pool_channels),
    ];
    b.concat("concat", &branches)
}

fn module_b(b: &mut ModelBuilder, x: Map) -> Map {
    let branches = [
        branch(b, "3x3", x, &[(384, HALVING)]),
        branch(b, "double3x3", x, &[(64, ONE), (96, THREE), (96, HALVING)]),
        b.pool("max_pool", x, HALVING),
    ];
    b.concat("concat", &branches)
}

fn module_c(b: &mut ModelBuilder, x: Map, inner: u32) -> Map {
    let branches = [
        branch(b, "1x1", x, &[(192, ONE)]),
        branch(b, "7x7", x, &[(inner, ONE), (inner, ROW), (192, COLUMN)]),
        branch(b, "double7x7", x, &[(inner, ONE), (inner, COLUMN), (inner, ROW), (inner, COLUMN), (192, ROW)]),
        pool_branch(b, x, 192),
    ];
    b.concat("concat", &branches)
}

fn module_d(b: &mut ModelBuilder, x: Map) -> Map {
    let branches = [
        branch(b, "3x3", x, &[(192, ONE), (320, HALVING)]),
        branch(b, "7x7", x, &[(192, ONE), (192, ROW), (192, COLUMN), (192, HALVING)]),
        b.pool("max_pool", x, HALVING),
    ];
    b.concat("concat", &branches)
}

fn module_e(b: &mut ModelBuilder, x: Map) -> Map {
    let narrow = branch(b, "1x1", x, &[(320, ONE)]);
    let single = branch(b, "3x3", x, &[(384, ONE)]);
    let single = fork(b, "3x3", single);
    let double = branch(b, "double3x3", x, &[(448, ONE), (384, THREE)]);
    let double = fork(b, "double3x3", double);
    let pooled = pool_branch(b, x, 192);
    b.concat("concat", &[narrow, single, double, pooled])
}

/// A row and a column convolution side by side.
fn fork(b: &mut ModelBuilder, name: &str, x: Map) -> Map {
    b.scope(name, |b| {
        let row = branch(b, "row", x, &[(384, Window::new(1, 3))]);
        let column = branch(b, "column", x, &[(384, Window::new(3, 1))]);
        b.concat("concat", &[row, column])
    })
}
