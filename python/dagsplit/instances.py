"""Workloads: nodes, edges, and the devices that they are split over."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from . import _native
from ._native import InvalidInstance
from ._options import Path
from ._words import words

if TYPE_CHECKING:
    import networkx as nx
    import rustworkx as rx
    from typing_extensions import Unpack

    from ._options import Devices, Reading

_SCHEMA = "dagsplit-instance/1"


@dataclasses.dataclass(frozen=True)
class AcceleratorClass:
    """Interchangeable accelerators."""

    count: int
    """How many there are."""
    memory: float | None = None
    """Bytes of each of them; None is unlimited."""
    name: str | None = None
    """A name to show, such as `V100`."""
    load: tuple[Mapping[str, float], ...] | None = None
    """The linear pieces of their load, where these are no common ones; `docs/format.md` tells more."""


@dataclasses.dataclass(frozen=True)
class Platform:
    """The devices that a workload is to be split over.

    >>> Platform.uniform(4, memory=16 * 2**30, cpus=1).accelerators
    (AcceleratorClass(count=4, memory=17179869184, name=None, load=None),)
    """

    accelerators: tuple[AcceleratorClass, ...]
    """The classes of accelerators; `Node.accelerator_times` has one entry for each."""
    cpus: int = 0
    """How many CPUs there are. They have no memory limit and pay no communication."""
    bandwidth: float | None = None
    """Link bandwidth in bytes per time unit, where the workload states one."""

    @staticmethod
    def uniform(count: int, memory: float | None = None, cpus: int = 0) -> Platform:
        """`count` equal accelerators with `memory` bytes each, and `cpus` CPUs."""
        return Platform((AcceleratorClass(count, memory),), cpus)

    @staticmethod
    def from_dict(platform: Mapping[str, Any]) -> Platform:
        """The platform that a native file states."""
        try:
            classes = tuple(AcceleratorClass(**{**each, "load": _pieces(each)}) for each in platform["accelerators"])
            return Platform(**{**platform, "accelerators": classes})
        except (KeyError, TypeError) as error:
            raise InvalidInstance(f"platform: {error}; give `accelerators`, each with a `count`, and `cpus`") from None

    def to_dict(self) -> dict[str, Any]:
        """The platform as a native file states it."""
        classes = [_stated(each) for each in self.accelerators]
        return {**_stated(self), "accelerators": classes, "cpus": self.cpus}


@dataclasses.dataclass(frozen=True)
class Node:
    """An operator or a layer. Times are in the workload's unit, sizes in bytes.

    >>> Node(0, accelerator_times=(2.5,), cpu_time=30.0, transfer_time=0.1).memory
    0.0
    """

    id: int
    """Its id, unique in the workload."""
    accelerator_times: tuple[float | None, ...] = ()
    """Time on an accelerator of each class; None where the class cannot run it."""
    cpu_time: float | None = None
    """Time on a CPU; None where no CPU can run it."""
    memory: float = 0.0
    """Bytes that it occupies on an accelerator."""
    transfer_time: float = 0.0
    """Time to move its output between an accelerator and host memory."""
    output_bytes: float | None = None
    """Bytes of its output, where known."""
    parameter_bytes: float = 0.0
    """Bytes of its parameters, which replicas of a stage all-reduce."""
    backward: bool = False
    """Whether it belongs to the backward pass."""
    color_class: int | None = None
    """Nodes of one colour class share a device."""
    layer: int | None = None
    """The layer that it belongs to; shown, never a constraint."""
    name: str | None = None
    """A name to show."""
    time_spread: float | None = None
    """How far repeated measurements of its time lay apart; informative."""


_FIELDS = {field.name for field in dataclasses.fields(Node)}


class Instance:
    """A workload: a graph of operators or layers with their costs, and devices.

    Values do not change: `with_devices` makes another one. Two are equal where they state the same.

    >>> layers = [Node(id, accelerator_times=(3.0,), transfer_time=1.0) for id in range(4)]
    >>> chain = Instance(layers, [(0, 1), (1, 2), (2, 3)], Platform.uniform(2), name="chain")
    >>> chain
    Instance('chain', 4 nodes, 3 edges, 2 accelerators, 0 CPUs)
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        edges: Iterable[tuple[int, int]],
        platform: Platform,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """A workload of these nodes and edges (producer, consumer).

        Raises:
            InvalidInstance: everything that is wrong with it, each with the node or edge and the cure.
        """
        self._native = _parsed(
            {
                "metadata": {**(metadata or {}), **({"name": name} if name else {})},
                "platform": platform.to_dict(),
                "nodes": [
                    {"accelerator_times": node.accelerator_times, "cpu_time": None, **_stated(node)} for node in nodes
                ],
                "edges": [{"source": source, "target": target} for source, target in edges],
            }
        )

    @classmethod
    def _of(cls, native: _native.Instance) -> Instance:
        instance = cls.__new__(cls)
        instance._native = native
        return instance

    @classmethod
    def load(cls, path: Path, **reading: Unpack[Reading]) -> Instance:
        """The workload in a file: dagsplit's or Tarnawski's JSON, a PipeDream profile, Piper's JSON, or an ONNX model
        (`*.onnx`). Its name defaults to the file's.

        Raises:
            InvalidInstance: the file cannot be read; the message names it and lists everything that is wrong.
            InvalidOption: an option that does not exist or does not fit.
        """
        return cls._of(_native.Instance.load(path, words(reading)))

    @classmethod
    def from_onnx(cls, path: Path, **reading: Unpack[Reading]) -> Instance:
        """The operators of an ONNX model, with costs modelled for a device: `from_onnx("bert.onnx", dimension={"batch":
        8}, accelerator="a100", precision="fp16")`. Weights are not read.

        Raises:
            InvalidInstance: everything that is wrong with the file.
        """
        if FilePath(path).suffix != ".onnx":
            raise InvalidInstance(
                f"{path}: an ONNX model is a file `*.onnx`; rename it, or read other files with `load`"
            )
        return cls.load(path, **reading)

    @classmethod
    def from_json(cls, text: str, **reading: Unpack[Reading]) -> Instance:
        """The workload in a text of any format that `load` reads, but ONNX.

        Raises:
            InvalidInstance: everything that is wrong with the text.
        """
        return cls._of(_native.Instance.parse(text, words(reading)))

    @classmethod
    def from_dict(cls, workload: Mapping[str, Any]) -> Instance:
        """The workload in a dictionary of the shape of a native file (`docs/format.md`); the schema may be left out.

        Raises:
            InvalidInstance: everything that is wrong with it.
        """
        return cls._of(_parsed(workload))

    @classmethod
    def from_networkx(
        cls, graph: nx.DiGraph[Any], platform: Platform | None = None, name: str | None = None
    ) -> Instance:
        """The workload in a directed graph of networkx.

        Attributes of nodes are the fields of `Node`, or `accelerator_time` where there is one class; other attributes
        are left alone. Nodes that are whole numbers keep them as ids; else nodes are numbered in order, and named.
        Without a `platform` the graph's attribute of that name is taken, as `to_networkx` leaves it.

        Raises:
            InvalidInstance: everything that is wrong with it.

        >>> import networkx as nx
        >>> graph = nx.DiGraph([("embed", "block"), ("block", "head")])
        >>> nx.set_node_attributes(graph, 3.0, "accelerator_time")
        >>> Instance.from_networkx(graph, Platform.uniform(2)).nodes[1].name
        'block'
        """
        keeps_ids = all(isinstance(node, int) and node >= 0 for node in graph)
        ids = {node: node if keeps_ids else index for index, node in enumerate(graph)}
        names = {} if keeps_ids else {node: {"name": str(node)} for node in graph}
        nodes = [{"id": ids[node], **names.get(node, {}), **graph.nodes[node]} for node in graph]
        edges = [(ids[source], ids[target]) for source, target in graph.edges()]
        attributes = {**graph.graph, **({"platform": platform.to_dict()} if platform else {})}
        return cls._of(_parsed(_of_graph(nodes, edges, attributes, name or graph.graph.get("name") or None)))

    @classmethod
    def from_rustworkx(cls, graph: rx.PyDiGraph[Any, Any], platform: Platform, name: str | None = None) -> Instance:
        """The workload in a directed graph of rustworkx, whose nodes are dictionaries of the fields of `Node` (or with
        `accelerator_time`), or `Node`. Ids are the graph's indices.

        Raises:
            InvalidInstance: everything that is wrong with it.
        """
        payloads = ((index, graph[index]) for index in graph.node_indices())
        nodes = [{**(_stated(node) if isinstance(node, Node) else node), "id": index} for index, node in payloads]
        edges = [(source, target) for source, target in graph.edge_list()]
        return cls._of(_parsed(_of_graph(nodes, edges, {"platform": platform.to_dict()}, name)))

    @cached_property
    def _stated(self) -> dict[str, Any]:
        stated: dict[str, Any] = json.loads(self._native.write([]))
        return stated

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.metadata.get("name", "unnamed"))

    @property
    def hash(self) -> str:
        """Hash of what it states, its metadata aside: 16 hexadecimal digits, as in records of runs."""
        return self._native.hash

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """Where it comes from (`docs/format.md`)."""
        return dict(self._stated["metadata"])

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Its nodes, in the order of its file."""
        return tuple(
            Node(**{**node, "accelerator_times": tuple(node["accelerator_times"])}) for node in self._stated["nodes"]
        )

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Its edges: ids of producer and consumer."""
        return tuple((edge["source"], edge["target"]) for edge in self._stated["edges"])

    @cached_property
    def platform(self) -> Platform:
        """Its devices."""
        return Platform.from_dict(self._stated["platform"])

    def with_devices(self, **devices: Unpack[Devices]) -> Instance:
        """The same workload on other devices: `with_devices(accelerators=4, memory="16GiB", cpus=0)`.

        Raises:
            InvalidOption: an option does not fit the classes of accelerators.
        """
        return Instance._of(self._native.with_devices(words(devices)))

    def info(self, **devices: Unpack[Devices]) -> dict[str, Any]:
        """Its size, costs, devices and lower bounds, as `dagsplit info --json` tells them (schema
        `dagsplit-info/1`)."""
        facts: dict[str, Any] = json.loads(self._native.facts(words(devices)))
        return facts

    def to_dict(self) -> dict[str, Any]:
        """The workload in the shape of a native file."""
        stated: dict[str, Any] = json.loads(self.to_json())
        return stated

    def to_json(self) -> str:
        """The workload as a native file."""
        return self._native.write([])

    def to_text(self, format: str) -> str:
        """The workload as `native`, `tarnawski`, `dot`, `metis` or `scotch`.

        Raises:
            InvalidOption: the format has no words for something that it states.
        """
        return self._native.write(words({"to": format}))

    def save(self, path: Path) -> None:
        """Writes the workload to a native file."""
        FilePath(path).write_text(self.to_json(), encoding="utf-8")

    def to_networkx(self) -> nx.DiGraph[int]:
        """A directed graph of networkx, whose nodes have the fields of `Node` that say something as attributes, and
        which `from_networkx` turns into the same workload, but for the order of its edges."""
        import networkx as nx

        graph: nx.DiGraph[int] = nx.DiGraph(**self.metadata, platform=self.platform.to_dict())
        for node in self._stated["nodes"]:
            graph.add_node(node["id"], **{name: value for name, value in node.items() if name != "id"})
        graph.add_edges_from(self.edges)
        return graph

    def _repr_svg_(self) -> str:
        return _native.draw(self._native, None, [])

    def __repr__(self) -> str:
        accelerators = sum(each.count for each in self.platform.accelerators)
        size = f"{len(self.nodes)} nodes, {len(self.edges)} edges"
        return f"Instance({self.name!r}, {size}, {accelerators} accelerators, {self.platform.cpus} CPUs)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instance) and self._stated == other._stated

    def __hash__(self) -> int:
        return hash(self.hash)

    def __reduce__(self) -> tuple[Any, ...]:
        return Instance.from_json, (self.to_json(),)


