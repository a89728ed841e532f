"""Profiles of models that are there already: the steps of `dagsplit.trace`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch.utils import _pytree as pytree

from .errors import ProfileError
from .grouping import Granularity
from .hardware import ACCELERATORS
from .instance import text
from .models import Settings
from .profile import OPTIMIZERS, Bar, Job, run


def instance_of(
    model: torch.nn.Module,
    inputs: object,
    *,
    bar: Bar | None = None,
    name: str | None = None,
    depth: int | None = None,
    atomic: str | Sequence[str] = (),
    roofline: str | None = None,
    **options: object,
) -> str:
    """The file of the instance of a model that is there already, measured or modelled where it is.

    `options` are those of `Job`.
    """
    if not isinstance(model, torch.nn.Module):
        raise ProfileError(f"{type(model).__name__} is no torch.nn.Module; give a module and its inputs")
    _check(options, depth, roofline)
    inputs = inputs if isinstance(inputs, (tuple, dict)) else (inputs,)
    tensors = [value for value in pytree.tree_leaves(inputs) if isinstance(value, torch.Tensor)]
    held = [*model.parameters(), *model.buffers(), *tensors]
    floating = (tensor.dtype for tensor in held if tensor.is_floating_point())
    batch = next((len(tensor) for tensor in tensors if tensor.dim()), 1)
    job = Job(
        model=name or type(model).__name__,
        settings=Settings(batch, next(floating, torch.float32)),
        granularity=Granularity(depth, (atomic,) if isinstance(atomic, str) else tuple(atomic)),
        device=held[0].device if held else torch.device("cpu"),
        roofline=ACCELERATORS[roofline] if roofline else None,
        live=(model, inputs),
        **options,
    )
    made = run(job, bar)
    return text(made.instance, {"name": job.model, **made.metadata, "source": "dagsplit.trace"})


def _check(options: Mapping[str, object], depth: int | None, roofline: str | None) -> None:
    """Refuses what the command line would not read, all of it at once."""
    least = {"depth": 1, "repeats": 1, "accelerators": 1, "warmup": 0, "cpus": 0, "memory": 1, "bandwidth": 1}
    given = {**options, "depth": depth}
    wrong = [
        f"{name} is {given[name]}; give at least {low}"
        for name, low in least.items()
        if given[name] is not None and not given[name] >= low
    ]
    known = {"roofline": (roofline, [None, *ACCELERATORS]), "tied": (options["tied"], ["copy", "colocate"])}
    known["optimizer"] = (options["optimizer"], list(OPTIMIZERS))
    for name, (value, values) in known.items():
        if value not in values:
            wrong.append(f"{name} is {value!r}; name one of {', '.join(each for each in values if each)}")
    if wrong:
        raise ProfileError("\n".join(wrong))
