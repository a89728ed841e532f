"""The instance of a profiled model, in dagsplit's own format (`docs/format.md`)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torch import fx

from .costs import Cost, Pass
from .errors import ProfileError
from .grouping import Group
from .memory import working_set
from .numbers import significant
from .timing import Time
from .trace import Trace, tensor_bytes

Json = dict[str, object]


@dataclass(frozen=True)
class Devices:
    """The devices that the instance is for; memory in bytes, the bandwidth in bytes per second.

    In training the optimizer keeps `optimizer_copies` numbers for each parameter, beside its gradient.
    """

    name: str
    count: int
    memory: int | None
    cpus: int
    bandwidth: float
    optimizer_copies: int = 0


@dataclass
class Builder:
    """Collects nodes and edges.

    Forward nodes have the ids 0, 1, … in the order in which they run, the model's inputs first. `digits` is how many
    significant digits the times deserve.
    """

    devices: Devices
    digits: int
    nodes: list[Json] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)

    def node(self, name: str, time: Pass, memory: int, output_bytes: int, **more: object) -> int:
        """Adds a node and gives its id."""
        node: Json = {
            "id": len(self.nodes),
            "name": name,
            "accelerator_times": [significant(time.accelerator.median, self.digits)],
            "memory": memory,
            "output_bytes": output_bytes,
            "transfer_time": significant(1e3 * output_bytes / self.devices.bandwidth, self.digits),
        }
        if time.cpu is not None:
            node["cpu_time"] = significant(time.cpu.median, self.digits)
        if time.accelerator.spread > 0.0:
            node["time_spread"] = significant(time.accelerator.spread, 2)
        self.nodes.append(node | {key: value for key, value in more.items() if value})
        return node["id"]


def build(
    trace: Trace, groups: Sequence[Group], costs: Sequence[Cost], devices: Devices, digits: int, tied: str
) -> Json:
    """Nodes, edges and platform; the caller adds the metadata.

    `tied` tells what becomes of a parameter that several nodes read: each holds a copy (`copy`), as pipelined training
    keeps one on every stage that needs it, or they share a device and the first one holds it (`colocate`).
    """
    builder = Builder(devices, digits)
    producer = _add_inputs(builder, trace, groups, with_cpu=any(cost.forward.cpu for cost in costs))
    color = _colors(groups, tied)
    held: set[str] = set()
    for index, (entry, cost) in enumerate(zip(groups, costs, strict=True)):
        state = [tensor for tensor in entry.state if tied == "copy" or tensor.name not in held]
        held.update(tensor.name for tensor in state)
        parameters = sum(tensor.bytes for tensor in state if tensor.is_parameter)
        memory = sum(tensor.bytes for tensor in state) + cost.footprint.held
        more = {"parameter_bytes": parameters, "layer": entry.layer + 1}
        node = builder.node(entry.name, cost.forward, memory, cost.output_bytes, **more)
        if color[index] is not None:
            builder.nodes[node]["color_class"] = node - index + color[index]
        builder.edges += [(source, node) for source in dict.fromkeys(producer[value] for value in entry.inputs)]
        producer.update(dict.fromkeys(entry.outputs, node))
    _add_backward(builder, costs, first=len(builder.nodes) - len(costs))
    platform = _platform(devices, working_set([cost.footprint for cost in costs]))
    return {"platform": platform, "nodes": builder.nodes, "edges": builder.edges}


def text(instance: Json, metadata: Json) -> str:
    """The instance's file, one node or edge a line."""
    fields = {"schema": "dagsplit-instance/1", "units": {"time": "ms", "memory": "bytes"}, "metadata": metadata}
    fields["platform"] = instance["platform"]
    lines = [f"  {json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in fields.items()]
    edges = [{"source": source, "target": target} for source, target in instance["edges"]]
    for name, entries in (("nodes", instance["nodes"]), ("edges", edges)):
        rows = ",\n    ".join(json.dumps(entry, allow_nan=False) for entry in entries)
        lines.append(f'  "{name}": [\n    {rows}\n  ]')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write(instance: Json, metadata: Json, path: Path | None) -> None:
    """Writes the instance's file to `path` or standard output."""
    if path is None:
        print(text(instance, metadata), end="")
    else:
        path.write_text(text(instance, metadata))


def _add_inputs(builder: Builder, trace: Trace, groups: Sequence[Group], with_cpu: bool) -> dict[fx.Node, int]:
    """The model's inputs as nodes without cost, as far as they are read; gives the id of each."""
    read = {value for entry in groups for value in entry.inputs}
    free = Pass(Time(0.0), Time(0.0) if with_cpu else None)
    sizes = {node: tensor_bytes(value) for node, value in zip(trace.inputs, trace.example, strict=True)}
    return {node: builder.node(f"/{node.name}", free, size, size) for node, size in sizes.items() if node in read}


def _colors(groups: Sequence[Group], tied: str) -> list[int | None]:
    """The colour class of each group that has to share a device, named by the first group in it."""
    leader = list(range(len(groups)))

    def find(index: int) -> int:
        while leader[index] != index:
            index = leader[index]
        return index

    def join(a: int, b: int) -> None:
        a, b = sorted((find(a), find(b)))
        leader[b] = a

    home = {node: index for index, entry in enumerate(groups) for node in entry.outputs}
    readers: dict[str, int] = {}
    for index, entry in enumerate(groups):
        for value in entry.inputs:
            # A tuple is no tensor and cannot be sent; its pieces can.
            if value in home and isinstance(value.meta["val"], (tuple, list)):
                join(home[value], index)
        if tied == "colocate":
            for tensor in (tensor for tensor in entry.state if tensor.is_parameter):
                join(readers.setdefault(tensor.name, index), index)
    roots = [find(index) for index in range(len(groups))]
    members = Counter(roots)
    return [root if members[root] > 1 else None for root in roots]


def _add_backward(builder: Builder, costs: Sequence[Cost], first: int) -> None:
    """Mirrors the forward pass, as `dagsplit generate --training` does (`src/generate/training.rs`).

    A backward node gives the gradients of its node's inputs, and holds those of its parameters with the optimizer's
    state; other gradients live for a moment, and are part of the working set.
    """
    nodes, forward_edges = builder.nodes, list(builder.edges)
    twin: dict[int, int] = {}
    for offset in reversed(range(len(costs))):
        backward = costs[offset].backward
        if backward is None:
            continue
        forward = nodes[first + offset]
        forward.setdefault("color_class", forward["id"])
        color, parameters = forward["color_class"], forward.get("parameter_bytes", 0)
        inputs = [source for source, target in forward_edges if target == forward["id"] and source >= first]
        gradients = sum(nodes[u]["output_bytes"] for u in inputs if costs[u - first].backward is not None)
        kept = (1 + builder.devices.optimizer_copies) * parameters
        more = {"color_class": color, "layer": forward.get("layer"), "backward": True}
        name = f"{forward['name']}/gradient"
        twin[forward["id"]] = node = builder.node(name, backward, kept, gradients, **more)
        nodes[node]["color_class"] = color
    builder.edges += [(twin[v], twin[u]) for u, v in forward_edges if u in twin and v in twin]
    builder.edges += list(twin.items())


def _platform(devices: Devices, working: int) -> Json:
    accelerator: Json = {"name": devices.name, "count": devices.count}
    if devices.memory is not None:
        # Nodes run one after another, so that each device needs room for one working set beside what its nodes hold.
        if working >= devices.memory:
            raise ProfileError(
                f"one node works with {working} bytes, more than the {devices.memory} of a device; "
                "make the batch smaller or `--memory` larger"
            )
        accelerator["memory"] = devices.memory - working
    bandwidth = significant(devices.bandwidth / 1e3, 4)
    return {"accelerators": [accelerator], "cpus": devices.cpus, "bandwidth": bandwidth}
