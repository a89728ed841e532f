//! The networks of Tables VII and VIII, for training.

use crate::generate::{Head, Recipe, Resnet, SemanticFpn, Swin, Transformer};
use crate::reproduce::Workload;

/// A network with the number of clusters K that the paper uses for it.
pub struct Network {
    pub workload: Workload,
    pub clusters: usize,
}

impl Network {
    /// The paper's partitioner for this network.
    pub fn partitioner(&self) -> String {
        format!("cluster:k={}+dp+refine", self.clusters)
    }
}

/// ResNet-152, 64 images of 224 × 224 at a time.
pub fn resnet152() -> Network {
    training(Recipe::new(Resnet { depth: 152, batch: 64, ..Resnet::default() }), 32)
}

/// BERT-L for pre-training, 4 sequences of 512 tokens at a time.
pub fn bert_large() -> Network {
    bert(24, 4)
}

/// BERT of this many layers for pre-training, so many sequences of 512 tokens at a time.
pub fn bert(layers: u32, batch: u32) -> Network {
    let network = Transformer {
        layers,
        hidden: 1024,
        heads: 16,
        feed_forward: 4096,
        sequence: 512,
        batch,
        vocabulary: 30533,
        head: Head::LanguageModel,
        ..Transformer::bert_base()
    };
    // 48, 72 and 96 clusters for 24, 36 and 48 layers.
    training(Recipe::new(network), 2 * layers as usize)
}

/// Swin-L, 32 images of 224 × 224 at a time.
pub fn swin_large() -> Network {
    training(Recipe::new(Swin { batch: 32, ..Swin::large() }), 32)
}

/// Swin-L, 16 images of 384 × 384 at a time.
pub fn swin_large_384() -> Network {
    training(Recipe::new(Swin { batch: 16, window: 12, resolution: 384, ..Swin::large() }), 32)
}

/// Swin-U, 16 images of 384 × 384 at a time.
pub fn swin_ultra() -> Network {
    training(Recipe::new(Swin { batch: 16, ..Swin::ultra() }), 48)
}

/// SemanticFPN, 16 images of 512 × 512 at a time.
pub fn semantic_fpn() -> Network {
    training(Recipe::new(SemanticFpn { batch: 16, ..SemanticFpn::default() }), 32)
}

fn training(recipe: Recipe, clusters: usize) -> Network {
    Network { workload: Workload::Generated(Box::new(Recipe { training: true, cpus: 0, ..recipe })), clusters }
}
