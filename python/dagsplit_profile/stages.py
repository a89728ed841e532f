"""A split back in PyTorch: the stages of a pipeline as modules."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import fx

from .errors import ProfileError
from .grouping import Group
from .trace import Trace, subgraph, without_data

SCHEMA = "dagsplit-pytorch-stages/1"


@dataclass(frozen=True)
class StageFile:
    """What `dagsplit export --to pytorch-pipelining` writes, as far as it is needed to run it.

    `nodes` are the names on each stage, `objective` the predicted time per batch in milliseconds, `loads` each stage's
    share of it, and `split_spec` the modules at which stages begin, or `None` where there are no such modules.
    """

    nodes: list[list[str]]
    objective: float
    loads: list[float]
    split_spec: dict[str, str] | None


def read_stages(path: Path) -> StageFile:
    """Reads the file."""
    try:
        file = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise ProfileError(f"{path}: {error}") from error
    if not isinstance(file, dict) or file.get("schema") != SCHEMA:
        raise ProfileError(f"{path}: no {SCHEMA} file; write one with `dagsplit export --to pytorch-pipelining`")
    stages = file["stages"]
    loads = [stage["load"] for stage in stages]
    return StageFile([stage["nodes"] for stage in stages], file["objective"], loads, file["split_spec"])


def split_points(file: StageFile) -> dict[str, torch.distributed.pipelining.SplitPoint]:
    """The `split_spec` for `torch.distributed.pipelining.pipeline`."""
    from torch.distributed.pipelining import SplitPoint

    if file.split_spec is None:
        raise ProfileError("a stage begins inside a module, so there is no split_spec; use `stage_modules`")
    return {module: SplitPoint[place] for module, place in file.split_spec.items()}


def stage_modules(trace: Trace, groups: Sequence[Group], nodes: Sequence[Sequence[str]]) -> list[fx.GraphModule]:
    """One module for each stage, whose outputs are the next one's inputs.

    `groups` are the nodes of the instance, from the same granularity, and `nodes` the names of those on each stage. A
    value that a later stage than the next one reads is handed through the stages between. The first stage takes the
    model's inputs, the last gives its outputs, flat. Every module holds the parameters and buffers that its operators
    read, shared with the traced model, in its submodule `model` and under the model's names.
    """
    stage_of = _stage_of(trace, groups, nodes)
    last = len(nodes) - 1
    reach: dict[fx.Node, int] = {}
    for node in trace.operators:
        for source in trace.producers(node):
            reach[source] = max(reach.get(source, 0), stage_of[node])
    reach.update(dict.fromkeys(trace.outputs, len(nodes)))
    made = {**dict.fromkeys(trace.inputs, 0), **stage_of}
    modules = []
    inputs = list(trace.inputs)
    for stage in range(len(nodes)):
        operators = [node for node in trace.operators if stage_of[node] == stage]
        crossing = [node for node in made if made[node] <= stage < reach.get(node, 0)]
        _check_tensors(crossing)
        outputs = list(trace.outputs) if stage == last else crossing
        modules.append(_contiguous(subgraph(trace, operators, inputs, outputs)))
        inputs = crossing
    return modules


def pipeline_stage(
    trace: Trace, groups: Sequence[Group], nodes: Sequence[Sequence[str]], rank: int
) -> torch.distributed.pipelining.PipelineStage:
    """Stage `rank` of `torch.distributed.pipelining`, with what it takes and gives.

    PyTorch would run the stages on made-up values to find that out, which an embedding does not take. An output without
    dimensions has one here, as those of the microbatches are joined along it.
    """
    from torch.distributed.pipelining import PipelineStage

    bare, mode = without_data(trace)
    values = tuple(bare.example)
    with mode:
        for module in map(_with_dimensions, stage_modules(bare, groups, nodes)[: rank + 1]):
            taken, values = values, module(*values)
            values = values if isinstance(values, tuple) else (values,)
    module = _with_dimensions(stage_modules(trace, groups, nodes)[rank])
    return PipelineStage(
        module, rank, len(nodes), trace.device, input_args=_described(taken), output_args=_described(values)
    )


def _with_dimensions(module: fx.GraphModule) -> fx.GraphModule:
    return _with_outputs(module, lambda graph, value: graph.call_function(torch.atleast_1d, (value,)))


def _described(values: Sequence[object]) -> tuple[torch.Tensor, ...]:
    """Tensors without data that tell shape, type and whether a gradient flows."""
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    describe = lambda x: torch.empty(x.shape, dtype=x.dtype, device="meta", requires_grad=x.requires_grad)  # noqa: E731
    return tuple(map(describe, tensors))


def _stage_of(trace: Trace, groups: Sequence[Group], nodes: Sequence[Sequence[str]]) -> dict[fx.Node, int]:
    named = {name: stage for stage, names in enumerate(nodes) for name in names}
    missing = [entry.name for entry in groups if entry.name not in named]
    if missing:
        raise ProfileError(
            f"the split does not name {len(missing)} nodes of this model, such as {', '.join(missing[:3])}; "
            "trace it with the same versions, inputs and granularity as the instance"
        )
    stage_of = {node: named[entry.name] for entry in groups for node in entry.nodes}
    for node in trace.operators:
        for source in trace.producers(node):
            if stage_of.get(source, 0) > stage_of[node]:
                raise ProfileError(f"{node.name} on stage {stage_of[node]} reads {source.name} of a later stage")
    return stage_of


def _check_tensors(values: Sequence[fx.Node]) -> None:
    for node in values:
        if isinstance(node.meta.get("val"), (tuple, list)):
            raise ProfileError(f"{node.name} is a tuple, which cannot be sent; keep it and its pieces on one stage")


def _contiguous(module: fx.GraphModule) -> fx.GraphModule:
    """The module with outputs that a process group can send: dense in memory.

    Kernels lay out their results by what they take, so that a view of the whole model may be none here: it is reshaped.
    """
    for node in module.graph.find_nodes(op="call_function", target=torch.ops.aten.view.default):
        node.target = torch.ops.aten.reshape.default
    return _with_outputs(module, lambda graph, value: graph.call_method("contiguous", (value,)))


def _with_outputs(module: fx.GraphModule, change: Callable[[fx.Graph, fx.Node], fx.Node]) -> fx.GraphModule:
    output = next(iter(reversed(module.graph.nodes)))
    with module.graph.inserting_before(output):
        values = output.args[0]
        many = isinstance(values, tuple)
        changed = [change(module.graph, value) for value in (values if many else (values,))]
        output.args = (tuple(changed) if many else changed[0],)
    module.recompile()
    return module
