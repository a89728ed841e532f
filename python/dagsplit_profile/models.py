"""Common models by name, with random weights: nothing is downloaded."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.utils import _pytree as pytree

from .errors import ProfileError
from .moe import MixtureOfExpertsBlock


@dataclass(frozen=True)
class Settings:
    """What a model is built for; what is `None` is the model's own default."""

    batch: int = 1
    dtype: torch.dtype = torch.float32
    layers: int | None = None
    sequence: int | None = None
    resolution: int | None = None


Inputs = tuple[object, ...] | dict[str, object]
Built = tuple[nn.Module, Inputs]
Builder = Callable[[Settings], Built]


def build(name: str, settings: Settings) -> Built:
    """The model and example inputs, on the default device.

    `name` is one of `MODELS`, or `module:function` or `path/to/file.py:function` of a function of your own, which is
    called without arguments, or with the batch size if it takes one, and returns a model and its inputs: a tuple, or a
    dictionary by name.
    """
    if name in MODELS:
        return MODELS[name](settings)
    if ":" not in name:
        known = ", ".join(MODELS)
        raise ProfileError(f"{name!r} is no model; give one of {known}, or `module:function` for a model of your own")
    return _own(name, settings)


def _own(name: str, settings: Settings) -> Built:
    place, _, attribute = name.rpartition(":")
    try:
        module = _load(place)
        function = getattr(module, attribute)
    except (ImportError, AttributeError, OSError) as error:
        raise ProfileError(f"{name!r} cannot be loaded: {error}") from error
    if not callable(function):
        raise ProfileError(f"{name!r} must be a function")
    takes_batch = len(inspect.signature(function).parameters) > 0
    built = function(settings.batch) if takes_batch else function()
    if not (isinstance(built, tuple) and len(built) == 2 and isinstance(built[0], nn.Module)):
        raise ProfileError(f"{name!r} must return a module and a tuple or dictionary of its inputs")
    model, inputs = built
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else inputs
    convert = lambda x: x.to(settings.dtype) if x.is_floating_point() else x  # noqa: E731
    return model.to(settings.dtype), pytree.tree_map_only(torch.Tensor, convert, inputs)


