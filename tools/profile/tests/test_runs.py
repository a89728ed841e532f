"""Models of other people's libraries, split by dagsplit and run in processes, give what the whole model gives.

Those that are marked slow take minutes: `pytest -m slow`.
"""

from functools import partial

import pytest
import torch
from torch.utils import _pytree as pytree

from conftest import parted
from dagsplit_profile import group, trace
from dagsplit_profile.pipeline import Training, run_pipeline
from dagsplit_profile.stages import pipeline_stage
from families import FAMILIES, LIBRARY

FAST = ["t5", "vit_mae"]
SLOW = [
    "resnet18",
    "densenet121",
    "bert",
    "gpt2",
    "llama",
    "mixtral",
    "segformer",
    "clip",
    "whisper",
    "unet_2d_condition",
    "flux",
]
TRAINED_FAST = ["t5"]
TRAINED_SLOW = ["resnet18", "bert", "gpt2", "llama", "vit_mae", "segformer", "unet_2d_condition"]


def marked(fast, slow):
    return [*fast, *(pytest.param(name, marks=pytest.mark.slow) for name in slow)]


def made(name, training):
    """The model, the same in every process, without dropout, whose random numbers would not be."""
    pytest.importorskip(LIBRARY[name])
    torch.manual_seed(0)
    model, inputs = FAMILIES[name](batch=2)
    for module in model.modules():
        for key, value in vars(module).items():
            if isinstance(value, float) and (key == "p" or "drop" in key):
                setattr(module, key, 0.0)
    for key in [
        key for key in vars(getattr(model, "config", None) or model) if "drop" in key and hasattr(model, "config")
    ]:
        if isinstance(getattr(model.config, key), float):
            setattr(model.config, key, 0.0)
    return model.train(training), inputs


def traced(name, training):
    model, inputs = made(name, training)
    return trace(model, *(((), inputs) if isinstance(inputs, dict) else (inputs, {})))


def stage(name, training, nodes, rank):
    whole = traced(name, training)
    return pipeline_stage(whole, group(whole), nodes, rank)


def loss_of(outputs):
    return sum(leaf.float().pow(2).mean() for leaf in leaves(outputs) if leaf.requires_grad)


def optimizer_of(parameters):
    return torch.optim.SGD(parameters, lr=0.1)


def leaves(outputs):
    return [leaf for leaf in pytree.tree_leaves(outputs) if isinstance(leaf, torch.Tensor)]


def microbatches(name, count):
    torch.manual_seed(1)
    return [FAMILIES[name](batch=2)[1] for _ in range(count)]


def call(model, inputs):
    return model(**inputs) if isinstance(inputs, dict) else model(*inputs)


@pytest.mark.parametrize("stages", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", marked(FAST, SLOW))
def test_inference_gives_the_models_outputs(name, stages, dagsplit, tmp_path):
    nodes = parted(traced(name, False), stages, False, dagsplit, tmp_path)
    assert len(nodes) == stages
    batches = microbatches(name, 3)
    flat = [pytree.tree_leaves(batch) for batch in batches]
    result = run_pipeline(partial(stage, name, False, nodes), stages, flat, steps=1)
    model = made(name, False)[0]
    with torch.no_grad():
        wanted = [leaves(call(model, batch)) for batch in batches]
    wanted = [torch.cat([torch.atleast_1d(part) for part in parts]) for parts in zip(*wanted, strict=True)]
    assert len(result.outputs) == len(wanted)
    for output, expected in zip(result.outputs, wanted, strict=True):
        torch.testing.assert_close(output, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("stages", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", marked(TRAINED_FAST, TRAINED_SLOW))
def test_a_training_step_is_the_models(name, stages, dagsplit, tmp_path):
    nodes = parted(traced(name, True), stages, True, dagsplit, tmp_path)
    assert len(nodes) == stages
    batches = microbatches(name, 4)
    flat = [pytree.tree_leaves(batch) for batch in batches]
    training = Training(loss_of, optimizer_of)
    result = run_pipeline(partial(stage, name, True, nodes), stages, flat, training=training)
    model = made(name, True)[0]
    for batch in batches:
        (loss_of(call(model, batch)) / len(batches)).backward()
    gradients = {key: value.grad for key, value in model.named_parameters() if value.grad is not None}
    optimizer_of(model.parameters()).step()
    assert set(result.gradients) >= {key for key, value in gradients.items() if value.any()}
    for key, gradient in result.gradients.items():
        torch.testing.assert_close(
            gradient, gradients[key], rtol=1e-3, atol=1e-5, msg=lambda text, key=key: f"{key}: {text}"
        )
    parameters = dict(model.named_parameters())
    for key, parameter in result.parameters.items():
        torch.testing.assert_close(parameter, parameters[key].detach(), rtol=1e-4, atol=1e-5)
