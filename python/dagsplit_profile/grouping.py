"""Which operators make one node of an instance: each its own, or those of one module together."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from torch import fx

from .trace import State, Trace, module_path, qualified_name


@dataclass(frozen=True)
class Granularity:
    """How fine the nodes are.

    Operators, where neither field is set. Else each call of a module becomes one node if its name, or that of its
    class, matches one of the patterns `atomic`, or if it lies `depth` levels below the root; operators outside such
    modules stay as they are.
    """

    depth: int | None = None
    atomic: Sequence[str] = ()

    def call_of(self, node: fx.Node) -> str | None:
        """The call of an atomic module that `node` belongs to, as the call's key."""
        path = module_path(node)
        for level, (key, name) in enumerate(path, start=1):
            class_name = _class_name(node, key)
            if any(fnmatchcase(name, pattern) or fnmatchcase(class_name, pattern) for pattern in self.atomic):
                return key
            if level == self.depth:
                return key
        return None


@dataclass
class Group:
    """Operators that form one node: those of one module call, or a single one with the only piece read of its tuple."""

    name: str
    nodes: list[fx.Node]
    layer: int
    inputs: list[fx.Node] = field(default_factory=list)
    """Values from elsewhere that it reads: outputs of other groups, and inputs of the model."""
    outputs: list[fx.Node] = field(default_factory=list)
    """Values that others, or the caller, read."""
    state: list[State] = field(default_factory=list)
    """Parameters and buffers that it reads, each once."""


def group(trace: Trace, granularity: Granularity | None = None) -> list[Group]:
    """The nodes of the instance in the order in which they run."""
    granularity = granularity or Granularity()
    home: dict[fx.Node, Group] = {}
    groups: list[Group] = []
    layers: dict[str, int] = {}
    open_call: str | None = None
    alive = set(trace.operators)
    for node in trace.operators:
        call = granularity.call_of(node)
        if call is not None and call == open_call:
            chosen = groups[-1]
        elif call is None and _is_only_piece(node, alive):
            chosen = home[node.args[0]]
        else:
            name = qualified_name(node) if call is None else _call_name(node, call)
            chosen = Group(name, [], layers.setdefault(_block(node), len(layers)))
            groups.append(chosen)
        open_call = call
        chosen.nodes.append(node)
        home[node] = chosen
    _make_names_unique(groups)
    for entry in groups:
        _connect(trace, entry, home)
    return groups


def _is_only_piece(node: fx.Node, alive: set[fx.Node]) -> bool:
    """Whether `node` takes the only piece that is read of an operator's tuple."""
    return node.target is operator.getitem and sum(user in alive for user in node.args[0].users) == 1


def _connect(trace: Trace, entry: Group, home: dict[fx.Node, Group]) -> None:
    inside = set(entry.nodes)
    results = set(trace.outputs)
    inputs: dict[fx.Node, None] = {}
    state: dict[str, State] = {}
    for node in entry.nodes:
        for source in node.all_input_nodes:
            if source in trace.state:
                state.setdefault(trace.state[source].name, trace.state[source])
            elif source not in inside:
                inputs.setdefault(source)
        if node in results or any(user in home and user not in inside for user in node.users):
            entry.outputs.append(node)
    entry.inputs, entry.state = list(inputs), list(state.values())


def _call_name(node: fx.Node, call: str) -> str:
    return next(name for key, name in module_path(node) if key == call)


def _class_name(node: fx.Node, key: str) -> str:
    _, class_name = (node.meta.get("nn_module_stack") or {}).get(key, ("", ""))
    return str(class_name).rsplit(".", 1)[-1]


def _block(node: fx.Node) -> str:
    """The repeated block that a node belongs to, such as `encoder.layer.3`, else its module below the root."""
    path = module_path(node)
    if not path:
        return ""
    names = path[-1][1].split(".")
    numbered = next((length for length, name in enumerate(names, start=1) if name.isdecimal()), 1)
    return ".".join(names[:numbered])


def _make_names_unique(groups: list[Group]) -> None:
    """Numbers the second and later calls of a module: `relu`, `relu@1`."""
    calls: dict[str, int] = {}
    for entry in groups:
        count = calls.get(entry.name, 0)
        calls[entry.name] = count + 1
        if count:
            entry.name = f"{entry.name}@{count}"
