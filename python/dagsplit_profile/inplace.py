"""Operators that change their input, rewritten as operators that do not."""

from __future__ import annotations

import torch
from torch import fx


def remove_inplace(graph: fx.Graph, state: set[fx.Node]) -> bool:
    """Replaces in-place operators in `graph`; returns false where that takes more than a change of names.

    A changed value is read by its new name from there on, so every value is written once. What views share memory with
    cannot be renamed like this, and neither can a value that another operator has read if the in-place operator has no
    ordinary twin.
    """
    nodes = list(graph.nodes)
    position = {node: index for index, node in enumerate(nodes)}
    for node in nodes:
        changed = _changed(node)
        if changed is None:
            continue
        readers = [user for user in changed.users if position[user] < position[node]]
        if _shares_memory(changed) or any(_shares_memory(reader) for reader in readers):
            return False
        twin = _ordinary(node)
        if twin is None and (readers or changed in state):
            return False
        for user in [user for user in changed.users if position[user] > position[node]]:
            user.replace_input_with(changed, node)
        if twin is not None:
            node.target = twin
    return True


def _schema(node: fx.Node) -> torch.FunctionSchema | None:
    return getattr(node.target, "_schema", None) if node.op == "call_function" else None


def _changed(node: fx.Node) -> fx.Node | None:
    """The value that an in-place operator changes: its first argument."""
    schema = _schema(node)
    if schema is None or not schema.arguments:
        return None
    info = schema.arguments[0].alias_info
    first = node.args[0] if node.args else None
    return first if info is not None and info.is_write and isinstance(first, fx.Node) else None


def _shares_memory(node: fx.Node) -> bool:
    schema = _schema(node)
    return schema is not None and any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)


def _ordinary(node: fx.Node) -> torch._ops.OpOverload | None:
    """The operator of the same arguments that leaves its input alone: `relu` for `relu_`."""
    namespace, name = node.target._schema.name.split("::")
    packet = getattr(getattr(torch.ops, namespace), name.removesuffix("_"), None)
    twin = getattr(packet, node.target._overloadname, None) if packet is not None else None
    if twin is None or not name.endswith("_"):
        return None
    # Their first arguments, the values that change, may differ in name.
    rest = [[argument.name for argument in target._schema.arguments[1:]] for target in (twin, node.target)]
    return twin if rest[0] == rest[1] else None
