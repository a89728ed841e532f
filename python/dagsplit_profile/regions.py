"""Parts of a traced graph that stand under `torch.no_grad` or `torch.autocast`, put in line."""

from __future__ import annotations

import operator

import torch
from torch import fx
from torch._higher_order_ops.wrap import wrap_with_autocast as AUTOCAST
from torch._higher_order_ops.wrap import wrap_with_set_grad_enabled as NO_GRAD

from .refusals import line_of, refuse


def inline_regions(module: fx.GraphModule) -> None:
    """Replaces every call of a region by its operators; what runs without gradients reads detached values."""
    graph = module.graph
    while regions := [
        node for node in graph.nodes if node.op == "call_function" and node.target in (NO_GRAD, AUTOCAST)
    ]:
        for node in regions:
            _inline(module, node)
    for node in list(graph.nodes):
        if node.op == "get_attr" and not node.users:
            graph.erase_node(node)


def _inline(module: fx.GraphModule, node: fx.Node) -> None:
    position = 1 if node.target is NO_GRAD else 4
    if node.target is AUTOCAST and node.args[2]:
        raise refuse(
            "torch.autocast inside the model changes types as it runs",
            _first_line(module, node),
            "take it out and give `--dtype bf16` or `--dtype fp16`",
        )
    region = module.get_submodule(node.args[position].target)
    graph, arguments = module.graph, list(node.args[position + 1 :])
    with graph.inserting_before(node):
        if node.target is NO_GRAD and not node.args[0]:
            arguments = [_detached(graph, value) for value in arguments]
        placeholders = [entry for entry in region.graph.nodes if entry.op == "placeholder"]
        copies = dict(zip(placeholders, arguments, strict=True))
        for entry in region.graph.nodes:
            if entry.op == "get_attr":
                # A region within this one: its name must not be another's.
                name = f"{node.args[position].target}_{entry.target}"
                module.add_submodule(name, region.get_submodule(entry.target))
                copies[entry] = graph.get_attr(name)
            elif entry.op == "call_function":
                copies[entry] = graph.node_copy(entry, copies.__getitem__)
    results = next(iter(reversed(region.graph.nodes))).args[0]
    for user in list(node.users):
        assert user.target is operator.getitem
        user.replace_all_uses_with(copies[results[user.args[1]]])
        graph.erase_node(user)
    graph.erase_node(node)


def _detached(graph: fx.Graph, value: object) -> object:
    if not isinstance(value, fx.Node) or not isinstance(value.meta.get("val"), torch.Tensor):
        return value
    if not value.meta["val"].is_floating_point():
        return value
    detached = graph.call_function(torch.ops.aten.detach.default, (value,))
    detached.meta = dict(value.meta)
    return detached


def _first_line(module: fx.GraphModule, node: fx.Node) -> str:
    region = module.get_submodule(next(entry.target for entry in node.args if isinstance(entry, fx.Node)))
    return next((line for line in map(line_of, region.graph.nodes) if line), "")