def _pieces(accelerators: Mapping[str, Any]) -> tuple[Mapping[str, float], ...] | None:
    load = accelerators.get("load")
    return None if load is None else tuple(load)


def _stated(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that say something."""
    fields = ((field, getattr(value, field.name)) for field in dataclasses.fields(value))
    return {field.name: each for field, each in fields if each is not None and (field.default != each or each == 0)}


def _of_graph(
    nodes: Sequence[Mapping[str, Any]],
    edges: Sequence[tuple[int, int]],
    attributes: Mapping[str, Any],
    name: str | None,
) -> dict[str, Any]:
    """The workload that a graph's attributes state."""
    if "platform" not in attributes:
        raise InvalidInstance("the graph has no attribute `platform`; give `platform=Platform.uniform(...)`")
    metadata = {key: value for key, value in attributes.items() if key in _METADATA}
    return {
        "metadata": {**metadata, **({"name": name} if name else {})},
        "platform": attributes["platform"],
        "nodes": [_of_attributes(node) for node in nodes],
        "edges": [{"source": source, "target": target} for source, target in edges],
    }


_METADATA = {"name", "model", "device", "source", "provenance", "software", "date", "settings"}


def _of_attributes(node: Mapping[str, Any]) -> dict[str, Any]:
    stated = {name: value for name, value in node.items() if name in _FIELDS and value is not None}
    times = stated.get("accelerator_times", (node.get("accelerator_time"),))
    return {"cpu_time": None, **stated, "accelerator_times": list(times)}


def _parsed(workload: Mapping[str, Any]) -> _native.Instance:
    try:
        text = json.dumps({"schema": _SCHEMA, **workload}, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInstance(
            f"the workload cannot be written as JSON: {error}; give finite numbers and text"
        ) from None
    return _native.Instance.parse(text, [])
