//! Swin transformers.

use serde::Serialize;

use super::Network;
use super::builder::{Index, ModelBuilder};
use super::image::{Map, Window};
use super::operator::OperatorGraph;
use crate::generate::checks::Checks;

/// Features of each attention head, in every published Swin transformer.
const HEAD: u32 = 32;

/// Side of a patch of the image, in pixels.
const PATCH: u32 = 4;

/// Swin transformer (Liu et al., ICCV 2021): attention within windows that are shifted in every other block, and
/// patches merged between its four stages. Queries, keys and values are projected apart; no dropout.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct Swin {
    /// Features of a patch in the first stage, doubled in each that follows: 96 in Swin-T and Swin-S, 128 in Swin-B, 192
    /// in Swin-L; 32 for each attention head.
    #[arg(long, default_value_t = Self::default().width)]
    pub width: u32,
    /// Blocks of the third stage: 6 in Swin-T, 18 in the others. The other stages have two each.
    #[arg(long, default_value_t = Self::default().blocks)]
    pub blocks: u32,
    /// Height and width of a window, in patches.
    #[arg(long, default_value_t = Self::default().window)]
    pub window: u32,
    /// Images at a time.
    #[arg(long, default_value_t = Self::default().batch)]
    pub batch: u32,
    /// Height and width of the images; a multiple of 32 windows.
    #[arg(long, default_value_t = Self::default().resolution)]
    pub resolution: u32,
    /// Classes to tell apart.
    #[arg(long, default_value_t = Self::default().classes)]
    pub classes: u32,
}

impl Swin {
    /// Swin-T: 28.3 million parameters.
    pub fn tiny() -> Self {
        Self { width: 96, blocks: 6, window: 7, batch: 32, resolution: 224, classes: 1000 }
    }

    /// Swin-L: 196.5 million parameters.
    pub fn large() -> Self {
        Self { width: 192, blocks: 18, ..Self::tiny() }
    }

    /// Swin-U, which Parmesan (2024) made by enlarging Swin-L: 424 million parameters, images of 384 × 384.
    pub fn ultra() -> Self {
        Self { width: 256, blocks: 24, window: 12, resolution: 384, ..Self::tiny() }
    }
}

impl Default for Swin {
    fn default() -> Self {
        Self::tiny()
    }
}

impl Network for Swin {
    fn name(&self) -> String {
        format!("swin-{}x{}", self.width, self.blocks)
    }

    fn describe(&self) -> String {
        let Self { width, blocks, window, batch, resolution, classes } = self;
        format!(
            "Swin transformer, width {width}, {blocks} blocks in the third stage, windows of {window}x{window} patches, \
             {resolution}x{resolution} images, {classes} classes, batch {batch}"
        )
    }

    fn check(&self, checks: &mut Checks) {
        if self.width == 0 || !self.width.is_multiple_of(HEAD) {
            let cause = format!("heads of {HEAD} features do not fill {}", self.width);
            checks.problem("width", cause, "give a multiple of 32");
        }
        checks.count("blocks", self.blocks);
        checks.within("window", self.window, 1, 64);
        checks.count("batch", self.batch);
        checks.within("resolution", self.resolution, 32, 1 << 16);
        // The patches of the last stage have 8 times the side of those of the first.
        if self.window > 0 && !self.resolution.is_multiple_of(self.window.saturating_mul(8 * PATCH)) {
            let cause = format!("windows of {} patches do not fill images of {}", self.window, self.resolution);
            checks.problem("resolution", cause, "give a multiple of 32 windows, such as 224 for 7 and 384 for 12");
        }
        checks.count("classes", self.classes);
    }

    fn most_operators(&self) -> f64 {
        40.0 * (f64::from(self.blocks) + 8.0)
    }

