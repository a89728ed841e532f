//! Operators of convolutional networks.

use super::builder::{Index, ModelBuilder};

/// A batch of feature maps that an operator gives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Map {
    pub node: Index,
    pub batch: u32,
    pub channels: u32,
    pub height: u32,
    pub width: u32,
}

impl Map {
    /// Elements of the whole batch.
    pub fn elements(&self) -> f64 {
        f64::from(self.batch) * f64::from(self.channels) * f64::from(self.height) * f64::from(self.width)
    }
}

/// The window of a convolution or of pooling.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    height: u32,
    width: u32,
    stride: u32,
    /// Whether the border is padded, so that only the stride makes the map smaller.
    padded: bool,
}

impl Window {
    /// A padded square window of stride 1.
    pub const fn square(size: u32) -> Self {
        Self::new(size, size)
    }

    /// A padded window of stride 1.
    pub const fn new(height: u32, width: u32) -> Self {
        Self { height, width, stride: 1, padded: true }
    }

    pub const fn stride(self, stride: u32) -> Self {
        Self { stride, ..self }
    }

    pub const fn unpadded(self) -> Self {
        Self { padded: false, ..self }
    }

    fn area(self) -> f64 {
        f64::from(self.height) * f64::from(self.width)
    }

    /// The map of `channels` channels that sliding over `x` gives; its node is still that of `x`.
    fn slide(self, x: Map, channels: u32) -> Map {
        let along = |length: u32, window: u32| match self.padded {
            true => length.div_ceil(self.stride),
            false => (length.saturating_sub(window) / self.stride) + 1,
        };
        Map { channels, height: along(x.height, self.height), width: along(x.width, self.width), ..x }
    }
}

impl ModelBuilder {
    /// A batch of square colour images.
    pub fn images(&mut self, batch: u32, resolution: u32) -> Map {
        let map = Map { node: 0, batch, channels: 3, height: resolution, width: resolution };
        Map { node: self.input("images", map.elements()), ..map }
    }

    /// Dense convolution without bias.
    pub fn convolution(&mut self, name: &str, x: Map, channels: u32, window: Window) -> Map {
        self.dense_convolution(name, x, channels, window, 0.0)
    }

    /// Dense convolution with a bias for each channel.
    pub fn biased_convolution(&mut self, name: &str, x: Map, channels: u32, window: Window) -> Map {
        self.dense_convolution(name, x, channels, window, f64::from(channels))
    }

    fn dense_convolution(&mut self, name: &str, x: Map, channels: u32, window: Window, biases: f64) -> Map {
        let out = window.slide(x, channels);
        let parameters = window.area() * f64::from(x.channels) * f64::from(channels) + biases;
        let flops = 2.0 * window.area() * f64::from(x.channels) * out.elements();
        Map { node: self.matrix(name, &[x.node], out.elements(), parameters, flops), ..out }
    }

    /// Convolution of each channel by itself.
    pub fn depthwise_convolution(&mut self, name: &str, x: Map, window: Window) -> Map {
        let out = window.slide(x, x.channels);
        let parameters = window.area() * f64::from(x.channels);
        let flops = 2.0 * window.area() * out.elements();
        Map { node: self.depthwise(name, x.node, out.elements(), parameters, flops), ..out }
    }

    /// Batch normalization; its parameters are scale and shift.
    pub fn batch_norm(&mut self, name: &str, x: Map) -> Map {
        Map { node: self.vector_with(name, &[x.node], x.elements(), 2.0 * f64::from(x.channels), 2.0), ..x }
    }

    pub fn relu(&mut self, x: Map) -> Map {
        Map { node: self.pointwise("relu", &[x.node], 1.0), ..x }
    }

    /// Maximum or average pooling.
    pub fn pool(&mut self, name: &str, x: Map, window: Window) -> Map {
        let out = window.slide(x, x.channels);
        Map { node: self.vector(name, &[x.node], out.elements(), window.area()), ..out }
    }

    /// A map `factor` times as high and wide, by interpolation of `flops` operations for each element.
    pub fn enlarge(&mut self, name: &str, x: Map, factor: u32, flops: f64) -> Map {
        let out = Map { height: factor * x.height, width: factor * x.width, ..x };
        Map { node: self.vector(name, &[x.node], out.elements(), flops), ..out }
    }

    pub fn add_maps(&mut self, name: &str, x: Map, y: Map) -> Map {
        Map { node: self.pointwise(name, &[x.node, y.node], 1.0), ..x }
    }

    /// One map with the channels of all `maps`, which are of one size.
    pub fn concat(&mut self, name: &str, maps: &[Map]) -> Map {
        let inputs: Vec<Index> = maps.iter().map(|map| map.node).collect();
        let joined = Map { channels: maps.iter().map(|map| map.channels).sum(), ..maps[0] };
        Map { node: self.vector(name, &inputs, joined.elements(), 0.0), ..joined }
    }

    /// Average over each map, then a dense layer with bias to `classes` outputs.
    pub fn classifier(&mut self, x: Map, classes: u32) -> Index {
        let features = f64::from(x.batch) * f64::from(x.channels);
        let mean = self.vector("global_pool", &[x.node], features, f64::from(x.height) * f64::from(x.width));
        let flat = self.view("flatten", mean);
        let outputs = f64::from(x.batch) * f64::from(classes);
        let parameters = f64::from(classes) * (f64::from(x.channels) + 1.0);
        self.matrix("classifier", &[flat], outputs, parameters, 2.0 * features * f64::from(classes))
    }
}
