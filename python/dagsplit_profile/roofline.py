"""Models the times of nodes from published figures of a device; needs no device.

The roofline (Williams, Waterman and Patterson, CACM 52(4), 2009), with the conventions of `dagsplit generate`: an
operator takes as long as its arithmetic or its memory traffic, whichever is longer, and the start of its kernel on top.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import fx
from torch.utils.flop_counter import FlopCounterMode

from .costs import Cost, Pass
from .execute import Run, Show, tensors, walk
from .grouping import Group, group
from .hardware import Accelerator, Device
from .memory import Footprint, footprints
from .timing import Time
from .trace import Trace, tensor_bytes, without_data

# Operators that read of their first operand no more than they give.
GATHERS = {"aten::embedding", "aten::index", "aten::gather", "aten::index_select"}


@dataclass(frozen=True)
class Work:
    """The work of one pass: operations, bytes moved, kernels started; `matrix` where matrix units do it."""

    flops: float
    traffic: float
    kernels: int
    matrix: bool
    dtype: torch.dtype

    def milliseconds(self, device: Device) -> float:
        """The roofline's time."""
        arithmetic = self.flops / device.rate(self.dtype, matrix=self.matrix)
        return 1e3 * (max(arithmetic, self.traffic / device.bandwidth) + self.kernels * device.launch)


@dataclass(frozen=True)
class Operator:
    """What an operator does; no backward pass where no gradient flows through it."""

    forward: Work
    backward: Work | None


def model(
    trace: Trace, groups: list[Group], accelerator: Accelerator, cpu: bool, training: bool, shown: Show = iter
) -> list[Cost]:
    """Costs of every group; nothing is computed."""
    operators: dict[fx.Node, Operator] = {}
    bare, mode = without_data(trace)

    def visit(entry: Group, run: Run, arguments: list[torch.Tensor]) -> object:
        with FlopCounterMode(display=False) as counter:
            result = run()
        operators[entry.nodes[0]] = _operator(entry, counter.get_total_flops(), arguments, tensors(result), training)
        return result

    with mode:
        walk(bare, group(bare), visit, training, shown)
    devices = (accelerator, accelerator.cpu if cpu else None)
    memory = footprints(trace, groups, training)
    parts = [[operators[node] for node in entry.nodes if node in operators] for entry in groups]
    return [_cost(*known, devices) for known in zip(groups, parts, memory, strict=True)]


def _cost(entry: Group, parts: list[Operator], memory: Footprint, devices: tuple[Device, Device | None]) -> Cost:
    """The costs of a group: its operators run one after another."""

    def total(works: list[Work]) -> Pass:
        sums = [sum(work.milliseconds(device) for work in works) if device else None for device in devices]
        return Pass(*(Time(value) if value is not None else None for value in sums))

    backward = [part.backward for part in parts if part.backward is not None]
    output_bytes = sum(tensor_bytes(node.meta["val"]) for node in entry.outputs)
    forward = total([part.forward for part in parts])
    return Cost(forward, total(backward) if backward else None, output_bytes, memory)


def _operator(
    entry: Group, flops: float, arguments: list[torch.Tensor], results: list[torch.Tensor], training: bool
) -> Operator:
    state = [held.tensor for held in entry.state]
    known = {value.untyped_storage()._cdata for value in arguments + state}
    output = tensor_bytes(results)
    gradient = training and any(value.requires_grad for value in results)
    # An operator that gives no tensor works on sizes; one that makes nothing gives another view of what it reads.
    dtype = results[0].dtype if results else torch.float32
    if all(value.untyped_storage()._cdata in known for value in results):
        view = Work(0.0, 0.0, 0, False, dtype)
        return Operator(view, view if gradient else None)
    traffic = tensor_bytes(arguments) + tensor_bytes(state) + output
    if _schema_name(entry) in GATHERS:
        traffic = 2 * output + min(tensor_bytes(value) for value in arguments + state)
    forward = Work(
        max(flops, output / results[0].element_size()), traffic, 1, flops > 0 and not _depthwise(entry), dtype
    )
    backward = _backward(forward, flops > 0, output, arguments, state) if gradient else None
    return Operator(forward, backward)


def _backward(
    forward: Work, product: bool, output: int, arguments: list[torch.Tensor], state: list[torch.Tensor]
) -> Work:
    """One product for each operand with a gradient; others pass once more over their data and the output's gradient."""
    if not product:
        return Work(forward.flops, forward.traffic + output, 1, False, forward.dtype)
    own = any(value.requires_grad for value in state)
    # Attention has three operands, but consists of two products of two operands each.
    operands = min(2, sum(value.requires_grad for value in arguments) + own)
    return Work(operands * forward.flops, operands * forward.traffic, operands, forward.matrix, forward.dtype)


def _depthwise(entry: Group) -> bool:
    """A convolution of every channel by itself is too thin for matrix units."""
    weights = [held.tensor for held in entry.state if held.tensor.dim() == 4]
    is_convolution = "conv" in _schema_name(entry)
    return is_convolution and any(weight.shape[1] == 1 and weight.shape[0] > 1 for weight in weights)


def _schema_name(entry: Group) -> str:
    """The operator's name, such as `aten::conv2d`; functions of Python have none."""
    schema = getattr(entry.nodes[0].target, "_schema", None)
    return schema.name if schema is not None else ""
