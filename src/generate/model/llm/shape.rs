//! Shapes of published language models.

use serde::{Deserialize, Serialize};

/// A published language model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum LanguageModel {
    /// 6.7 billion parameters; every head has keys and values of its own (Touvron et al., 2023).
    Llama2_7b,
    /// 1.2 billion parameters; the embedding is the head, too, and both ends hold it (Meta, 2024).
    #[value(name = "llama3.2-1b")]
    #[serde(rename = "llama3.2-1b")]
    Llama32_1b,
    /// 8.0 billion parameters (Grattafiori et al., 2024, as all Llama 3).
    #[default]
    Llama3_8b,
    /// 70.6 billion parameters.
    Llama3_70b,
    /// 405.9 billion parameters.
    Llama3_405b,
    /// 46.7 billion parameters: two of eight experts for each token (Jiang et al., 2024).
    #[value(name = "mixtral-8x7b")]
    #[serde(rename = "mixtral-8x7b")]
    Mixtral8x7b,
    /// 671 billion parameters without the module that predicts a second token: latent attention, one shared and eight of
    /// 256 experts (DeepSeek-AI, 2024).
    DeepseekV3,
    /// 51.6 billion parameters: seven Mamba layers for each one of attention, experts in every other (Lieber et al., 2024).
    Jamba,
}

/// What a model is made of.
pub(super) struct Shape {
    pub layers: u32,
    pub hidden: f64,
    /// Attention heads, and those of keys and values.
    pub heads: u32,
    pub key_heads: u32,
    /// Width of the queries and keys of a head, and of its values.
    pub key_width: f64,
    pub value_width: f64,
    /// Inner width of a dense feed-forward sublayer.
    pub feed_forward: f64,
    pub vocabulary: f64,
    pub experts: Option<Experts>,
    pub latent: Option<Latent>,
    pub mamba: Option<Mamba>,
    /// Whether a last module predicts a second token (multi-token prediction).
    pub predicts_second: bool,
}

/// A mixture of experts.
pub(super) struct Experts {
    pub count: f64,
    /// How many of them each token goes to.
    pub chosen: f64,
    /// Experts that all tokens go to.
    pub shared: f64,
    /// Inner width of each.
    pub width: f64,
    /// The first layer that has them, and the distance to the next one.
    pub first: u32,
    pub every: u32,
}

/// Attention whose queries, keys and values come from narrow projections (DeepSeek-AI, 2024).
pub(super) struct Latent {
    pub queries: f64,
    pub keys: f64,
    /// The part of a head's width that is turned by position; its keys are the same for all heads.
    pub turned: f64,
}

/// Selective state spaces (Gu and Dao, 2023) in place of attention.
pub(super) struct Mamba {
    pub inner: f64,
    pub state: f64,
    pub kernel: f64,
    pub step_rank: f64,
    /// One layer in so many has attention, the one at this offset.
    pub attention_every: u32,
    pub attention_at: u32,
}

impl LanguageModel {
    pub(super) fn name(self) -> String {
        use clap::ValueEnum;
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    pub(super) fn shape(self) -> Shape {
        let dense = |layers, hidden: u32, heads, key_heads, feed_forward: u32, vocabulary: u32| Shape {
            layers,
            hidden: hidden.into(),
            heads,
            key_heads,
            key_width: f64::from(hidden / heads),
            value_width: f64::from(hidden / heads),
            feed_forward: feed_forward.into(),
            vocabulary: vocabulary.into(),
            experts: None,
            latent: None,
            mamba: None,
            predicts_second: false,
        };
        match self {
            Self::Llama2_7b => dense(32, 4096, 32, 32, 11_008, 32_000),
            Self::Llama32_1b => dense(16, 2048, 32, 8, 8192, 128_256),
            Self::Llama3_8b => dense(32, 4096, 32, 8, 14_336, 128_256),
            Self::Llama3_70b => dense(80, 8192, 64, 8, 28_672, 128_256),
            Self::Llama3_405b => dense(126, 16_384, 128, 8, 53_248, 128_256),
            Self::Mixtral8x7b => Shape {
                experts: Some(Experts { count: 8.0, chosen: 2.0, shared: 0.0, width: 14_336.0, first: 0, every: 1 }),
                ..dense(32, 4096, 32, 8, 14_336, 32_000)
            },
            Self::DeepseekV3 => Shape {
                key_width: 192.0,
                value_width: 128.0,
                experts: Some(Experts { count: 256.0, chosen: 8.0, shared: 1.0, width: 2048.0, first: 3, every: 1 }),
                latent: Some(Latent { queries: 1536.0, keys: 512.0, turned: 64.0 }),
                predicts_second: true,
                ..dense(61, 7168, 128, 128, 18_432, 129_280)
            },
            Self::Jamba => Shape {
                experts: Some(Experts { count: 16.0, chosen: 2.0, shared: 0.0, width: 14_336.0, first: 1, every: 2 }),
                mamba: Some(Mamba {
                    inner: 8192.0,
                    state: 16.0,
                    kernel: 4.0,
                    step_rank: 256.0,
                    attention_every: 8,
                    attention_at: 4,
                }),
                ..dense(32, 4096, 32, 8, 14_336, 65_536)
            },
        }
    }
}

impl Shape {
    /// The experts of a layer, where it has any.
    pub fn experts_of(&self, layer: u32) -> Option<&Experts> {
        let has = |experts: &&Experts| layer >= experts.first && (layer - experts.first).is_multiple_of(experts.every);
        self.experts.as_ref().filter(has)
    }

    /// The state space of a layer, where it stands in place of attention.
    pub fn mamba_of(&self, layer: u32) -> Option<&Mamba> {
        self.mamba.as_ref().filter(|mamba| layer % mamba.attention_every != mamba.attention_at)
    }
}
