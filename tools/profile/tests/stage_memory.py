"""Memory of stages: what the instance predicts, and the peak of a step that runs on the CPU."""

from __future__ import annotations

import torch

from dagsplit_profile import Trace, group
from dagsplit_profile.execute import tensors
from dagsplit_profile.memory import Tracker, footprints, peak
from dagsplit_profile.stages import stage_modules


def compared(trace: Trace, nodes: list[list[str]], training: bool) -> list[tuple[int, int, int]]:
    """For each stage, in bytes: the predicted peak, the most that its instance's nodes may take, the measured peak."""
    groups = group(trace)
    memory = footprints(trace, groups, training)
    reserve = max(entry.working for entry in memory)
    rows, values = [], [value.detach().clone() for value in trace.example]
    for module, names in zip(stage_modules(trace, groups, nodes), nodes, strict=True):
        here = [index for index, entry in enumerate(groups) if entry.name in set(names)]
        state = {held.name: held for index in here for held in groups[index].state}.values()
        gradients = sum(held.bytes for held in state if held.tensor.requires_grad) if training else 0
        total = sum(held.bytes for held in state)
        own = [memory[index] for index in here]
        additive = total + gradients + sum(entry.held for entry in own) + reserve
        predicted = peak(own, total, gradients)
        allocated, values = _step(module, values, training)
        rows.append((predicted, additive, total + gradients + allocated))
    return rows


def _step(module: torch.nn.Module, values: list[torch.Tensor], training: bool) -> tuple[int, list[torch.Tensor]]:
    """The peak of what one forward and backward pass allocate beside the parameters' gradients; and the outputs.

    The gradients are there from the microbatch before, and are added to.
    """
    inputs = [value.requires_grad_(training and value.is_floating_point()) for value in values]
    gradients = []
    for parameter in filter(lambda parameter: parameter.requires_grad, module.parameters() if training else ()):
        parameter.grad = torch.zeros_like(parameter)
        gradients.append(parameter.grad)
    known = [*inputs, *module.parameters(), *module.buffers(), *gradients]
    with torch.set_grad_enabled(training), Tracker(known) as tracker:
        outputs = tensors(module(*inputs))
        results = [value.detach() for value in outputs]
        if training:
            ends = [value for value in outputs if value.requires_grad]
            torch.autograd.backward(ends, [torch.ones_like(value) for value in ends])
    return tracker.peak, results
