"""Models of other people's libraries at small sizes, with random weights: nothing is downloaded.

Each function of `FAMILIES` takes a batch size and gives a model and its inputs, as `dagsplit-profile` takes them:
`dagsplit-profile tools/profile/tests/families.py:llama` works. A library is imported when one of its models is made.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Made = tuple[nn.Module, tuple | dict]

FAMILIES: dict[str, Callable[..., Made]] = {}
LIBRARY: dict[str, str] = {}

TOKENS = 100


def _family(library: str, name: str, make: Callable[[Any, int], Made]) -> None:
    def built(batch: int = 2) -> Made:
        return make(importlib.import_module(library), batch)

    FAMILIES[name] = globals()[name] = built
    LIBRARY[name] = library.partition(".")[0]


def _torchvision(name: str, side: int = 64, **options: object) -> None:
    def make(models: Any, batch: int) -> Made:
        return getattr(models, name)(weights=None, **options), (torch.rand(batch, 3, side, side),)

    _family("torchvision.models", name, make)


def _of_library(library: str, name: str, constructor: str, *shape: int, **options: object) -> None:
    def make(models: Any, batch: int) -> Made:
        module, _, function = constructor.rpartition(".")
        module = importlib.import_module(f"{library}.{module}") if module else models
        return getattr(module, function)(**options), (torch.rand(batch, *shape),)

    _family(library, name, make)


def _timm(name: str, side: int = 64, **options: object) -> None:
    def make(timm: Any, batch: int) -> Made:
        return timm.create_model(name, pretrained=False, num_classes=10, **options), (torch.rand(batch, 3, side, side),)

    _family("timm", name, make)


SMALL = {
    "vocab_size": TOKENS,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "use_cache": False,
}
GROUPED = {"num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0}
EXPERTS = {"num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}


def _transformers(name: str, config: str, model: str, inputs: Callable[[int], dict], **options: object) -> None:
    def make(transformers: Any, batch: int) -> Made:
        settings = {"attn_implementation": "sdpa"} | options if options.pop("sdpa", False) else options
        made = getattr(transformers, model)(getattr(transformers, config)(**settings))
        return made, inputs(batch)

    _family("transformers", name, make)


def _ids(batch: int, length: int = 12) -> torch.Tensor:
    return torch.randint(1, TOKENS, (batch, length))


def _tokens(batch: int) -> dict:
    return {"input_ids": _ids(batch)}


def _masked(batch: int) -> dict:
    mask = torch.ones(batch, 12, dtype=torch.long)
    mask[0, -3:] = 0
    return {"input_ids": _ids(batch), "attention_mask": mask}


def _two_sequences(batch: int) -> dict:
    return {"input_ids": _ids(batch), "decoder_input_ids": _ids(batch, 7)}


def _pixels(side: int = 32, channels: int = 3) -> Callable[[int], dict]:
    return lambda batch: {"pixel_values": torch.rand(batch, channels, side, side)}


def _lm(
    name: str, model: str, inputs: Callable[[int], dict] = _tokens, head: str = "ForCausalLM", **more: object
) -> None:
    config = "".join([model, "Config"])
    _transformers(name, config, f"{model}{head}", inputs, **(SMALL | more))


# torchvision
_torchvision("alexnet")
_torchvision("resnet18")
_torchvision("vgg11", 32)
_torchvision("squeezenet1_1")
_torchvision("densenet121")
_torchvision("mobilenet_v3_small")
_torchvision("shufflenet_v2_x0_5")
_torchvision("efficientnet_b0")
_torchvision("regnet_y_400mf")
_torchvision("convnext_tiny")
_torchvision("googlenet", aux_logits=False, init_weights=False)
_torchvision("swin_t")
_of_library(
    "torchvision",
    "vit_small",
    "models.VisionTransformer",
    3,
    32,
    32,
    image_size=32,
    patch_size=8,
    num_layers=2,
    num_heads=4,
    hidden_dim=32,
    mlp_dim=64,
)
_of_library(
    "torchvision",
    "maxvit_small",
    "models.MaxVit",
    3,
    56,
    56,
    input_size=(56, 56),
    stem_channels=16,
    block_channels=[16, 32],
    block_layers=[1, 1],
    head_dim=8,
    partition_size=7,
    stochastic_depth_prob=0.0,
)
_of_library(
    "torchvision",
    "lraspp_mobilenet_v3",
    "models.segmentation.lraspp_mobilenet_v3_large",
    3,
    64,
    64,
    weights=None,
    weights_backbone=None,
)
_of_library(
    "torchvision",
    "deeplabv3_mobilenet_v3",
    "models.segmentation.deeplabv3_mobilenet_v3_large",
    3,
    64,
    64,
    weights=None,
    weights_backbone=None,
)
_of_library("torchvision", "r3d_18", "models.video.r3d_18", 3, 8, 32, 32, weights=None)
_family(
    "torchvision.models.optical_flow",
    "raft_small",
    lambda models, batch: (
        models.raft_small(weights=None),
        (torch.rand(batch, 3, 128, 128), torch.rand(batch, 3, 128, 128)),
    ),
)
_family(
    "torchvision.models.detection",
    "faster_rcnn",
    lambda models, batch: (
        models.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=5),
        ([torch.rand(3, 64, 64) for _ in range(batch)],),
    ),
)

# timm
_timm("mixer_s32_224", 224)
_timm("deit_tiny_patch16_224", 64, img_size=64)
_timm("beit_base_patch16_224", 64, img_size=64, embed_dim=48, depth=2, num_heads=4)
_timm("eva02_tiny_patch14_224", 56, img_size=56)
_timm("swinv2_cr_tiny_224", 64, img_size=64)
_timm("pvt_v2_b0")
_timm("poolformer_s12")
_timm("hrnet_w18_small")
_timm("nfnet_l0")
_timm("levit_128s", 224)
_timm("coatnet_nano_rw_224", 224)
_timm("efficientformerv2_s0", 224)
_timm("edgenext_xx_small")
_timm("fastvit_t8")
_timm("res2net50_26w_4s")
_timm("mambaout_femto")

# transformers
_lm("bert", "Bert", _masked, "ForMaskedLM")
_lm("roberta", "Roberta", _masked, "ForMaskedLM", pad_token_id=0)
_transformers(
    "distilbert",
    "DistilBertConfig",
    "DistilBertForMaskedLM",
    _masked,
    vocab_size=TOKENS,
    dim=32,
    n_layers=2,
    n_heads=4,
    hidden_dim=64,
    max_position_embeddings=64,
)
_lm("albert", "Albert", _masked, "ForMaskedLM", embedding_size=16)
_lm("electra", "Electra", _masked, "ForPreTraining", embedding_size=16)
_lm(
    "deberta_v2",
    "DebertaV2",
    _masked,
    "ForMaskedLM",
    relative_attention=True,
    position_buckets=16,
    pos_att_type=["p2c", "c2p"],
)
_transformers(
    "gpt2",
    "GPT2Config",
    "GPT2LMHeadModel",
    _tokens,
    vocab_size=TOKENS,
    n_embd=32,
    n_layer=2,
    n_head=4,
    n_positions=64,
    use_cache=False,
)
_lm("gpt_neox", "GPTNeoX")
_lm("opt", "OPT", ffn_dim=64, word_embed_proj_dim=32)
_transformers(
    "bloom",
    "BloomConfig",
    "BloomForCausalLM",
    _tokens,
    vocab_size=TOKENS,
    hidden_size=32,
    n_layer=2,
    n_head=4,
    use_cache=False,
)
_lm("falcon", "Falcon")
_lm("phi3", "Phi3", pad_token_id=0)
_lm("llama", "Llama", **GROUPED)
_lm("llama_cached", "Llama", **(GROUPED | {"use_cache": True}))
_lm("mistral", "Mistral", **GROUPED)
_lm("mixtral", "Mixtral", **GROUPED, **EXPERTS)
_lm("qwen2", "Qwen2", **GROUPED)
_lm("qwen3_moe", "Qwen3Moe", **GROUPED, **EXPERTS)
_lm("gemma2", "Gemma2", **GROUPED)
_transformers(
    "mamba",
    "MambaConfig",
    "MambaForCausalLM",
    _tokens,
    vocab_size=TOKENS,
    hidden_size=32,
    num_hidden_layers=2,
    state_size=8,
    use_cache=False,
)
_transformers(
    "t5",
    "T5Config",
    "T5ForConditionalGeneration",
    _two_sequences,
    vocab_size=TOKENS,
    d_model=32,
    d_kv=8,
    d_ff=64,
    num_layers=2,
    num_heads=4,
    use_cache=False,
)
_transformers(
    "bart",
    "BartConfig",
    "BartForConditionalGeneration",
    _two_sequences,
    vocab_size=TOKENS,
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=64,
    decoder_ffn_dim=64,
    max_position_embeddings=64,
    use_cache=False,
)
_transformers(
    "whisper",
    "WhisperConfig",
    "WhisperForConditionalGeneration",
    lambda batch: {"input_features": torch.rand(batch, 20, 100), "decoder_input_ids": _ids(batch, 7)},
    vocab_size=TOKENS,
    num_mel_bins=20,
    max_source_positions=50,
    max_target_positions=20,
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=64,
    decoder_ffn_dim=64,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    decoder_start_token_id=1,
    suppress_tokens=None,
    begin_suppress_tokens=None,
    use_cache=False,
)
_transformers(
    "wav2vec2",
    "Wav2Vec2Config",
    "Wav2Vec2ForCTC",
    lambda batch: {"input_values": torch.rand(batch, 2000)},
    vocab_size=32,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    conv_dim=[16] * 7,
    num_conv_pos_embeddings=16,
    num_conv_pos_embedding_groups=2,
    mask_time_prob=0.0,
)
_VISION = {k: SMALL[k] for k in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")}
_transformers("vit", "ViTConfig", "ViTForImageClassification", _pixels(), image_size=32, patch_size=8, **_VISION)
_transformers(
    "vit_mae",
    "ViTMAEConfig",
    "ViTMAEForPreTraining",
    lambda batch: _pixels()(batch) | {"noise": torch.rand(batch, 16)},
    image_size=32,
    patch_size=8,
    decoder_hidden_size=32,
    decoder_num_hidden_layers=1,
    decoder_num_attention_heads=4,
    decoder_intermediate_size=64,
    **_VISION,
)
_transformers(
    "dinov2",
    "Dinov2Config",
    "Dinov2ForImageClassification",
    _pixels(28),
    image_size=28,
    patch_size=14,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
)
_transformers(
    "segformer",
    "SegformerConfig",
    "SegformerForSemanticSegmentation",
    _pixels(64),
    depths=[1, 1, 1, 1],
    hidden_sizes=[16, 32, 32, 64],
    num_attention_heads=[1, 2, 2, 4],
    decoder_hidden_size=32,
)
_transformers(
    "clip",
    "CLIPConfig",
    "CLIPModel",
    lambda batch: _pixels()(batch) | _masked(batch),
    text_config=SMALL | {"eos_token_id": 99, "bos_token_id": 1},
    vision_config=_VISION | {"image_size": 32, "patch_size": 8},
    projection_dim=16,
)
_transformers(
    "videomae",
    "VideoMAEConfig",
    "VideoMAEForVideoClassification",
    lambda batch: {"pixel_values": torch.rand(batch, 4, 3, 32, 32)},
    image_size=32,
    patch_size=8,
    num_frames=4,
    **_VISION,
)

# diffusers
_family(
    "diffusers",
    "unet_2d",
    lambda diffusers, batch: (
        diffusers.UNet2DModel(
            sample_size=16,
            block_out_channels=(32, 32),
            down_block_types=("DownBlock2D", "AttnDownBlock2D"),
            up_block_types=("AttnUpBlock2D", "UpBlock2D"),
            layers_per_block=1,
            norm_num_groups=8,
        ),
        (torch.rand(batch, 3, 16, 16), torch.full((batch,), 3)),
    ),
)
_family(
    "diffusers",
    "unet_2d_condition",
    lambda diffusers, batch: (
        diffusers.UNet2DConditionModel(
            sample_size=16,
            block_out_channels=(32, 32),
            layers_per_block=1,
            cross_attention_dim=16,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
            norm_num_groups=8,
            attention_head_dim=8,
        ),
        (torch.rand(batch, 4, 16, 16), torch.full((batch,), 3), torch.rand(batch, 5, 16)),
    ),
)
_family(
    "diffusers",
    "autoencoder_kl",
    lambda diffusers, batch: (
        diffusers.AutoencoderKL(
            block_out_channels=(16, 16),
            down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2,
            norm_num_groups=8,
        ),
        (torch.rand(batch, 3, 16, 16),),
    ),
)
_family(
    "diffusers",
    "dit",
    lambda diffusers, batch: (
        diffusers.DiTTransformer2DModel(
            num_attention_heads=4,
            attention_head_dim=8,
            in_channels=4,
            num_layers=2,
            sample_size=8,
            num_embeds_ada_norm=10,
        ),
        {
            "hidden_states": torch.rand(batch, 4, 8, 8),
            "timestep": torch.full((batch,), 3),
            "class_labels": torch.full((batch,), 2),
        },
    ),
)
_family(
    "diffusers",
    "sd3",
    lambda diffusers, batch: (
        diffusers.SD3Transformer2DModel(
            sample_size=8,
            patch_size=2,
            in_channels=4,
            num_layers=2,
            attention_head_dim=8,
            num_attention_heads=4,
            joint_attention_dim=16,
            caption_projection_dim=32,
            pooled_projection_dim=16,
            out_channels=4,
        ),
        {
            "hidden_states": torch.rand(batch, 4, 8, 8),
            "encoder_hidden_states": torch.rand(batch, 5, 16),
            "pooled_projections": torch.rand(batch, 16),
            "timestep": torch.full((batch,), 3),
        },
    ),
)
_family(
    "diffusers",
    "flux",
    lambda diffusers, batch: (
        diffusers.FluxTransformer2DModel(
            patch_size=1,
            in_channels=4,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=32,
            pooled_projection_dim=32,
            axes_dims_rope=(4, 4, 8),
        ),
        {
            "hidden_states": torch.rand(batch, 16, 4),
            "encoder_hidden_states": torch.rand(batch, 5, 32),
            "pooled_projections": torch.rand(batch, 32),
            "timestep": torch.full((batch,), 0.5),
            "img_ids": torch.zeros(16, 3),
            "txt_ids": torch.zeros(5, 3),
        },
    ),
)
