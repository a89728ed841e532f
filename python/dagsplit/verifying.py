"""The independent verifier."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from ._words import question
from .instances import Instance
from .splits import Split, SplitLike

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Request

ViolationKind = Literal[
    "invalid-instance",
    "unknown-node",
    "duplicated-node",
    "missing-node",
    "unknown-class",
    "too-many-devices",
    "unsupported-node",
    "memory-exceeded",
    "split-color-class",
    "parted",
    "no-replica",
    "too-many-replicas",
    "replicated-cpu",
    "wrong-degree-or-option",
    "too-many-parts",
    "not-in-chunks",
    "not-in-groups",
    "out-of-order",
    "missing-server",
    "unknown-server",
    "overfull-server",
    "not-convex",
    "cyclic",
    "foreign-in-subgraph",
    "not-in-one-subgraph",
    "too-many-subgraphs",
    "not-contiguous",
    "deadlock",
    "not-an-interval",
    "wrong-objective",
    "other",
]
"""What can be wrong with a split."""


@dataclass(frozen=True)
class Violation:
    """One thing wrong with a split."""

    kind: ViolationKind
    """Which rule is broken."""
    message: str
    """What is wrong, where, and the cure."""
    device: int | None = None
    """The device concerned, as index in the split's `devices`."""
    node: int | None = None
    """The id of the node concerned."""
    details: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """What else the message is made of, such as `used` and `limit` of an exceeded memory."""

    def __str__(self) -> str:
        return self.message


def verify(instance: Instance, split: SplitLike, **request: Unpack[Request]) -> list[Violation]:
    """Everything that is wrong with a split by what is asked for; nothing where it is valid.

    The verifier shares no code with any solver and recomputes everything from the instance. It holds the split's
    `objective` against what it finds, where the split states one.

    Raises:
        InvalidOption: what is asked makes no sense for the instance.
        TypeError: `split` is no split.

    >>> layers = [Node(id, accelerator_times=(3.0,), transfer_time=1.0) for id in range(4)]
    >>> chain = Instance(layers, [(0, 1), (1, 2), (2, 3)], Platform.uniform(2))
    >>> verify(chain, [[0, 1], [2, 3]])
    []
    >>> [violation.kind for violation in verify(chain, [[0, 2], [1]])]
    ['missing-node']
    >>> print(verify(chain, [[0, 2], [1, 3]])[0])
    the split is not acyclic: device 0 feeds device 1 (0 → 1), device 1 feeds device 0 (1 → 2);
    merge or reorder these stages
    """
    split = Split.of(instance, split)
    outside = _outside(split)
    if outside:
        return outside
    _, found = _native.verify(instance._native, split._devices(), split.objective, question(instance, request))
    return [_violation(json.loads(each)) for each in found]


def _outside(split: Split) -> list[Violation]:
    """Ids that no node of any file has."""
    held = [(place, node) for place, device in enumerate(split.devices) for node in device.nodes]
    return [_unknown(place, node) for place, node in held if not 0 <= node < 2**64]


def _unknown(place: int, node: int) -> Violation:
    message = f"device {place} holds node {node}, which the instance does not have; remove it or correct its id"
    return Violation("unknown-node", message, place, node)


def _violation(found: Mapping[str, Any]) -> Violation:
    details = found["details"]
    return Violation(found["kind"], found["message"], details.get("device"), details.get("node"), details)
