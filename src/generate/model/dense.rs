//! Operators on rows of features, as transformers have them.

use super::builder::{Index, ModelBuilder};

impl ModelBuilder {
    /// Product of rows of `from` features with a matrix of parameters, then a bias: rows of `to` features.
    pub fn dense(&mut self, x: Index, from: f64, to: f64) -> Index {
        let y = self.product("matmul", x, from, to);
        let output = self.elements(y);
        self.vector_with("bias", &[y], output, to, 1.0)
    }

    /// Product of rows of `from` features with a matrix of parameters: rows of `to` features.
    pub fn product(&mut self, name: &str, x: Index, from: f64, to: f64) -> Index {
        let rows = self.elements(x) / from;
        self.matrix(name, &[x], rows * to, from * to, 2.0 * rows * from * to)
    }

    /// Layer normalization of rows of `width` features as one operator, with scale and shift.
    pub fn layer_norm(&mut self, name: &str, x: Index, width: f64) -> Index {
        let output = self.elements(x);
        self.vector_with(name, &[x], output, 2.0 * width, 8.0)
    }

    /// GELU as one operator.
    pub fn gelu(&mut self, x: Index) -> Index {
        self.pointwise("gelu", &[x], 8.0)
    }
}
