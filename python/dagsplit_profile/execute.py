"""Walks a traced model node by node, holding the values between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import torch
from torch import fx

from .errors import ProfileError
from .grouping import Group
from .trace import Trace, subgraph

Run = Callable[[], object]
Visit = Callable[[Group, Run, list[torch.Tensor]], object]
# Passes groups on and shows how far they have come.
Show = Callable[[list[Group]], Iterable[Group]]


def walk(trace: Trace, groups: list[Group], visit: Visit, training: bool, shown: Show = iter) -> None:
    """Has the groups computed one after another by `visit`.

    `visit` gets the group, a call that computes it, and the tensors that it reads, and gives the group's result. Where
    `training`, values carry `requires_grad` as they do in the model, but every group begins a graph of its own, so that
    its backward pass can run alone. A value is dropped after its last reader.
    """
    last = {source: index for index, entry in enumerate(groups) for source in entry.inputs}
    values: dict[fx.Node, object] = dict(zip(trace.inputs, trace.example, strict=True))
    with torch.set_grad_enabled(training):
        for index, entry in enumerate(shown(groups)):
            arguments = [values[source] for source in entry.inputs]
            module = subgraph(trace, entry.nodes, entry.inputs, entry.outputs)
            # Called directly: hooks for calls of modules would be measured along.
            run = partial(module.forward, *arguments)
            try:
                results = visit(entry, run, tensors(arguments))
            except (RuntimeError, NotImplementedError) as error:
                raise ProfileError(f"{entry.name} cannot run: {error}") from error
            results = [results] if len(entry.outputs) == 1 else list(results)
            values.update(zip(entry.outputs, map(_cut, results), strict=True))
            for source in [source for source in entry.inputs if last[source] == index]:
                del values[source]


def _cut(value: object) -> object:
    """The value as the start of a new graph of gradients."""
    if isinstance(value, torch.Tensor):
        return value.detach().requires_grad_(value.requires_grad)
    if isinstance(value, (tuple, list)):
        return type(value)(_cut(entry) for entry in value)
    return value


def tensors(value: object) -> list[torch.Tensor]:
    """All tensors in a value."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for entry in value for tensor in tensors(entry)] if isinstance(value, (tuple, list)) else []
