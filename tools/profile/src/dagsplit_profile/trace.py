"""From a module to the graph of its operators, by `torch.export`."""

from __future__ import annotations

import operator
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import fx
from torch.export.graph_signature import ConstantArgument, InputKind, InputSpec, OutputKind

from .errors import ProfileError
from .inplace import remove_inplace


@dataclass(frozen=True)
class State:
    """A tensor that the model holds."""

    name: str
    tensor: torch.Tensor
    is_parameter: bool

    @property
    def bytes(self) -> int:
        """Its size."""
        return tensor_bytes(self.tensor)


@dataclass
class Trace:
    """The operators of one forward pass, in the order in which they run.

    Every operator is a node of `graph`; `inputs` are the placeholders of what the caller gives, `state` tells what the
    other placeholders stand for, and `outputs` are the nodes whose values the model returns.
    """

    graph: fx.Graph
    inputs: list[fx.Node]
    example: list[object]
    state: dict[fx.Node, State]
    outputs: list[fx.Node]
    operators: list[fx.Node]

    def producers(self, node: fx.Node) -> list[fx.Node]:
        """The operators and inputs whose values `node` reads, each once, the model's own tensors left out."""
        return [source for source in node.all_input_nodes if source not in self.state]


def trace(model: torch.nn.Module, args: Sequence[object], kwargs: dict[str, object] | None = None) -> Trace:
    """Traces `model` on example inputs; tensors on the `meta` device do, and then nothing is computed.

    In-place operators become ordinary ones, so that a value never changes once it was made, and what no output depends
    on is left out.
    """
    program = _exported(model, args, kwargs)
    if not remove_inplace(program.graph, _state_nodes(program)):
        # Values that change through views of them need the full functionalization, which also takes operators apart.
        program = _exported(model, args, kwargs).run_decompositions({})
    example = torch.utils._pytree.tree_leaves((tuple(args), dict(kwargs or {})))
    return _read(program, [value for value in example if value is not None])


def _exported(
    model: torch.nn.Module, args: Sequence[object], kwargs: dict[str, object] | None
) -> torch.export.ExportedProgram:
    try:
        with torch.set_grad_enabled(model.training):
            return torch.export.export(model, tuple(args), dict(kwargs or {}), strict=False)
    except Exception as error:
        raise ProfileError(_untraceable(model, error)) from error


def _state_nodes(program: torch.export.ExportedProgram) -> set[fx.Node]:
    held = {spec.arg.name for spec in program.graph_signature.input_specs if spec.kind != InputKind.USER_INPUT}
    return {node for node in program.graph.nodes if node.op == "placeholder" and node.name in held}


def module_path(node: fx.Node) -> list[tuple[str, str]]:
    """The module calls in which `node` runs, from the outermost in: a key of the call, and the module's name.

    The root module is left out.
    """
    stack = node.meta.get("nn_module_stack") or {}
    calls = [(key, name) for key, (name, _) in stack.items() if name]
    if not calls:
        return []
    # Functionalization keeps the innermost module alone; the names tell those around it.
    key, innermost = calls[-1]
    known = {name: key for key, name in calls}
    parts = innermost.split(".")
    prefixes = [".".join(parts[:length]) for length in range(1, len(parts))]
    return [(known.get(prefix, prefix), prefix) for prefix in prefixes] + [(key, innermost)]


def qualified_name(node: fx.Node) -> str:
    """The name of an operator in an instance: its module's, a slash, and its own."""
    path = module_path(node)
    return f"{path[-1][1] if path else ''}/{node.name}"


def tensor_bytes(value: object) -> int:
    """Bytes of a tensor, or of all tensors in a tuple or list."""
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    if isinstance(value, (tuple, list)):
        return sum(tensor_bytes(entry) for entry in value)
    return 0


def is_view(node: fx.Node) -> bool:
    """Whether the operator always gives other shapes of the data that it reads."""
    return node.target is operator.getitem or _aliases_by_schema(node.target)


def _aliases_by_schema(target: object) -> bool:
    schema = getattr(target, "_schema", None)
    if schema is None or "reshape" in schema.name or "contiguous" in schema.name or "flatten" in schema.name:
        return False
    return any(result.alias_info is not None and not result.alias_info.is_write for result in schema.returns)


