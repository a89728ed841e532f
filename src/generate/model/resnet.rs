//! Residual networks.

use serde::Serialize;

use super::Network;
use super::builder::ModelBuilder;
use super::image::{Map, Window};
use super::operator::OperatorGraph;
use crate::generate::checks::Checks;

/// ResNet with bottleneck blocks (He et al., CVPR 2016); the stride is in the 3×3 convolution, as usual today.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct Resnet {
    /// 50, 101 or 152 layers with parameters.
    #[arg(long, default_value_t = Self::default().depth)]
    pub depth: u32,
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

impl Default for Resnet {
    fn default() -> Self {
        Self { depth: 50, batch: 32, resolution: 224, classes: 1000 }
    }
}

impl Resnet {
    /// Blocks of each of the four stages; `None` where that depth was not published.
    fn blocks(&self) -> Option<[u32; 4]> {
        match self.depth {
            50 => Some([3, 4, 6, 3]),
            101 => Some([3, 4, 23, 3]),
            152 => Some([3, 8, 36, 3]),
            _ => None,
        }
    }
}

impl Network for Resnet {
    fn name(&self) -> String {
        format!("resnet-{}", self.depth)
    }

    fn describe(&self) -> String {
        let Self { depth, batch, resolution, classes } = self;
        format!("ResNet-{depth}, {resolution}x{resolution} images, {classes} classes, batch {batch}")
    }

    fn check(&self, checks: &mut Checks) {
        if self.blocks().is_none() {
            checks.problem("depth", format!("there is no ResNet-{}", self.depth), "give 50, 101 or 152");
        }
        checks.count("batch", self.batch);
        checks.within("resolution", self.resolution, 32, 1 << 16);
        checks.count("classes", self.classes);
    }

    fn most_operators(&self) -> f64 {
        f64::from(4 * self.depth)
    }

    fn operators(&self) -> OperatorGraph {
        let mut b = ModelBuilder::default();
        let blocks = self.blocks().unwrap_or_default();
        let [.., x] = backbone(&mut b, self.batch, self.resolution, blocks);
        b.layer("head", |b| b.classifier(x, self.classes));
        b.finish()
    }
}

/// The maps of the four stages, of strides 4 to 32, with this many blocks.
pub(super) fn backbone(b: &mut ModelBuilder, batch: u32, resolution: u32, blocks: [u32; 4]) -> [Map; 4] {
    let mut x = b.layer("stem", |b| {
        let images = b.images(batch, resolution);
        let x = convolution_and_norm(b, "conv", images, 64, Window::square(7).stride(2));
        let x = b.relu(x);
        b.pool("max_pool", x, Window::square(3).stride(2))
    });
    std::array::from_fn(|stage| {
        for block in 0..blocks[stage] {
            let stride = if stage > 0 && block == 0 { 2 } else { 1 };
            let name = format!("stage{}/block{}", stage + 1, block + 1);
            x = b.layer(name, |b| bottleneck(b, x, 64 << stage, stride, block == 0));
        }
        x
    })
}

/// A block of inner width `width`; `projected` blocks change the shape and need a convolution in their shortcut.
fn bottleneck(b: &mut ModelBuilder, x: Map, width: u32, stride: u32, projected: bool) -> Map {
    let y = convolution_and_norm(b, "conv1", x, width, Window::square(1));
    let y = b.relu(y);
    let y = convolution_and_norm(b, "conv2", y, width, Window::square(3).stride(stride));
    let y = b.relu(y);
    let y = convolution_and_norm(b, "conv3", y, 4 * width, Window::square(1));
    let shortcut =
        if projected { convolution_and_norm(b, "shortcut", x, 4 * width, Window::square(1).stride(stride)) } else { x };
    let sum = b.add_maps("add", y, shortcut);
    b.relu(sum)
}

fn convolution_and_norm(b: &mut ModelBuilder, name: &str, x: Map, channels: u32, window: Window) -> Map {
    let x = b.convolution(name, x, channels, window);
    b.batch_norm(&format!("{name}/norm"), x)
}
