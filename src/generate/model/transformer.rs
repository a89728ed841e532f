//! Transformers: BERT-style encoders and GPT-style decoders.

use serde::{Deserialize, Serialize};

use super::Network;
use super::builder::{Index, ModelBuilder};
use super::operator::OperatorGraph;
use crate::generate::checks::Checks;

/// How the layers are arranged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// Encoder with normalization after each residual addition, token types and a padding mask (Devlin et al., 2019).
    #[default]
    Bert,
    /// Decoder with normalization before each sublayer and a causal mask (Radford et al., 2019).
    Gpt,
}

/// What follows the last layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Head {
    /// Nothing.
    None,
    /// Dense layer and tanh on the first token, as in BERT's own pooler.
    #[default]
    Pooler,
    /// Scores of the whole vocabulary for each token. It has a copy of the embedding's weights, as pipelined training
    /// keeps one on the first and one on the last stage.
    LanguageModel,
}

/// A transformer at the granularity of operators, without dropout. Queries, keys and values are projected apart.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct Transformer {
    /// How the layers are arranged.
    #[arg(long, value_enum, default_value_t = Self::default().style)]
    pub style: Style,
    /// How many layers there are.
    #[arg(long, default_value_t = Self::default().layers)]
    pub layers: u32,
    /// The hidden width.
    #[arg(long, default_value_t = Self::default().hidden)]
    pub hidden: u32,
    /// Attention heads; they divide the hidden width.
    #[arg(long, default_value_t = Self::default().heads)]
    pub heads: u32,
    /// The inner width of the feed-forward sublayers.
    #[arg(long, default_value_t = Self::default().feed_forward)]
    pub feed_forward: u32,
    /// Tokens of a sequence.
    #[arg(long, default_value_t = Self::default().sequence)]
    pub sequence: u32,
    /// The longest sequence that there are position embeddings for.
    #[arg(long, default_value_t = Self::default().positions)]
    pub positions: u32,
    /// How many tokens the vocabulary has.
    #[arg(long, default_value_t = Self::default().vocabulary)]
    pub vocabulary: u32,
    /// Sequences at a time.
    #[arg(long, default_value_t = Self::default().batch)]
    pub batch: u32,
    /// What follows the last layer.
    #[arg(long, value_enum, default_value_t = Self::default().head)]
    pub head: Head,
    /// Writes layer normalization and GELU as the nine and five elementary operators that many exporters give.
    #[arg(long)]
    pub elementary: bool,
}

impl Transformer {
    /// BERT-base: 12 layers, 109.5 million parameters.
    pub fn bert_base() -> Self {
        Self {
            style: Style::Bert,
            layers: 12,
            hidden: 768,
            heads: 12,
            feed_forward: 3072,
            sequence: 384,
            positions: 512,
            vocabulary: 30522,
            batch: 8,
            head: Head::Pooler,
            elementary: false,
        }
    }

    /// GPT-2 medium: 24 layers, 355 million parameters without the head's copy of the embedding.
    pub fn gpt2_medium() -> Self {
        Self {
            style: Style::Gpt,
            layers: 24,
            hidden: 1024,
            heads: 16,
            feed_forward: 4096,
            sequence: 1024,
            positions: 1024,
            vocabulary: 50257,
            batch: 1,
            head: Head::LanguageModel,
            elementary: false,
        }
    }
}

impl Default for Transformer {
    fn default() -> Self {
        Self::bert_base()
    }
}

impl Network for Transformer {
    fn name(&self) -> String {
        let style = if self.style == Style::Bert { "bert" } else { "gpt" };
        format!("{style}-{}x{}", self.layers, self.hidden)
    }

    fn describe(&self) -> String {
        let Self { layers, hidden, heads, feed_forward, sequence, batch, .. } = self;
        let style = if self.style == Style::Bert { "BERT-style encoder" } else { "GPT-style decoder" };
        let head = match self.head {
            Head::None => "no head",
            Head::Pooler => "pooler",
            Head::LanguageModel => "language-model head",
        };
        format!(
            "{style}, {layers} layers, hidden width {hidden}, {heads} heads, feed-forward width {feed_forward}, {head}, \
             {sequence} tokens, batch {batch}"
        )
    }

