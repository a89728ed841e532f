"""What a node costs: the common result of measuring and modelling."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from .timing import Time
from .trace import tensor_bytes


@dataclass
class Pass:
    """The time of one pass through a node, on the accelerator and on a CPU."""

    accelerator: Time
    cpu: Time | None = None


@dataclass
class Cost:
    """Costs of one group. Sizes are in bytes; there is a backward pass where a gradient flows through the node."""

    forward: Pass
    backward: Pass | None
    output_bytes: int
    held_bytes: int


def held_bytes(results: Iterable[torch.Tensor], read: Iterable[torch.Tensor]) -> int:
    """Bytes of results that share no memory with what was read; memory that results share counts once."""
    known = {_storage(value) for value in read}
    own = {_storage(value): value for value in results if _storage(value) not in known}
    return sum(tensor_bytes(value) for value in own.values())


def _storage(value: torch.Tensor) -> int:
    """What tells the memory behind a tensor from any other; it works on the `meta` device, too."""
    return value.untyped_storage()._cdata
