//! NASNet-A.

use serde::Serialize;

use super::Network;
use super::builder::ModelBuilder;
use super::image::{Map, Window};
use super::operator::OperatorGraph;
use crate::generate::checks::Checks;

/// NASNet-A (Zoph et al., CVPR 2018, Figure 4) as published for ImageNet: a convolution, two reduction cells, then
/// three groups of `repeats` normal cells with a reduction cell between groups. Every cell reads the two before it.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct Nasnet {
    /// Normal cells in each group; N in the paper.
    #[arg(long, default_value_t = Self::default().repeats)]
    pub repeats: u32,
    /// Channels of the last cell's output: 24 times those of a normal cell of the first group.
    #[arg(long, default_value_t = Self::default().filters)]
    pub filters: u32,
    /// Channels of the first convolution.
    #[arg(long, default_value_t = Self::default().stem_filters)]
    pub stem_filters: u32,
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

impl Nasnet {
    /// NASNet-A (4 @ 1056), 5.3 million parameters, for images of 224 × 224.
    pub fn mobile() -> Self {
        Self { repeats: 4, filters: 1056, stem_filters: 32, batch: 32, resolution: 224, classes: 1000 }
    }

    /// NASNet-A (6 @ 4032), 88.8 million parameters, for images of 331 × 331.
    pub fn large() -> Self {
        Self { repeats: 6, filters: 4032, stem_filters: 96, batch: 32, resolution: 331, classes: 1000 }
    }
}

impl Default for Nasnet {
    fn default() -> Self {
        Self::mobile()
    }
}

impl Network for Nasnet {
    fn name(&self) -> String {
        format!("nasnet-a-{}-{}", self.repeats, self.filters)
    }

    fn describe(&self) -> String {
        let Self { repeats, filters, batch, resolution, classes, .. } = self;
        format!("NASNet-A ({repeats} @ {filters}), {resolution}x{resolution} images, {classes} classes, batch {batch}")
    }

    fn check(&self, checks: &mut Checks) {
        checks.count("repeats", self.repeats);
        checks.within("filters", self.filters, 96, 1 << 20);
        if !self.filters.is_multiple_of(24) {
            checks.problem("filters", format!("24 does not divide {}", self.filters), "give a multiple of 24");
        }
        checks.within("stem-filters", self.stem_filters, 1, 1 << 20);
        checks.count("batch", self.batch);
        checks.within("resolution", self.resolution, 32, 1 << 16);
        checks.count("classes", self.classes);
    }

    fn most_operators(&self) -> f64 {
        75.0 * (3.0 * f64::from(self.repeats) + 4.0) + 10.0
    }

    fn operators(&self) -> OperatorGraph {
        let mut b = ModelBuilder::default();
        let width = self.filters / 24;
        let stem = b.layer("stem", |b| {
            let images = b.images(self.batch, self.resolution);
            let x = b.convolution("conv", images, self.stem_filters, Window::square(3).stride(2).unpadded());
            b.batch_norm("norm", x)
        });
        let first = b.layer("reduction1", |b| reduction_cell(b, None, stem, width / 4));
        let second = b.layer("reduction2", |b| reduction_cell(b, Some(stem), first, width / 2));
        let (mut before, mut last) = (first, second);
        for group in 0..3 {
            let width = width << group;
            if group > 0 {
                let name = format!("reduction{}", group + 2);
                (before, last) = (last, b.layer(name, |b| reduction_cell(b, Some(before), last, width)));
            }
            for cell in 0..self.repeats {
                let name = format!("cell{}", group * self.repeats + cell + 1);
                (before, last) = (last, b.layer(name, |b| normal_cell(b, before, last, width)));
            }
        }
        b.layer("head", |b| {
            let x = b.relu(last);
            b.classifier(x, self.classes)
        });
        b.finish()
    }
}

/// Average or maximum over 3×3 neighbours.
const POOL: Window = Window::square(3);

