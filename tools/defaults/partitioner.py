#!/usr/bin/env python3
"""The rule by which a framework splits a model over the stages of a pipeline by default, as a partitioner of dagsplit
(docs/your-partitioner.md): an instance on standard input, a split on standard output.

    python3 tools/defaults/partitioner.py vllm < instance.json

The function is the framework's own, imported as it is installed; all that happens here is to tell it what it asks for
(how many layers, how large they are, how many devices of what memory) and to write down its answer. A split that it
refuses is `unknown`, with its words on standard error.
"""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import accumulate, pairwise
from types import SimpleNamespace
from typing import Any


@dataclass(frozen=True)
class Layer:
    """An entry of a model's list of modules."""

    nodes: list[int]
    """Its nodes: one that has parameters, and those without any that follow it or come before all others."""
    size: int
    """Bytes of its parameters."""


@dataclass(frozen=True)
class Model:
    """What frameworks see of an instance."""

    layers: list[Layer]
    """Its modules in their order: embedding, hidden layers, head."""
    hidden: range
    """Which of them are hidden layers."""
    devices: int
    """How many devices there are."""
    memory: int
    """Bytes of each."""

    def sizes(self) -> list[int]:
        """The bytes of each layer."""
        return [layer.size for layer in self.layers]

    def stages_of(self, hidden: Sequence[int]) -> list[int]:
        """How many layers each stage has that has so many hidden ones; what comes before them is on the first stage,
        and what comes after them on the last."""
        counts = list(hidden)
        counts[0] += self.hidden.start
        counts[-1] += len(self.layers) - self.hidden.stop
        return counts


def in_order(instance: dict[str, Any]) -> list[dict[str, Any]]:
    """The nodes in a topological order."""
    nodes = {node["id"]: node for node in instance["nodes"]}
    sorter = TopologicalSorter({node: () for node in nodes})
    for edge in instance["edges"]:
        sorter.add(edge["target"], edge["source"])
    return [nodes[node] for node in sorter.static_order()]


def model_of(instance: dict[str, Any]) -> Model:
    """The list of modules that stands behind an instance.

    Where no node tells its parameters, its memory stands for them. Hidden layers are repeated: they go from the first
    to the last that is as large as another one.
    """
    nodes = in_order(instance)
    field = "parameter_bytes" if any(node.get("parameter_bytes") for node in nodes) else "memory"
    layers: list[Layer] = []
    before: list[int] = []
    for node in nodes:
        size = int(node.get(field) or 0)
        if size:
            layers.append(Layer([*before, node["id"]], size))
            before = []
        else:
            (layers[-1].nodes if layers else before).append(node["id"])
    if not layers:
        raise ValueError("no node has parameters or memory")
    copies = Counter(layer.size for layer in layers)
    repeated = [i for i, layer in enumerate(layers) if copies[layer.size] > 2] or range(len(layers))
    accelerators = instance["platform"]["accelerators"][0]
    memory = int(accelerators.get("memory") or sum(layer.size for layer in layers))
    return Model(layers, range(repeated[0], repeated[-1] + 1), accelerators["count"], memory)


def vllm(model: Model) -> list[int]:
    """Layers of each stage, by vLLM."""
    from vllm.distributed.utils import get_pp_indices

    return by_indices(model, get_pp_indices)


def sglang(model: Model) -> list[int]:
    """Layers of each stage, by SGLang."""
    from sglang.srt.distributed.utils import get_pp_indices

    return by_indices(model, get_pp_indices)


def by_indices(model: Model, get_pp_indices: Callable[[int, int, int], tuple[int, int]]) -> list[int]:
    """Layers of each stage, by a function that tells the first hidden layer of a stage, and that of the next one."""
    ends = [get_pp_indices(len(model.hidden), stage, model.devices) for stage in range(model.devices)]
    return model.stages_of([end - start for start, end in ends])


def megatron(model: Model) -> list[int]:
    """Layers of each stage, by Megatron-Core, where no option says otherwise."""
    from megatron.core.transformer.transformer_block import get_num_layers_to_build

    config = SimpleNamespace(
        num_layers=len(model.hidden),
        pipeline_model_parallel_size=model.devices,
        virtual_pipeline_model_parallel_size=None,
        pipeline_model_parallel_layout=None,
        num_layers_in_first_pipeline_stage=None,
        num_layers_in_last_pipeline_stage=None,
        account_for_embedding_in_pipeline_split=False,
        account_for_loss_in_pipeline_split=False,
    )
    return model.stages_of([get_num_layers_to_build(config, None, stage) for stage in range(model.devices)])