def _load(place: str) -> object:
    path = Path(place)
    # As `python FILE` and `python -m MODULE` would, so that it finds the modules beside it.
    sys.path.insert(0, str(path.resolve().parent if path.suffix == ".py" else Path.cwd()))
    if path.suffix != ".py":
        return importlib.import_module(place)
    spec = importlib.util.spec_from_file_location("dagsplit_profiled_model", place)
    if spec is None or spec.loader is None:
        raise ImportError(f"{place} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _needs(library: str) -> object:
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise ProfileError(f"this model needs {library}: pip install '.[models]'") from error


def _image(settings: Settings, model: nn.Module, resolution: int) -> Built:
    side = settings.resolution or resolution
    return model.to(settings.dtype), (torch.randn(settings.batch, 3, side, side, dtype=settings.dtype),)


def _torchvision(name: str, resolution: int = 224, **options: object) -> Builder:
    def make(settings: Settings) -> Built:
        models = _needs("torchvision.models")
        return _image(settings, getattr(models, name)(weights=None, **options), resolution)

    return make


def _timm(name: str, resolution: int) -> Builder:
    def make(settings: Settings) -> Built:
        options = {"img_size": settings.resolution} if settings.resolution and "swin" in name else {}
        return _image(settings, _needs("timm").create_model(name, pretrained=False, **options), resolution)

    return make


def _fpn(settings: Settings) -> Built:
    utils = _needs("torchvision.models.detection.backbone_utils")
    options = {"weights": None, "norm_layer": nn.BatchNorm2d, "trainable_layers": 5}
    model = utils.resnet_fpn_backbone(backbone_name="resnet50", **options)
    return _image(settings, model, 800)


def _bert(width: int, depth: int, heads: int) -> Builder:
    def make(settings: Settings) -> Built:
        transformers = _needs("transformers")
        sequence = settings.sequence or 384
        config = transformers.BertConfig(
            hidden_size=width,
            num_hidden_layers=settings.layers or depth,
            num_attention_heads=heads,
            intermediate_size=4 * width,
            max_position_embeddings=max(512, sequence),
        )
        return _language_model(settings, transformers.BertForMaskedLM(config), sequence)

    return make


def _gpt2(width: int, depth: int, heads: int) -> Builder:
    def make(settings: Settings) -> Built:
        transformers = _needs("transformers")
        sequence = settings.sequence or 1024
        config = transformers.GPT2Config(
            n_embd=width,
            n_layer=settings.layers or depth,
            n_head=heads,
            n_positions=max(1024, sequence),
            use_cache=False,
        )
        return _language_model(settings, transformers.GPT2LMHeadModel(config), sequence)

    return make


def _decoder(family: str, depth: int, **shape: object) -> Builder:
    def make(settings: Settings) -> Built:
        transformers = _needs("transformers")
        sequence = settings.sequence or 4096
        config = getattr(transformers, f"{family}Config")(
            hidden_size=4096,
            intermediate_size=14336,
            num_hidden_layers=settings.layers or depth,
            num_attention_heads=32,
            num_key_value_heads=8,
            max_position_embeddings=max(8192, sequence),
            use_cache=False,
            **shape,
        )
        with _numbers(settings.dtype):
            model = getattr(transformers, f"{family}ForCausalLM")(config)
        return _language_model(settings, model, sequence)

    return make


@contextmanager
def _numbers(dtype: torch.dtype) -> Iterator[None]:
    """Parameters are made in `dtype`: at first as fp32, a large model would take twice the memory."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _language_model(settings: Settings, model: nn.Module, sequence: int) -> Built:
    tokens = torch.randint(model.config.vocab_size, (settings.batch, sequence))
    return model.to(settings.dtype), (tokens,)


def _diffusion(settings: Settings) -> Built:
    """The U-Net of Stable Diffusion 1.5, which denoises latent images of an eighth of the resolution."""
    side = (settings.resolution or 512) // 8
    model = _needs("diffusers").UNet2DConditionModel(sample_size=side, cross_attention_dim=768)
    images = torch.randn(settings.batch, 4, side, side, dtype=settings.dtype)
    text = torch.randn(settings.batch, 77, 768, dtype=settings.dtype)
    return model.to(settings.dtype), (images, torch.full((settings.batch,), 500), text)


def _moe(settings: Settings) -> Built:
    tokens = torch.randn(settings.batch, settings.sequence or 512, 1024, dtype=settings.dtype)
    blocks = [MixtureOfExpertsBlock() for _ in range(settings.layers or 1)]
    return nn.Sequential(*blocks).to(settings.dtype), (tokens,)


def _mlp(settings: Settings) -> Built:
    layers = [nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(settings.layers or 8)]
    return nn.Sequential(*layers).to(settings.dtype), (torch.randn(settings.batch, 1024, dtype=settings.dtype),)


MODELS: dict[str, Builder] = {
    "mlp": _mlp,
    "resnet50": _torchvision("resnet50"),
    "resnet152": _torchvision("resnet152"),
    "inception-v3": _torchvision("inception_v3", 299, aux_logits=False, init_weights=False),
    "vit-b": _torchvision("vit_b_16"),
    "vit-l": _torchvision("vit_l_16"),
    "swin-l": _timm("swin_large_patch4_window7_224", 224),
    "nasnet-a": _timm("nasnetalarge", 331),
    "fpn": _fpn,
    "bert-base": _bert(768, 12, 12),
    "bert-large": _bert(1024, 24, 16),
    "gpt2": _gpt2(768, 12, 12),
    "gpt2-medium": _gpt2(1024, 24, 16),
    "llama3-8b": _decoder("Llama", 32, vocab_size=128256, rope_theta=500000.0),
    "mixtral-8x7b": _decoder("Mixtral", 32, vocab_size=32000, num_local_experts=8, num_experts_per_tok=2),
    "stable-diffusion": _diffusion,
    "moe": _moe,
}
