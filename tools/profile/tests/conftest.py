"""Shared by all tests: small models, and the dagsplit program."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from torch import nn

from dagsplit_profile import group, instance, roofline
from dagsplit_profile.hardware import ACCELERATORS
from dagsplit_profile.instance import Devices
from dagsplit_profile.stages import read_stages

torch.set_num_threads(1)


class Branching(nn.Module):
    """A small CNN with two branches, a residual connection, in-place operators and a module that is called twice."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.relu = nn.ReLU(inplace=True)
        self.left = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.right = nn.Sequential(nn.Conv2d(8, 8, 1), nn.BatchNorm2d(8))
        self.join = nn.Conv2d(16, 8, 1)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.relu(self.stem(x))
        y = self.relu(self.join(torch.cat([self.left(x), self.right(x)], 1)))
        y += x
        return self.head(y.mean((2, 3)))


class Layer(nn.Module):
    """A transformer layer whose queries, keys and values are pieces of one projection."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.projection = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        parts = self.projection(self.norm(x)).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        attention = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.output(attention.transpose(1, 2).flatten(2))
        return x + self.mlp(x)


class Transformer(nn.Module):
    """A language model whose embedding and head share their weights."""

    def __init__(self, layers=4, width=32):
        super().__init__()
        self.embedding = nn.Embedding(50, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))
        self.head = nn.Linear(width, 50, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def mlp():
    """Six linear layers."""
    return nn.Sequential(*(nn.Sequential(nn.Linear(24, 24), nn.ReLU()) for _ in range(6)))


MODELS = {
    "mlp": (mlp, lambda batch: torch.randn(batch, 24)),
    "branching": (Branching, lambda batch: torch.randn(batch, 3, 12, 12)),
    "transformer": (Transformer, lambda batch: torch.randint(50, (batch, 10))),
}


def make(name, batch=2, seed=0):
    """A model in evaluation mode, and an input."""
    torch.manual_seed(seed)
    model, inputs = MODELS[name]
    return model().eval(), inputs(batch)


def find_dagsplit():
    """The program: `$DAGSPLIT`, or the one on the path."""
    return os.environ.get("DAGSPLIT") or shutil.which("dagsplit")


@pytest.fixture
def dagsplit(tmp_path):
    """Runs dagsplit in a temporary folder; skips the test where it is not installed."""
    program = find_dagsplit()
    if program is None:
        pytest.skip("dagsplit is not on the path; set DAGSPLIT")

    def run(*arguments):
        done = subprocess.run([program, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def repository():
    """The root of the repository."""
    return Path(__file__).parents[3]


def parted(traced, stages, training, dagsplit, folder):
    """The nodes on each stage of the split that dagsplit finds; so fast a link that splitting pays."""
    groups = group(traced)
    costs = roofline.model(traced, groups, ACCELERATORS["v100"], False, training)
    made = instance.build(traced, groups, costs, Devices("V100", stages, None, 0, 1e15), 6, "copy")
    instance.write(made, {"name": "model"}, folder / "workload.json")
    dagsplit("solve", "workload.json", "--output", "split.json", "--time-limit", "20")
    dagsplit("export", "workload.json", "split.json", "--to", "pytorch-pipelining", "--output", "stages.json")
    return read_stages(folder / "stages.json").nodes
