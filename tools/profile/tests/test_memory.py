"""What an instance says of memory is what a step takes."""

import json

import pytest
import torch
from torch import nn

from conftest import make
from dagsplit_profile import ProfileError, group, instance, roofline, trace
from dagsplit_profile.cli import main
from dagsplit_profile.hardware import ACCELERATORS
from dagsplit_profile.instance import Devices
from dagsplit_profile.memory import Footprint, Result, peak, working_set
from families import LIBRARY
from stage_memory import MODELS, of_model

FAST = ["resnet18", "llama"]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", [*FAST, *(pytest.param(n, marks=pytest.mark.slow) for n in MODELS if n not in FAST)])
def test_the_predicted_peak_of_a_stage_is_within_a_tenth_of_the_measured_one(name, training):
    pytest.importorskip(LIBRARY.get(name, "transformers"))
    for predicted, most, measured in of_model(name, training):
        assert predicted == pytest.approx(measured, rel=0.1)
        assert most >= predicted


def test_devices_keep_room_for_one_working_set():
    model, x = make("mlp")
    traced = trace(model.train(), (x,))
    groups = group(traced)
    costs = roofline.model(traced, groups, ACCELERATORS["v100"], False, True)
    memory = [cost.footprint for cost in costs]
    # Gradients of a layer's output, input, weight and bias.
    assert max(max(entry.forward, entry.backward) for entry in memory) == 4 * (2 * 2 * 24 + 24 * 24 + 24)
    working = working_set(memory)
    made = instance.build(traced, groups, costs, Devices("V100", 2, 10**6, 0, 1e9), 6, "copy")
    assert made["platform"]["accelerators"][0]["memory"] == 10**6 - working
    with pytest.raises(
        ProfileError, match=f"works with {working} bytes, more than the 1000 of a device; make the batch"
    ):
        instance.build(traced, groups, costs, Devices("V100", 2, 1000, 0, 1e9), 6, "copy")


def test_a_stage_keeps_what_it_was_given():
    # The first group's result is read by the last one, the second's by the third; autograd saves the third's.
    memory = [
        Footprint(0, 10, 0, (Result(100, 3, False),)),
        Footprint(0, 20, 0, (Result(40, 2, False),)),
        Footprint(0, 30, 0, (Result(7, 3, True),)),
        Footprint(0, 50, 0),
    ]
    # A stage of the last two groups was given 140 bytes, of which the last group counts 100 as what it reads.
    assert working_set(memory) == 50 + 40
    trained = [*memory[:3], Footprint(0, 50, 60)]
    # Backward, the third group by itself: it was given 140 bytes and sends on 100 of them, which count twice.
    assert working_set(trained) == 140 + 100
    ends = range(len(memory))
    stages = [list(range(a, b + 1)) for a in ends for b in ends if a <= b]
    assert max(peak(trained, stage, 0, 0) for stage in stages) <= working_set(trained)


def held(model, x):
    """What the nodes hold on an accelerator."""
    traced = trace(model.to("meta").train(), (x.to("meta"),))
    groups = group(traced)
    costs = roofline.model(traced, groups, ACCELERATORS["v100"], False, True)
    return {entry.name: cost.footprint.held for entry, cost in zip(groups, costs, strict=True)}


def test_fused_attention_keeps_no_scores_and_dropout_one_byte_a_number():
    attention = held(*make("transformer", batch=4))["layers.0/scaled_dot_product_attention"]
    # The output, and one number for each row of the scores.
    assert attention == 4 * (4 * 10 * 32 + 4 * 4 * 10)
    assert held(nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5)), torch.ones(4, 8))["1/dropout"] == 4 * 8


def test_the_optimizers_state_is_held(tmp_path):
    sizes = []
    for optimizer in ("sgd", "momentum", "adam"):
        out = tmp_path / "mlp.json"
        arguments = ["mlp", "--layers", "2", "--roofline", "v100", "--training", "--optimizer", optimizer]
        assert main([*arguments, "--quiet", "--output", str(out)]) == 0
        sizes.append(sum(node["memory"] for node in json.loads(out.read_text())["nodes"]))
    parameters = 4 * 2 * (1024 * 1024 + 1024)
    assert [size - sizes[0] for size in sizes] == [0, parameters, 2 * parameters]
