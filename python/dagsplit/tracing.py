"""Workloads of live PyTorch models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from .instances import Instance

_CURE = "it needs PyTorch: pip install '.[torch]' in the checkout of dagsplit"


def trace(
    model: Any,
    inputs: Any,
    *,
    name: str | None = None,
    training: bool = False,
    depth: int | None = None,
    atomic: Sequence[str] = (),
    tied: Literal["copy", "colocate"] = "copy",
    optimizer: Literal["none", "sgd", "momentum", "adam"] = "none",
    roofline: Literal["v100", "a100", "h100"] | None = None,
    cpu_times: bool = False,
    warmup: int = 2,
    repeats: int = 7,
    accelerators: int = 6,
    memory: float | None = None,
    cpus: int | None = None,
    bandwidth: float | None = None,
    progress: bool = False,
) -> Instance:
    """The workload of a live PyTorch model: `torch.export` traces it, and each operator is measured or modelled.

    `model` is a `torch.nn.Module`, `inputs` a tensor, a tuple of arguments or a dictionary of them by name, with one
    microbatch. The model is left as it is, on its device and in its mode. What nodes mean, and which models cannot be
    traced, `docs/your-model.md` tells; times are in milliseconds, sizes in bytes.

    Nodes are operators; with `depth` they are the modules so many levels below the root, with `atomic` those whose name
    or class matches a pattern, such as `"layers.*"`. `training` adds the backward pass, whose `optimizer` keeps its
    state. Parameters that several nodes read are copied, or keep these nodes together (`tied="colocate"`).

    Times are measured where the model is: `repeats` times after `warmup` runs, of which the median counts. `roofline`
    models an accelerator in place of that. `cpu_times` adds times on a CPU. `accelerators`, `memory` (bytes of each;
    that of the device where it is left out), `cpus` and `bandwidth` (bytes per second of a link; measured where it is
    left out) are what the workload is to be split over.

    Raises:
        ImportError: PyTorch is not installed; it comes with `pip install '.[torch]'`.
        ProfileError: the model cannot be traced, with its line and a cure, or an option makes no sense; of
            `dagsplit_profile`.

    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))
    >>> workload = trace(model, torch.randn(4, 8), roofline="a100", accelerators=2)
    >>> [node.name for node in workload.nodes]
    ['/input', '0/linear', '1/relu', '2/linear_1']
    """
    made: str = _instance_of()(
        model,
        inputs,
        bar=_bar(progress),
        name=name,
        training=training,
        depth=depth,
        atomic=atomic,
        tied=tied,
        optimizer=optimizer,
        roofline=roofline,
        cpu_times=cpu_times,
        warmup=warmup,
        repeats=repeats,
        accelerators=accelerators,
        memory=memory,
        cpus=cpus,
        bandwidth=bandwidth,
    )
    return Instance.from_json(made)


def main() -> int:
    """The command `dagsplit-profile`."""
    try:
        from dagsplit_profile import cli
    except ModuleNotFoundError as error:
        raise SystemExit(f"error: {_missing(error)}") from None
    return int(cli.main())


def _instance_of() -> Any:
    try:
        from dagsplit_profile.live import instance_of
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"dagsplit.trace: {_missing(error)}", name=error.name) from None
    return instance_of


def _missing(error: ModuleNotFoundError) -> str:
    """What to install where PyTorch or a library beside it is missing. Another error is raised again."""
    if error.name not in ("torch", "numpy", "tqdm"):
        raise error
    return _CURE


def _bar(progress: bool) -> Any:
    if not progress:
        return None
    from tqdm.auto import tqdm

    return tqdm