def torchtitan(model: Model) -> list[int]:
    """Layers of each stage, by torchtitan with the weights that its configuration gives embedding and head."""
    from torchtitan.config import ParallelismConfig
    from torchtitan.distributed.pipeline_parallel import _generate_llm_fqn_per_model_part

    config = ParallelismConfig()
    parts = _generate_llm_fqn_per_model_part(
        model.devices,
        len(model.hidden),
        config.pipeline_parallel_first_stage_less_layers,
        config.pipeline_parallel_last_stage_less_layers,
    )
    return model.stages_of([sum(name.startswith("layers.") for name in part) for part in parts])


def deepspeed(model: Model) -> list[int]:
    """Layers of each stage, by the method `parameters` of DeepSpeed's `PipelineModule`, its default."""
    from deepspeed.runtime.utils import partition_balanced

    starts = partition_balanced(model.sizes(), model.devices)
    return [int(end - start) for start, end in pairwise(starts)]


def accelerate(model: Model) -> list[int]:
    """Layers of each stage, by Accelerate's `device_map="auto"`."""
    from accelerate.utils import get_balanced_memory, infer_auto_device_map

    modules, whole = on_meta(model), ["Hidden"]
    memory = {device: model.memory for device in range(model.devices)}
    balanced = get_balanced_memory(modules, memory, no_split_module_classes=whole)
    devices = infer_auto_device_map(modules, balanced, no_split_module_classes=whole, clean_result=False)
    # An entry is a layer, or a part of one that need not be on one device.
    device_of = {int(name.split(".")[0]): device for name, device in devices.items()}
    if not set(device_of.values()) <= set(memory):
        raise ValueError("some layers are offloaded")
    counts = Counter(device_of.values())
    return [counts[device] for device in memory]


def pippy(model: Model) -> list[int]:
    """Layers of each stage, by PiPPy's `split_into_equal_size`."""
    from pippy.ModelSplit import pipe_split, split_into_equal_size
    from torch import fx

    class Tracer(fx.Tracer):
        def is_leaf_module(self, *_: object) -> bool:
            return True

    modules = on_meta(model)
    split = split_into_equal_size(model.devices)(fx.GraphModule(modules, Tracer().trace(modules)))
    stages = accumulate(int(node.target is pipe_split) for node in split.graph.nodes)
    of_modules = [stage for stage, node in zip(stages, split.graph.nodes) if node.op == "call_module"]
    return [of_modules.count(stage) for stage in range(model.devices)]


def on_meta(model: Model) -> Any:
    """A model of PyTorch with these layers, without their data: hidden ones have two parts, attention and the rest."""
    import torch

    def parameters(size: int) -> torch.nn.Module:
        part = torch.nn.Module()
        part.weight = torch.nn.Parameter(torch.empty(size, dtype=torch.uint8, device="meta"), requires_grad=False)
        return part

    class Hidden(torch.nn.Sequential):
        pass

    def layer(index: int, size: int) -> torch.nn.Module:
        half = size // 2
        return Hidden(parameters(half), parameters(size - half)) if index in model.hidden else parameters(size)

    return torch.nn.Sequential(*(layer(index, size) for index, size in enumerate(model.sizes())))


RULES: dict[str, Callable[[Model], list[int]]] = {
    rule.__name__: rule for rule in (vllm, sglang, megatron, torchtitan, deepspeed, accelerate, pippy)
}


def split_of(rule: Callable[[Model], list[int]], instance: dict[str, Any]) -> list[list[int]]:
    """The nodes of each device, by a rule."""
    model = model_of(instance)
    counts = rule(model)
    if sum(counts) != len(model.layers):
        raise ValueError(f"it places {sum(counts)} of {len(model.layers)} layers")
    ends = list(accumulate(counts, initial=0))
    return [[node for layer in model.layers[a:b] for node in layer.nodes] for a, b in pairwise(ends)]


def main() -> None:
    """Answers the instance on standard input."""
    answer, sys.stdout = sys.stdout, sys.stderr  # Frameworks greet.
    logging.disable(logging.WARNING)
    try:
        stages = split_of(RULES[sys.argv[1]], json.load(sys.stdin))
        json.dump({"fpgas": [{"nodes": nodes} for nodes in stages], "cpus": []}, answer)
    except (AssertionError, ValueError) as refusal:
        json.dump({"status": "unknown"}, answer)
        print(str(refusal).strip(), file=sys.stderr)


if __name__ == "__main__":
    main()
