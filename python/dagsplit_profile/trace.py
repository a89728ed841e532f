"""From a module to the graph of its operators, by `torch.export`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export.graph_signature import ConstantArgument, InputKind, InputSpec, OutputKind
from torch.fx.node import map_aggregate
from torch.utils import _pytree as pytree

from . import refusals
from .errors import ProfileError
from .export import CPU, Fakes, Program, export


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
    other placeholders stand for, `outputs` are the nodes whose values the model returns,
    and `device` is where it all runs; `kernels` are functions to call in place of some operators.
    """

    graph: fx.Graph
    inputs: list[fx.Node]
    example: list[object]
    state: dict[fx.Node, State]
    outputs: list[fx.Node]
    operators: list[fx.Node]
    device: torch.device
    kernels: Mapping[object, Callable] = field(default_factory=dict)

    def producers(self, node: fx.Node) -> list[fx.Node]:
        """The operators and inputs whose values `node` reads, each once, the model's own tensors left out."""
        return [source for source in node.all_input_nodes if source not in self.state]


def trace(model: torch.nn.Module, args: Sequence[object], kwargs: dict[str, object] | None = None) -> Trace:
    """Traces `model` on example inputs without computing anything; whatever device they are on, the graph is the same.

    In-place operators become ordinary ones, so that a value never changes once it was made, and what no output depends
    on is left out.
    """
    example = pytree.tree_leaves((tuple(args), dict(kwargs or {})))
    example = [value for value in example if value is not None]
    names = {id(held): name for name, held in [*model.named_parameters(), *model.named_buffers()]}
    return _read(export(model, args, kwargs), example, names, _device(model, example))


def _device(model: torch.nn.Module, example: list[object]) -> torch.device:
    """Where the model is."""
    tensors = [*model.parameters(), *model.buffers(), *(value for value in example if isinstance(value, torch.Tensor))]
    return tensors[0].device if tensors else CPU


def without_data(trace: Trace, kernels: Mapping[object, Callable] | None = None) -> tuple[Trace, FakeTensorMode]:
    """The trace with tensors that have no data, and the mode in which its operators then run without computing."""
    fakes = Fakes()
    state = {node: replace(held, tensor=fakes.of(held.tensor)) for node, held in trace.state.items()}
    example = fakes.of_all(trace.example)
    return replace(trace, state=state, example=example, device=CPU, kernels=kernels or {}), fakes.mode


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


def _read(program: Program, example: list[object], names: dict[int, str], device: torch.device) -> Trace:
    graph, signature = program.exported.graph, program.exported.graph_signature
    specs = {spec.arg.name: spec for spec in signature.input_specs}
    inputs, state = [], {}
    for node in (node for node in graph.nodes if node.op == "placeholder"):
        spec = specs[node.name]
        if spec.kind != InputKind.USER_INPUT:
            state[node] = _held(program, spec, names, device)
        elif not _is_none(spec):
            # An argument that is left out has a placeholder, too.
            inputs.append(node)
    output = next(iter(reversed(graph.nodes)))
    named = zip(output.args[0], signature.output_specs, strict=True)
    # The other outputs are statistics that a training step updates.
    outputs = [value for value, spec in named if spec.kind == OutputKind.USER_OUTPUT and isinstance(value, fx.Node)]
    return Trace(graph, inputs, example, state, outputs, _alive(graph, outputs), device)


def _is_none(spec: InputSpec) -> bool:
    return isinstance(spec.arg, ConstantArgument) and spec.arg.value is None


def _held(program: Program, spec: InputSpec, names: dict[int, str], device: torch.device) -> State:
    tensor = program.tensor(spec.target)
    if not isinstance(tensor, torch.Tensor):
        raise ProfileError(f"the model holds {spec.target}, which is no tensor and so cannot be moved to a device")
    if spec.kind == InputKind.CONSTANT_TENSOR:
        # One that was made while tracing is on the CPU.
        tensor = tensor.to(device)
    # Of a tied parameter's names, the model's own first one.
    return State(names.get(id(tensor), spec.target), tensor, spec.kind == InputKind.PARAMETER)


def _alive(graph: fx.Graph, outputs: list[fx.Node]) -> list[fx.Node]:
    """The operators that an output depends on."""
    alive: set[fx.Node] = set()
    pending = list(outputs)
    while pending:
        node = pending.pop()
        if node not in alive:
            alive.add(node)
            pending.extend(node.all_input_nodes)
    refusals.check(graph, alive)
    operators = [node for node in graph.nodes if node.op == "call_function" and node in alive]
    if not operators:
        raise ProfileError("the model's outputs depend on no operator, so there is nothing to split")
    return operators


def subgraph(
    trace: Trace, nodes: Iterable[fx.Node], inputs: Sequence[fx.Node], outputs: Sequence[fx.Node]
) -> fx.GraphModule:
    """A module that computes `outputs` of the operators `nodes` from the values of `inputs`.

    The parameters and buffers that the operators read are those of its submodule `model`, under their own names and
    shared with the traced model. It takes and returns one tensor for each entry; a single output is returned bare.
    """
    root = torch.nn.Module()
    graph = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {node: graph.placeholder(node.name) for node in inputs}

    def placed(value: object) -> object:
        if isinstance(value, torch.device):
            return trace.device
        if isinstance(value, fx.Node) and value not in copies:
            copies[value] = _attribute(graph, root, trace.state[value])
        return copies[value] if isinstance(value, fx.Node) else value

    for node in nodes:
        args, kwargs = map_aggregate(node.args, placed), map_aggregate(node.kwargs, placed)
        copies[node] = graph.call_function(trace.kernels.get(node.target, node.target), args, kwargs)
    results = [placed(node) for node in outputs]
    graph.output(results[0] if len(results) == 1 else tuple(results))
    return fx.GraphModule(root, graph)


def _attribute(graph: fx.Graph, root: torch.nn.Module, state: State) -> fx.Node:
    """Reads a tensor of the model, which has its own name below `model`."""
    *path, name = f"model.{state.name}".split(".")
    holder = root
    for part in path:
        if not hasattr(holder, part):
            holder.add_module(part, torch.nn.Module())
        holder = getattr(holder, part)
    if state.is_parameter:
        holder.register_parameter(name, state.tensor)
    else:
        holder.register_buffer(name, state.tensor)
    return graph.get_attr(f"model.{state.name}")