    fn operators(&self) -> OperatorGraph {
        let mut b = ModelBuilder::default();
        let mut x = b.layer("embeddings", |b| {
            let images = b.images(self.batch, self.resolution);
            let x = b.biased_convolution("patches", images, self.width, Window::square(PATCH).stride(PATCH));
            Map { node: b.layer_norm("norm", x.node, f64::from(x.channels)), ..x }
        });
        for (stage, blocks) in [2, 2, self.blocks, 2].into_iter().enumerate() {
            if stage > 0 {
                x = b.scope(format!("stage{}/merging", stage + 1), |b| merge_patches(b, x));
            }
            let sizes = Sizes::new(x, self.window);
            for block in 0..blocks {
                let shifted = block % 2 == 1 && x.height > self.window;
                let name = format!("stage{}/block{}", stage + 1, block + 1);
                x.node = b.layer(name, |b| sizes.block(b, x.node, shifted));
            }
        }
        b.layer("head", |b| {
            let norm = b.layer_norm("norm", x.node, f64::from(x.channels));
            b.classifier(Map { node: norm, ..x }, self.classes);
        });
        b.finish()
    }
}

/// Joins 2 × 2 patches to one with twice the features.
fn merge_patches(b: &mut ModelBuilder, x: Map) -> Map {
    let width = f64::from(x.channels);
    let joined = b.pointwise("join", &[x.node], 0.0);
    let norm = b.layer_norm("norm", joined, 4.0 * width);
    let node = b.product("reduction", norm, 4.0 * width, 2.0 * width);
    Map { node, channels: 2 * x.channels, height: x.height / 2, width: x.width / 2, ..x }
}

/// Sizes of the tensors of a stage, in elements.
struct Sizes {
    width: f64,
    heads: f64,
    /// Patches of the whole batch.
    patches: f64,
    /// Patches of one image.
    image: f64,
    /// Side of a window, in patches.
    side: f64,
}

impl Sizes {
    fn new(x: Map, window: u32) -> Self {
        let width = f64::from(x.channels);
        let image = f64::from(x.height) * f64::from(x.width);
        Self { width, heads: width / f64::from(HEAD), patches: x.elements() / width, image, side: f64::from(window) }
    }

    fn block(&self, b: &mut ModelBuilder, x: Index, shifted: bool) -> Index {
        let x = b.scope("attention", |b| {
            let norm = b.layer_norm("norm", x, self.width);
            let y = if shifted { b.pointwise("shift", &[norm], 0.0) } else { norm };
            let y = b.pointwise("windows", &[y], 0.0);
            let y = self.attention(b, y, shifted);
            let y = b.pointwise("join_windows", &[y], 0.0);
            let y = if shifted { b.pointwise("shift_back", &[y], 0.0) } else { y };
            b.pointwise("residual", &[y, x], 1.0)
        });
        b.scope("feed_forward", |b| {
            let norm = b.layer_norm("norm", x, self.width);
            let y = b.scope("inner", |b| b.dense(norm, self.width, 4.0 * self.width));
            let y = b.gelu(y);
            let y = b.scope("output", |b| b.dense(y, 4.0 * self.width, self.width));
            b.pointwise("residual", &[y, x], 1.0)
        })
    }

    fn attention(&self, b: &mut ModelBuilder, x: Index, shifted: bool) -> Index {
        let [query, key, value] = ["query", "key", "value"].map(|name| {
            b.scope(name, |b| {
                let y = b.dense(x, self.width, self.width);
                let heads = b.view("reshape", y);
                b.pointwise("transpose", &[heads], 0.0)
            })
        });
        let window = self.side * self.side;
        let flops = 2.0 * self.patches * window * self.width;
        let query = b.pointwise("scale", &[query], 1.0);
        let scores = b.matrix("scores", &[query, key], self.heads * self.patches * window, 0.0, flops);
        let offsets = (2.0 * self.side - 1.0).powi(2);
        let positions = b.gather("positions", None, self.heads * window * window, self.heads * offsets);
        let mut scores = b.pointwise("add_positions", &[scores, positions], 1.0);
        if shifted {
            let mask = b.input("mask", self.image * window);
            scores = b.pointwise("add_mask", &[scores, mask], 1.0);
        }
        let weights = b.pointwise("softmax", &[scores], 5.0);
        let context = b.matrix("context", &[weights, value], self.patches * self.width, 0.0, flops);
        let context = b.pointwise("transpose", &[context], 0.0);
        let context = b.view("reshape", context);
        b.scope("output", |b| b.dense(context, self.width, self.width))
    }
}
