//! The operators of a language model.

use super::shape::{Experts, Latent, Mamba, Shape};
use crate::generate::model::builder::{Index, ModelBuilder};
use crate::generate::model::operator::OperatorGraph;

/// A model with the sizes of its tensors, in elements.
pub(super) struct Layers<'a> {
    pub shape: &'a Shape,
    pub count: u32,
    pub sequence: f64,
    pub batch: f64,
}

/// Operations for each element of a normalization by the root of the mean square, of a turn by position, of SiLU with
/// the product that follows it, and of a softmax.
const NORM: f64 = 6.0;
const TURN: f64 = 3.0;
const GATE: f64 = 6.0;
const SOFTMAX: f64 = 5.0;

/// Operations for each element of a state and token of a selective scan: discretise, decay, add, and read.
const SCAN: f64 = 9.0;

impl Layers<'_> {
    /// The operators, layer by layer; embedding and head are layers of their own, which have the names of Hugging Face's
    /// modules. The head holds the last norm, too.
    pub fn operators(&self) -> OperatorGraph {
        let mut b = ModelBuilder::default();
        let mut x = b.layer("model.embed_tokens", |b| {
            let ids = b.input("ids", self.tokens());
            self.embedding(b, ids)
        });
        for layer in 0..self.count {
            x = b.layer(format!("model.layers.{layer}"), |b| self.layer(b, layer, x));
        }
        if self.shape.predicts_second {
            b.layer("second_token", |b| self.second_token(b, x));
        }
        b.layer("lm_head", |b| self.head(b, x));
        b.finish()
    }

    fn tokens(&self) -> f64 {
        self.batch * self.sequence
    }

    fn embedding(&self, b: &mut ModelBuilder, ids: Index) -> Index {
        let Shape { hidden, vocabulary, .. } = *self.shape;
        let words = b.gather("words", Some(ids), self.tokens() * hidden, vocabulary * hidden);
        b.summed(words)
    }

    fn head(&self, b: &mut ModelBuilder, x: Index) -> Index {
        let Shape { hidden, vocabulary, .. } = *self.shape;
        let x = self.norm(b, "norm", x, hidden);
        b.product("vocabulary", x, hidden, vocabulary)
    }

    fn layer(&self, b: &mut ModelBuilder, layer: u32, x: Index) -> Index {
        let mixed = match (self.shape.mamba_of(layer), &self.shape.latent) {
            (Some(mamba), _) => self.residual(b, "mamba", x, |b, x| self.mamba(b, mamba, x)),
            (None, Some(latent)) => self.residual(b, "attention", x, |b, x| self.latent_attention(b, latent, x)),
            (None, None) => self.residual(b, "attention", x, |b, x| self.attention(b, x)),
        };
        self.residual(b, "feed_forward", mixed, |b, x| match self.shape.experts_of(layer) {
            Some(experts) => self.experts(b, experts, x),
            None => self.feed_forward(b, x, self.shape.feed_forward),
        })
    }

    /// The module that predicts the token after the next: it joins the last layer's output with the embedding of the next
    /// token, and holds copies of embedding and head (DeepSeek-AI, 2024, section 2.2).
    fn second_token(&self, b: &mut ModelBuilder, x: Index) -> Index {
        let Shape { hidden, .. } = *self.shape;
        let ids = b.input("ids", self.tokens());
        let next = self.embedding(b, ids);
        let next = self.norm(b, "norm_next", next, hidden);
        let x = self.norm(b, "norm_hidden", x, hidden);
        let joined = b.vector("concatenate", &[x, next], 2.0 * self.tokens() * hidden, 0.0);
        let x = b.product("project", joined, 2.0 * hidden, hidden);
        let x = b.scope("layer", |b| self.layer(b, self.shape.layers, x));
        b.scope("head", |b| self.head(b, x))
    }

    /// What `body` makes of `x` after a normalization, added to `x`.
    fn residual(
        &self,
        b: &mut ModelBuilder,
        name: &str,
        x: Index,
        body: impl FnOnce(&mut ModelBuilder, Index) -> Index,
    ) -> Index {
        b.scope(name, |b| {
            let normalized = self.norm(b, "norm", x, self.shape.hidden);
            let y = body(b, normalized);
            let y = b.summed(y);
            b.pointwise("residual", &[y, x], 1.0)
        })
    }

    fn norm(&self, b: &mut ModelBuilder, name: &str, x: Index, width: f64) -> Index {
        let output = b.elements(x);
        b.vector_with(name, &[x], output, width, NORM)
    }

    /// Grouped-query attention (Ainslie et al., 2023).
    fn attention(&self, b: &mut ModelBuilder, x: Index) -> Index {
        let Shape { hidden, heads, key_heads, key_width, value_width, .. } = *self.shape;
        let (heads, key_heads) = (f64::from(heads), f64::from(key_heads));
        let query = b.product("query", x, hidden, heads * key_width);
        let key = b.product("key", x, hidden, key_heads * key_width);
        let value = b.product("value", x, hidden, key_heads * value_width);
        let query = b.pointwise("turn_query", &[query], TURN);
        let key = b.pointwise("turn_key", &[key], TURN);
        let context = self.flash(b, &[query, key, value]);
        b.keeps(context, key_heads * (key_width + value_width), true);
        b.product("output", context, heads * value_width, hidden)
    }

    /// Attention whose projections go through narrow ones (DeepSeek-AI, 2024, section 2.1.1).
    fn latent_attention(&self, b: &mut ModelBuilder, latent: &Latent, x: Index) -> Index {
        let Shape { hidden, heads, key_width, value_width, .. } = *self.shape;
        let (heads, apart) = (f64::from(heads), key_width - latent.turned);
        let narrow = b.product("query_down", x, hidden, latent.queries);
        let narrow = self.norm(b, "query_norm", narrow, latent.queries);
        let query = b.product("query_up", narrow, latent.queries, heads * key_width);
        let query =
            b.vector("turn_query", &[query], self.tokens() * heads * key_width, TURN * latent.turned / key_width);
        let narrow = b.product("key_down", x, hidden, latent.keys + latent.turned);
        let turned = b.vector("turn_key", &[narrow], self.tokens() * latent.turned, TURN);
        let narrow = b.vector_with("key_norm", &[narrow], self.tokens() * latent.keys, latent.keys, NORM);
        let keys = b.product("key_up", narrow, latent.keys, heads * (apart + value_width));
        let context = self.flash(b, &[query, keys, turned]);
        // The narrow keys serve all heads, so that every device keeps them.
        b.keeps(context, latent.keys + latent.turned, false);
        b.product("output", context, heads * value_width, hidden)
    }

    /// Causal attention as one kernel that keeps no scores (Dao et al., 2022).
    fn flash(&self, b: &mut ModelBuilder, inputs: &[Index]) -> Index {
        let Shape { heads, key_width, value_width, .. } = *self.shape;
        let heads = f64::from(heads);
        // Each token sees half of the others in the mean.
        let flops = heads * self.tokens() * self.sequence * (key_width + value_width);
        b.matrix("attend", inputs, self.tokens() * heads * value_width, 0.0, flops)
    }

    /// SwiGLU (Shazeer, 2020).
    fn feed_forward(&self, b: &mut ModelBuilder, x: Index, inner: f64) -> Index {
        let hidden = self.shape.hidden;
        let gate = b.product("gate", x, hidden, inner);
        let up = b.product("up", x, hidden, inner);
        let y = b.pointwise("swiglu", &[gate, up], GATE);
        b.product("down", y, inner, hidden)
    }

    /// Experts as products in groups, each over the tokens that were sent to it, and those that all tokens go to.
    fn experts(&self, b: &mut ModelBuilder, experts: &Experts, x: Index) -> Index {
        let hidden = self.shape.hidden;
        let Experts { count, chosen, shared, width, .. } = *experts;
        let router = b.product("router", x, hidden, count);
        let weights = b.pointwise("choose", &[router], SOFTMAX);
        let sent = b.vector("dispatch", &[x, weights], chosen * self.tokens() * hidden, 0.0);
        let grouped = |b: &mut ModelBuilder, name: &str, x: Index, from: f64, to: f64| {
            let rows = chosen * self.tokens();
            b.matrix(name, &[x], rows * to, count * from * to, 2.0 * rows * from * to)
        };
        let gate = grouped(b, "gate", sent, hidden, width);
        let up = grouped(b, "up", sent, hidden, width);
        let y = b.pointwise("swiglu", &[gate, up], GATE);
        let down = grouped(b, "down", y, width, hidden);
        let combined = b.vector("combine", &[down, weights], self.tokens() * hidden, 2.0 * chosen);
        if shared == 0.0 {
            return combined;
        }
        let always = b.scope("shared", |b| self.feed_forward(b, x, shared * width));
        b.pointwise("add_shared", &[combined, always], 1.0)
    }

    /// A selective state space (Gu and Dao, 2023, figure 3).
    fn mamba(&self, b: &mut ModelBuilder, mamba: &Mamba, x: Index) -> Index {
        let Mamba { inner, state, kernel, step_rank, .. } = *mamba;
        let output = self.tokens() * inner;
        let both = b.product("input", x, self.shape.hidden, 2.0 * inner);
        let convolved = b.depthwise("convolve", both, output, (kernel + 1.0) * inner, 2.0 * kernel * output);
        let narrow = b.product("select", convolved, inner, step_rank + 2.0 * state);
        let selected = self.norm(b, "norms", narrow, step_rank + 2.0 * state);
        let flops = 2.0 * self.tokens() * step_rank * inner;
        let step = b.matrix("step", &[selected], output, step_rank * inner, flops);
        let step = b.vector_with("bias", &[step], output, inner, 1.0);
        let inputs = [convolved, step, selected];
        let scanned = b.vector_with("scan", &inputs, output, (state + 1.0) * inner, SCAN * state);
        let gated = b.pointwise("gate", &[scanned, both], GATE);
        b.product("output", gated, inner, self.shape.hidden)
    }
}
