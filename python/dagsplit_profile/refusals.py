"""What is said of a model that cannot be traced: why, at which line of its code, and what to do."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import fx

from .errors import ProfileError

ON_VALUES = (
    "compute both sides and choose with torch.where, make the number a constant of the model, or leave the part out"
)
CACHE = "build the model with use_cache=False"
# What an exception says, what it means, and the cure; the first that matches counts.
CAUSES = [
    (
        r"DynamicCache|StaticCache|EncoderDecoderCache",
        "it returns a cache of keys and values, which is no tensor",
        CACHE,
    ),
    (
        r"in output, which is not a known type",
        "it returns an object that is no tensor, tuple, list or dictionary",
        "wrap it in a module that returns its tensors",
    ),
    (
        r"Unsupported input type|not a known type",
        "an input is no tensor, number, tuple, list or dictionary",
        "wrap it in a module that takes tensors",
    ),
    (
        r"[Dd]ata.?[Dd]ependent|unbacked|\.item\(\)|_local_scalar_dense",
        "its control flow or shapes depend on the values of tensors",
        ON_VALUES,
    ),
    (
        r"FakeTensor|numpy|fake impl|data pointer|meta kernel",
        "it reads the data of tensors outside PyTorch's operators",
        "write that part with operators of PyTorch, or register its shapes with torch.library.register_fake",
    ),
]


def refuse(cause: str, line: str, cure: str, says: str = "") -> ProfileError:
    """The error: cause, line of the model, cure, and what PyTorch says."""
    parts = [cause, f"  at {line}" if line else "", f"  to cure it: {cure}", f"  PyTorch says: {says}" if says else ""]
    return ProfileError("\n".join(part for part in parts if part))


def untraceable(model: torch.nn.Module, error: Exception) -> ProfileError:
    """The error for what `torch.export` raised."""
    text = f"{type(error).__name__}: {error}"
    says = text.strip().splitlines()[0][:200]
    start = f"{type(model).__name__} cannot be traced"
    for pattern, cause, cure in CAUSES:
        if re.search(pattern, text):
            return refuse(f"{start}: {cause}", _raised_at(error), cure, says)
    cure = "call the model with these inputs by itself, in the same mode; if that works, TORCH_LOGS=+export tells more"
    return refuse(f"{start}: it raises an error on its example inputs", _raised_at(error), cure, says)


def check(graph: fx.Graph, alive: set[fx.Node]) -> None:
    """Refuses what torch.export takes and a split cannot: shapes that depend on values, and control flow."""
    for node in graph.nodes:
        if node not in alive:
            continue
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            raise refuse(
                f"{node.target} chooses its operators when the model runs, so that they have no fixed cost",
                line_of(node),
                "compute both sides and choose with torch.where, or leave the part out",
            )
        if _depends_on_values(node.meta.get("val")):
            raise refuse(
                f"a shape or number depends on the values of tensors ({node.target})",
                line_of(node),
                "keep the shape, as torch.where(mask, x, 0) does in place of x[mask], and a number as a tensor, "
                "without .item()",
            )


def _depends_on_values(value: object) -> bool:
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return True
    if isinstance(value, torch.Tensor):
        return any(isinstance(size, torch.SymInt) for size in value.shape)
    return isinstance(value, (tuple, list)) and any(map(_depends_on_values, value))


def line_of(node: fx.Node) -> str:
    """The innermost line of the model's code that made an operator: file, line and text."""
    found = re.findall(r'File "([^"]+)", line (\d+), in [^\n]*\n\s*([^\n]*)', node.meta.get("stack_trace") or "")
    return _shown(found)


def _raised_at(error: BaseException) -> str:
    """The innermost line of the model's code in which an error arose."""
    frames = traceback.extract_tb(error.__traceback__)
    return _shown((frame.filename, frame.lineno, frame.line) for frame in frames)


def _shown(frames: Iterable[tuple[str, object, str | None]]) -> str:
    libraries = [Path(file).parent for file in (torch.__file__, __file__)]
    frames = [frame for frame in frames if Path(frame[0]).is_file()]
    own = [frame for frame in frames if not any(Path(frame[0]).is_relative_to(at) for at in libraries)]
    return "{}:{}: {}".format(*own[-1]) if own else ""