/// Figure 4, left. `before` is the output of the cell before the last.
fn normal_cell(b: &mut ModelBuilder, before: Map, last: Map, width: u32) -> Map {
    let p = adjusted(b, before, last, width);
    let h = squeezed(b, "current", last, width);
    let sums = [
        combine(b, 1, |b| separable(b, "left", h, width, 5, 1), |b| separable(b, "right", p, width, 3, 1)),
        combine(b, 2, |b| separable(b, "left", p, width, 5, 1), |b| separable(b, "right", p, width, 3, 1)),
        combine(b, 3, |b| b.pool("average_pool", h, POOL), |_| p),
        combine(b, 4, |b| b.pool("left/average_pool", p, POOL), |b| b.pool("right/average_pool", p, POOL)),
        combine(b, 5, |b| separable(b, "left", h, width, 3, 1), |_| h),
    ];
    let [first, second, third, fourth, fifth] = sums;
    b.concat("concat", &[p, first, second, third, fourth, fifth])
}

/// Figure 4, right. The first cell has nothing before `last` and reads it twice.
fn reduction_cell(b: &mut ModelBuilder, before: Option<Map>, last: Map, width: u32) -> Map {
    let p = before.map_or(last, |before| adjusted(b, before, last, width));
    let h = squeezed(b, "current", last, width);
    let halving = POOL.stride(2);
    let first = combine(b, 1, |b| separable(b, "left", h, width, 5, 2), |b| separable(b, "right", p, width, 7, 2));
    let second = combine(b, 2, |b| b.pool("max_pool", h, halving), |b| separable(b, "right", p, width, 7, 2));
    let third = combine(b, 3, |b| b.pool("average_pool", h, halving), |b| separable(b, "right", p, width, 5, 2));
    let fourth = combine(b, 4, |b| b.pool("average_pool", first, POOL), |_| second);
    let fifth = combine(b, 5, |b| separable(b, "left", first, width, 3, 1), |b| b.pool("max_pool", h, halving));
    b.concat("concat", &[second, third, fourth, fifth])
}

/// Adds two operators of a cell; the paper calls this a block.
fn combine(
    b: &mut ModelBuilder,
    block: u32,
    left: impl FnOnce(&mut ModelBuilder) -> Map,
    right: impl FnOnce(&mut ModelBuilder) -> Map,
) -> Map {
    b.scope(format!("block{block}"), |b| {
        let (left, right) = (left(b), right(b));
        b.add_maps("add", left, right)
    })
}

/// A depthwise-separable convolution, applied twice as in the paper; the first one has the stride.
fn separable(b: &mut ModelBuilder, name: &str, x: Map, width: u32, size: u32, stride: u32) -> Map {
    b.scope(name, |b| {
        [stride, 1].into_iter().enumerate().fold(x, |x, (i, stride)| {
            b.scope(format!("separable{}", i + 1), |b| {
                let x = b.relu(x);
                let x = b.depthwise_convolution("depthwise", x, Window::square(size).stride(stride));
                let x = b.convolution("pointwise", x, width, Window::square(1));
                b.batch_norm("norm", x)
            })
        })
    })
}

/// Brings a cell's input to `width` channels.
fn squeezed(b: &mut ModelBuilder, name: &str, x: Map, width: u32) -> Map {
    b.scope(name, |b| {
        let x = b.relu(x);
        let x = b.convolution("conv", x, width, Window::square(1));
        b.batch_norm("norm", x)
    })
}

/// Brings `before` to `width` channels and to the size of `last`: where it is larger, by two shifted halves.
fn adjusted(b: &mut ModelBuilder, before: Map, last: Map, width: u32) -> Map {
    if before.height == last.height {
        return squeezed(b, "before", before, width);
    }
    b.scope("before", |b| {
        let x = b.relu(before);
        let every_second = Window::square(1).stride(2);
        let halves = [(1, width / 2), (2, width - width / 2)].map(|(half, channels)| {
            let picked = b.pool(&format!("path{half}/average_pool"), x, every_second);
            b.convolution(&format!("path{half}/conv"), picked, channels, Window::square(1))
        });
        let joined = b.concat("concat", &halves);
        b.batch_norm("norm", joined)
    })
}
