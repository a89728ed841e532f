"""From a module to a program of `torch.export`, without its data.

Whatever device the model is on, it is traced with tensors that have no data and say that they are on the CPU, so that
one model has one graph: measured, modelled, or split, and on every device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field
from io import StringIO

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils import _pytree as pytree

from .inplace import remove_inplace
from .refusals import untraceable
from .regions import inline_regions

CPU = torch.device("cpu")


@dataclass
class Fakes:
    """Tensors without data in place of others; the same one wherever the same tensor is met."""

    mode: FakeTensorMode = field(
        default_factory=lambda: FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    )
    original: dict[int, torch.Tensor] = field(default_factory=dict)
    _made: dict[int, torch.Tensor] = field(default_factory=dict)

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The stand-in of a tensor: on the CPU, with its shape, layout and type."""
        if id(tensor) not in self._made:
            with self.mode:
                fake = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device=CPU)
            if isinstance(tensor, torch.nn.Parameter):
                fake = torch.nn.Parameter(fake, tensor.requires_grad)
            else:
                fake.requires_grad_(tensor.requires_grad)
            self._made[id(tensor)], self.original[id(fake)] = fake, tensor
        return self._made[id(tensor)]

    def of_all(self, value: object) -> object:
        """The same for all tensors in a tuple, list or dictionary."""
        return pytree.tree_map_only(torch.Tensor, self.of, value)


@dataclass
class Program:
    """What `torch.export` made of a model, and the tensors of the model that stood behind those it saw."""

    exported: torch.export.ExportedProgram
    fakes: Fakes

    def tensor(self, target: str) -> object:
        """A parameter, buffer or constant by its name, as the model holds it."""
        held = self.exported.state_dict.get(target)
        held = self.exported.constants.get(target) if held is None else held
        return self.fakes.original.get(id(held), held)


def export(model: torch.nn.Module, args: Sequence[object], kwargs: dict[str, object] | None) -> Program:
    """Exports `model`, with regions inlined and in-place operators removed."""
    fakes = Fakes()
    inputs = fakes.of_all((tuple(args), dict(kwargs or {})))
    with _without_data(model, fakes):
        exported = _exported(model, *inputs)
        if not remove_inplace(exported.graph, _state_nodes(exported)):
            # Values that change through views of them need PyTorch's functionalization, which takes operators apart.
            exported = _exported(model, *inputs).run_decompositions({})
    return Program(exported, fakes)


def _exported(model: torch.nn.Module, args: tuple, kwargs: dict[str, object]) -> torch.export.ExportedProgram:
    try:
        # On stderr, torch.export prints the graph as far as it came, which would hide the line in question.
        with torch.set_grad_enabled(model.training), redirect_stderr(StringIO()):
            exported = torch.export.export(model, args, kwargs, strict=False)
    except Exception as error:
        raise untraceable(model, error) from error
    inline_regions(exported.graph_module)
    return exported


def _state_nodes(exported: torch.export.ExportedProgram) -> set[torch.fx.Node]:
    given = set(exported.graph_signature.user_inputs)
    return {node for node in exported.graph.nodes if node.op == "placeholder" and node.name not in given}


@contextmanager
def _without_data(model: torch.nn.Module, fakes: Fakes) -> Iterator[None]:
    """The model with stand-ins for all tensors that its modules hold, registered or not."""
    places = [held for module in model.modules() for held in (module._parameters, module._buffers, vars(module))]
    before = [(held, name, value) for held in places for name, value in held.items() if isinstance(value, torch.Tensor)]
    try:
        for held, name, value in before:
            held[name] = fakes.of(value)
        yield
    finally:
        for held, name, value in before:
            held[name] = value
