"""What a node costs: the common result of measuring and modelling."""

from __future__ import annotations

from dataclasses import dataclass

from .memory import Footprint
from .timing import Time


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
    footprint: Footprint