    fn check(&self, checks: &mut Checks) {
        let counts = [
            ("layers", self.layers),
            ("hidden", self.hidden),
            ("heads", self.heads),
            ("feed-forward", self.feed_forward),
            ("sequence", self.sequence),
            ("vocabulary", self.vocabulary),
            ("batch", self.batch),
        ];
        for (option, value) in counts {
            checks.count(option, value);
        }
        if self.heads > 0 && !self.hidden.is_multiple_of(self.heads) {
            let cause = format!("{} heads do not divide the hidden width {}", self.heads, self.hidden);
            checks.problem("heads", cause, "give a divisor of the hidden width");
        }
        if self.positions < self.sequence {
            let cause = format!("{} positions are too few for {} tokens", self.positions, self.sequence);
            checks.problem("positions", cause, "give the length of the sequence or more");
        }
    }

    fn most_operators(&self) -> f64 {
        60.0 * (f64::from(self.layers) + 1.0)
    }

    fn operators(&self) -> OperatorGraph {
        let mut b = ModelBuilder::default();
        let sizes = Sizes::new(self);
        let mask = b.scope("mask", |b| sizes.mask(b));
        let mut x = b.layer("embeddings", |b| sizes.embeddings(b));
        for layer in 0..self.layers {
            x = b.layer(format!("layer{}", layer + 1), |b| sizes.layer(b, x, mask));
        }
        if self.style == Style::Gpt {
            x = sizes.layer_norm(&mut b, "norm", x);
        }
        b.layer("head", |b| sizes.head(b, x));
        b.finish()
    }
}

/// Sizes of the tensors in elements.
struct Sizes<'a> {
    settings: &'a Transformer,
    batch: f64,
    sequence: f64,
    tokens: f64,
    hidden: f64,
    vocabulary: f64,
    /// One attention score for each head and pair of tokens.
    scores: f64,
}

impl<'a> Sizes<'a> {
    fn new(settings: &'a Transformer) -> Self {
        let [batch, sequence, hidden, heads, vocabulary] =
            [settings.batch, settings.sequence, settings.hidden, settings.heads, settings.vocabulary].map(f64::from);
        let tokens = batch * sequence;
        Self { settings, batch, sequence, tokens, hidden, vocabulary, scores: heads * tokens * sequence }
    }

    /// What every layer adds to its attention scores.
    fn mask(&self, b: &mut ModelBuilder) -> Index {
        match self.settings.style {
            Style::Bert => {
                let padding = b.input("padding", self.tokens);
                let broadcast = b.view("unsqueeze", padding);
                let cast = b.pointwise("cast", &[broadcast], 1.0);
                let inverted = b.pointwise("subtract", &[cast], 1.0);
                b.pointwise("scale", &[inverted], 1.0)
            }
            Style::Gpt => b.input("causal", self.sequence * self.sequence),
        }
    }

    fn embeddings(&self, b: &mut ModelBuilder) -> Index {
        let output = self.tokens * self.hidden;
        let ids = b.input("ids", self.tokens);
        let words = b.gather("words", Some(ids), output, self.vocabulary * self.hidden);
        let rows = f64::from(self.settings.positions);
        let positions = b.gather("positions", None, self.sequence * self.hidden, rows * self.hidden);
        let sum = b.pointwise("add_positions", &[words, positions], 1.0);
        if self.settings.style == Style::Gpt {
            return sum;
        }
        let types = b.input("types", self.tokens);
        let types = b.gather("token_types", Some(types), output, 2.0 * self.hidden);
        let sum = b.pointwise("add_types", &[sum, types], 1.0);
        self.layer_norm(b, "norm", sum)
    }

    fn layer(&self, b: &mut ModelBuilder, x: Index, mask: Index) -> Index {
        let x = self.sublayer(b, "attention", x, |b, x| self.attention(b, x, mask));
        self.sublayer(b, "feed_forward", x, |b, x| self.feed_forward(b, x))
    }

