"""Measures nodes on a device."""

from __future__ import annotations

import torch

from .costs import Cost, Pass
from .execute import Run, Show, tensors, walk
from .grouping import Group
from .memory import footprints
from .timing import Time, Timer
from .trace import Trace, is_view, tensor_bytes


def measure(trace: Trace, groups: list[Group], timer: Timer, training: bool, shown: Show = iter) -> list[Cost]:
    """Times every group forward and, where `training`, backward. The trace's tensors must be on the timer's device."""
    costs: list[Cost] = []
    memory = footprints(trace, groups, training)

    def visit(entry: Group, run: Run, arguments: list[torch.Tensor]) -> object:
        result = run()
        if all(is_view(node) for node in entry.nodes):
            forward = Time(0.0)
        else:
            with torch.no_grad():
                forward = timer.measure(run)
        backward = _backward(entry, result, arguments, timer) if training else None
        passes = Pass(forward), Pass(backward) if backward is not None else None
        costs.append(Cost(*passes, tensor_bytes(result), memory[len(costs)]))
        return result

    walk(trace, groups, visit, training, shown)
    return costs


def _backward(entry: Group, result: object, arguments: list[torch.Tensor], timer: Timer) -> Time | None:
    """The time of the gradients of all inputs and parameters that have one."""
    outputs = [value for value in tensors(result) if value.requires_grad]
    if not outputs:
        return None
    if all(is_view(node) for node in entry.nodes):
        return Time(0.0)
    parameters = [state.tensor for state in entry.state]
    leaves = [value for value in arguments + parameters if value.requires_grad]
    seeds = [torch.ones_like(value) for value in outputs]
    return timer.measure(lambda: torch.autograd.grad(outputs, leaves, seeds, retain_graph=True, allow_unused=True))