def _read(program: torch.export.ExportedProgram, example: list[object]) -> Trace:
    signature = program.graph_signature
    specs = {spec.arg.name: spec for spec in signature.input_specs}
    inputs, state = [], {}
    for node in (node for node in program.graph.nodes if node.op == "placeholder"):
        spec = specs[node.name]
        if spec.kind == InputKind.USER_INPUT:
            # An argument that is left out has a placeholder, too.
            if not _is_none(spec):
                inputs.append(node)
        else:
            state[node] = _held(program, spec)
    output = next(iter(reversed(program.graph.nodes)))
    named = zip(output.args[0], signature.output_specs, strict=True)
    # The other outputs are statistics that a training step updates.
    outputs = [value for value, spec in named if spec.kind == OutputKind.USER_OUTPUT and isinstance(value, fx.Node)]
    return Trace(program.graph, inputs, example, state, outputs, _alive(program.graph, outputs))


def _is_none(spec: InputSpec) -> bool:
    return isinstance(spec.arg, ConstantArgument) and spec.arg.value is None


def _held(program: torch.export.ExportedProgram, spec: InputSpec) -> State:
    tensor = program.state_dict.get(spec.target)
    if tensor is None:
        tensor = program.constants.get(spec.target)
    if not isinstance(tensor, torch.Tensor):
        raise ProfileError(f"the model holds {spec.target}, which is no tensor and so cannot be moved to a device")
    return State(spec.target, tensor, spec.kind == InputKind.PARAMETER)


def _alive(graph: fx.Graph, outputs: list[fx.Node]) -> list[fx.Node]:
    """The operators that an output depends on."""
    alive: set[fx.Node] = set()
    pending = list(outputs)
    while pending:
        node = pending.pop()
        if node not in alive:
            alive.add(node)
            pending.extend(node.all_input_nodes)
    unknown = {node.op for node in alive} - {"call_function", "placeholder"}
    if unknown:
        raise ProfileError(
            f"the traced graph has nodes of the kind {', '.join(sorted(unknown))}, such as control flow; "
            "profile the model without the part that has them"
        )
    operators = [node for node in graph.nodes if node.op == "call_function" and node in alive]
    if not operators:
        raise ProfileError("the model's outputs depend on no operator, so there is nothing to split")
    return operators


def _untraceable(model: torch.nn.Module, error: Exception) -> str:
    name = type(model).__name__
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return (
        f"torch.export cannot trace {name}: {type(error).__name__}: {first[:400]}\n"
        f"{_place(error)}"
        "  A traceable model takes and returns tensors (or tuples, lists and dictionaries of them), and neither its\n"
        "  control flow nor its shapes depend on the tensors' values. Replace such branches by torch.where or\n"
        "  torch.cond, or profile the model's parts one by one. TORCH_LOGS=+export tells more."
    )


def _place(error: Exception) -> str:
    """The innermost line of the model's code in which the error arose, as a line of a message."""
    libraries = [Path(file).parent for file in (torch.__file__, __file__)]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_file()]
    frames = [frame for frame in frames if not any(Path(frame.filename).is_relative_to(at) for at in libraries)]
    return f"  at {frames[-1].filename}:{frames[-1].lineno}: {frames[-1].line}\n" if frames else ""


def subgraph(
    trace: Trace, nodes: Iterable[fx.Node], inputs: Sequence[fx.Node], outputs: Sequence[fx.Node]
) -> fx.GraphModule:
    """A module that computes `outputs` of the operators `nodes` from the values of `inputs`.

    The parameters and buffers that the operators read are its own, shared with the traced model. It takes and returns
    one tensor for each entry; a single output is returned bare.
    """
    root = torch.nn.Module()
    graph = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {node: graph.placeholder(node.name) for node in inputs}

    def lookup(node: fx.Node) -> fx.Node:
        if node not in copies:
            copies[node] = _attribute(graph, root, trace.state[node])
        return copies[node]

    for node in nodes:
        copies[node] = graph.node_copy(node, lookup)
    results = [copies[node] for node in outputs]
    graph.output(results[0] if len(results) == 1 else tuple(results))
    return fx.GraphModule(root, graph)


def _attribute(graph: fx.Graph, root: torch.nn.Module, state: State) -> fx.Node:
    name = state.name.replace(".", "_")
    if state.is_parameter:
        root.register_parameter(name, state.tensor)
    else:
        root.register_buffer(name, state.tensor)
    return graph.get_attr(name)