    /// A residual sublayer, normalized after the addition or before `body`.
    fn sublayer(
        &self,
        b: &mut ModelBuilder,
        name: &str,
        x: Index,
        body: impl FnOnce(&mut ModelBuilder, Index) -> Index,
    ) -> Index {
        b.scope(name, |b| match self.settings.style {
            Style::Bert => {
                let y = body(b, x);
                let sum = b.pointwise("residual", &[y, x], 1.0);
                self.layer_norm(b, "norm", sum)
            }
            Style::Gpt => {
                let normalized = self.layer_norm(b, "norm", x);
                let y = body(b, normalized);
                b.pointwise("residual", &[y, x], 1.0)
            }
        })
    }

    fn attention(&self, b: &mut ModelBuilder, x: Index, mask: Index) -> Index {
        let [query, key, value] = ["query", "key", "value"].map(|name| {
            b.scope(name, |b| {
                let y = b.dense(x, self.hidden, self.hidden);
                let heads = b.view("reshape", y);
                b.pointwise("transpose", &[heads], 0.0)
            })
        });
        let flops = 2.0 * self.tokens * self.sequence * self.hidden;
        let scores = b.matrix("scores", &[query, key], self.scores, 0.0, flops);
        let scaled = b.pointwise("scale", &[scores], 1.0);
        let masked = b.pointwise("add_mask", &[scaled, mask], 1.0);
        let weights = b.pointwise("softmax", &[masked], 5.0);
        let context = b.matrix("context", &[weights, value], self.tokens * self.hidden, 0.0, flops);
        let context = b.pointwise("transpose", &[context], 0.0);
        let context = b.view("reshape", context);
        b.scope("output", |b| b.dense(context, self.hidden, self.hidden))
    }

    fn feed_forward(&self, b: &mut ModelBuilder, x: Index) -> Index {
        let inner = f64::from(self.settings.feed_forward);
        let y = b.scope("inner", |b| b.dense(x, self.hidden, inner));
        let y = self.gelu(b, y);
        b.scope("output", |b| b.dense(y, inner, self.hidden))
    }

    fn head(&self, b: &mut ModelBuilder, x: Index) {
        match self.settings.head {
            Head::None => {}
            Head::Pooler => {
                let first = b.vector("first_token", &[x], self.batch * self.hidden, 0.0);
                let pooled = b.dense(first, self.hidden, self.hidden);
                b.pointwise("tanh", &[pooled], 1.0);
            }
            Head::LanguageModel => self.language_model(b, x),
        }
    }

    fn language_model(&self, b: &mut ModelBuilder, x: Index) {
        if self.settings.style == Style::Gpt {
            b.product("decoder", x, self.hidden, self.vocabulary);
            return;
        }
        let x = b.scope("transform", |b| b.dense(x, self.hidden, self.hidden));
        let x = self.gelu(b, x);
        let x = self.layer_norm(b, "norm", x);
        b.scope("decoder", |b| b.dense(x, self.hidden, self.vocabulary));
    }

    fn layer_norm(&self, b: &mut ModelBuilder, name: &str, x: Index) -> Index {
        if !self.settings.elementary {
            return b.layer_norm(name, x, self.hidden);
        }
        let (output, rows) = (b.elements(x), b.elements(x) / self.hidden);
        b.scope(name, |b| {
            let mean = b.vector("mean", &[x], rows, self.hidden);
            let centred = b.pointwise("subtract", &[x, mean], 1.0);
            let squared = b.pointwise("square", &[centred], 1.0);
            let variance = b.vector("variance", &[squared], rows, self.hidden);
            let shifted = b.pointwise("epsilon", &[variance], 1.0);
            let deviation = b.pointwise("sqrt", &[shifted], 1.0);
            let normalized = b.pointwise("divide", &[centred, deviation], 1.0);
            let scaled = b.vector_with("gamma", &[normalized], output, self.hidden, 1.0);
            b.vector_with("beta", &[scaled], output, self.hidden, 1.0)
        })
    }

    fn gelu(&self, b: &mut ModelBuilder, x: Index) -> Index {
        if !self.settings.elementary {
            return b.gelu(x);
        }
        b.scope("gelu", |b| {
            let divided = b.pointwise("divide", &[x], 1.0);
            let erf = b.pointwise("erf", &[divided], 4.0);
            let shifted = b.pointwise("add", &[erf], 1.0);
            let product = b.pointwise("multiply", &[x, shifted], 1.0);
            b.pointwise("halve", &[product], 1.0)
        })
    }
}
