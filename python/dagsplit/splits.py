"""Splits: which device holds which nodes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from operator import index
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from . import _native
from ._native import InvalidInstance
from ._options import Path
from ._words import words
from .instances import Instance
from .pictures import Picture

if TYPE_CHECKING:
    import networkx as nx
    from typing_extensions import Unpack

    from ._options import Request

Framework = Literal[
    "pytorch-pipelining", "deepspeed", "megatron", "vllm", "sglang", "torchtitan", "accelerate", "llama.cpp"
]
"""A framework that runs pipelines."""

Detail = Literal["nodes", "chains", "stages"]
"""How much of a graph a picture shows."""


@dataclasses.dataclass(frozen=True)
class Device:
    """One device of a split, or one group of replicas, and its nodes.

    >>> Device("accelerator", (0, 1)).nodes
    (0, 1)
    """

    kind: Literal["accelerator", "cpu"]
    """Accelerator or CPU."""
    nodes: tuple[int, ...]
    """Ids of its nodes."""
    class_: int = 0
    """Index of the accelerator's class in the platform."""
    replicas: int = 1
    """How many devices share these nodes."""
    server: int | None = None
    """The accelerator's server, where the interconnect has servers."""
    subgraphs: tuple[tuple[int, ...], ...] = ()
    """For the latency: what an accelerator runs one after another."""
    load: float | None = None
    """Its load in the workload's time unit, as the verifier computed it; None before."""
    memory: float | None = None
    """Bytes that its nodes occupy, as the verifier computed it; None before."""
    start: float | None = None
    """For the latency: when it starts its first work."""
    finish: float | None = None
    """For the latency: when it finishes its last."""
    tensor_degree: int = 1
    """How many devices share each operator, where stages have degrees: then `replicas` is the data degree."""
    options: tuple[str, ...] = ()
    """The option of each of its nodes, where they have options."""
    in_flight: int | None = None
    """Microbatches in flight, where stages have degrees, as the verifier counted them; None before."""
    chunks: tuple[tuple[int, ...], ...] = ()
    """The nodes of each stage that it holds, in pipeline order, where devices hold several."""
    chunks_in_flight: tuple[int, ...] = ()
    """Microbatches in flight of each of these when the device needs the most memory, where that depends on the place; none
    before."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", tuple(index(node) for node in self.nodes))
        object.__setattr__(self, "options", tuple(self.options))
        object.__setattr__(self, "subgraphs", tuple(tuple(map(index, each)) for each in self.subgraphs))
        object.__setattr__(self, "chunks", tuple(tuple(map(index, each)) for each in self.chunks))
        object.__setattr__(self, "chunks_in_flight", tuple(self.chunks_in_flight))


class Split:
    """Which device holds which nodes of an instance. Values do not change.

    Devices are in the order in which they were given; those of `solve` are in pipeline order, where there is one.
    Nothing is checked until `verify` looks at it.

    >>> layers = [Node(id, accelerator_times=(3.0,), transfer_time=1.0) for id in range(4)]
    >>> chain = Instance(layers, [(0, 1), (1, 2), (2, 3)], Platform.uniform(2))
    >>> split = Split(chain, [Device("accelerator", (0, 1)), Device("accelerator", (2, 3))])
    >>> split.stage_of[2]
    1
    >>> split == Split.of(chain, [[0, 1], [2, 3]])
    True
    """

    def __init__(self, instance: Instance, devices: Iterable[Device], objective: float | None = None) -> None:
        """A split of `instance`, whose maker claims the `objective`."""
        self.instance = instance
        self.devices = tuple(devices)
        self.objective = objective

    @classmethod
    def of(cls, instance: Instance, split: SplitLike) -> Split:
        """A split as it is, or of lists of node ids: one list for each device of the platform, accelerators class by
        class before CPUs. Devices without nodes may be left out at the end; lists beyond the devices are of the last
        kind. Backward nodes that no list holds are where their colour class is.

        Raises:
            TypeError: it is no split, or holds something else than whole numbers.
        """
        if isinstance(split, Split):
            return split
        kinds = _kinds(instance)
        lists = [tuple(index(node) for node in nodes) for nodes in split]
        devices = [Device(*_kind(kinds, place, nodes)) for place, nodes in enumerate(lists)]
        if any(not 0 <= node < 2**64 for nodes in lists for node in nodes):
            return cls(instance, devices)
        return cls.from_json(cls(instance, devices).to_json(), instance)

    @classmethod
    def _of(cls, instance: Instance, devices: str, objective: float | None) -> Split:
        return cls(instance, [Device(**device) for device in json.loads(devices)], objective)

    @classmethod
    def from_json(cls, text: str, instance: Instance) -> Split:
        """A split of `instance` in the published shape (`docs/format.md`), which other programs read and write:
        accelerators come before CPUs.

        Raises:
            InvalidInstance: the text is no split.
        """
        return cls._of(instance, *_native.parse_split(instance._native, text))

    @classmethod
    def load(cls, path: Path, instance: Instance) -> Split:
        """The split of `instance` in a file of the published shape.

        Raises:
            InvalidInstance: the file is no split.
            OSError: it cannot be read.
        """
        try:
            return cls.from_json(FilePath(path).read_text(encoding="utf-8"), instance)
        except (InvalidInstance, UnicodeDecodeError) as error:
            raise InvalidInstance(f"{path}: {error}") from None

    def to_json(self) -> str:
        """The split in the published shape."""
        return _native.write_split(self.instance._native, self._devices(), self.objective)

    def to_dict(self) -> dict[str, Any]:
        """The split as a dictionary of the published shape."""
        shape: dict[str, Any] = json.loads(self.to_json())
        return shape

    def save(self, path: Path) -> None:
        """Writes the split to a file of the published shape."""
        FilePath(path).write_text(self.to_json(), encoding="utf-8")

    @cached_property
    def stage_of(self) -> Mapping[int, int]:
        """The index in `devices` of the device that holds each node, by the node's id."""
        return MappingProxyType({node: place for place, device in enumerate(self.devices) for node in device.nodes})

    def to_networkx(self) -> nx.DiGraph[int]:
        """The instance's graph with the attributes `stage` (index of the device), `device` (its kind) and `load` of its
        device at every node."""
        graph = self.instance.to_networkx()
        for node, stage in self.stage_of.items():
            device = self.devices[stage]
            graph.add_node(node, stage=stage, device=device.kind, load=device.load)
        return graph

    def export(self, to: Framework, layers: str | None = None, **request: Unpack[Request]) -> str:
        """The settings that make a framework run the split, as text: `export("megatron")`. `layers` names the module
        list that holds the layers, such as `model.layers`; without it the longest one is taken.

        Raises:
            InvalidSplit: the split breaks a rule of what it was made for, which is the `request`.
            InvalidOption: the framework cannot run the split; the message says why.
        """
        options = words({"to": to, "layers": layers, **request})
        return _native.export(self.instance._native, self._devices(), options)

    def draw(self, detail: Detail | None = None, sync_bandwidth: float | str | None = None) -> Picture:
        """A picture of the graph in the colours of the devices. Any valid split can be drawn, contiguous or
        not; without `detail` the finest picture that stays readable is made.

        Raises:
            InvalidSplit: the split breaks a rule.
        """
        options = words({"detail": detail, "sync_bandwidth": sync_bandwidth})
        return Picture(_native.draw(self.instance._native, self._devices(), options))

    def _repr_svg_(self) -> str:
        return self.draw()

    def _devices(self) -> str:
        return json.dumps([dataclasses.asdict(device) for device in self.devices])

    def __repr__(self) -> str:
        objective = "" if self.objective is None else f", objective {self.objective:.7g}"
        return f"Split({self.instance.name!r}, {len(self.devices)} devices{objective})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Split):
            return NotImplemented
        return self.instance == other.instance and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.instance, tuple(device.nodes for device in self.devices)))


SplitLike: TypeAlias = Split | Iterable[Iterable[int]]
"""A split, or lists of node ids by device."""


def _kinds(instance: Instance) -> list[tuple[Literal["accelerator", "cpu"], int]]:
    """The kind and class of each device of the platform."""
    platform = instance.platform
    kinds: list[tuple[Literal["accelerator", "cpu"], int]] = []
    for class_, accelerators in enumerate(platform.accelerators):
        kinds += [("accelerator", class_)] * accelerators.count
    return kinds + [("cpu", 0)] * platform.cpus or [("cpu", 0)]


def _kind(
    kinds: list[tuple[Literal["accelerator", "cpu"], int]], place: int, nodes: tuple[int, ...]
) -> tuple[Literal["accelerator", "cpu"], tuple[int, ...], int]:
    kind, class_ = kinds[min(place, len(kinds) - 1)]
    return kind, nodes, class_
