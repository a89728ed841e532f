"""Searches: methods of dagsplit, and functions of one's own."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from . import _native
from ._native import InvalidOption, InvalidSplit
from ._words import question
from .instances import Instance
from .progress import Progress, told
from .splits import Split, SplitLike
from .verifying import Violation, _outside, _violation

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Search

Status = Literal["optimal", "feasible", "infeasible", "unknown"]
"""How a search ended: with a proven optimum, with a split, with a proof that there is none, or with nothing."""

_OfOne: TypeAlias = Callable[[Instance], SplitLike | None]
_OfTwo: TypeAlias = Callable[[Instance, Mapping[str, str]], SplitLike | None]

Partitioner: TypeAlias = _OfOne | _OfTwo
"""A function that splits an instance, or returns None where it finds no split. Where it takes a second argument, that
says what is asked: `scope`, `objective`, `cost`, `seed`, `time_limit` and the like, as text, as
`docs/your-partitioner.md` names them."""


@dataclass(frozen=True)
class Run:
    """What a search found. Fields are those of `dagsplit solve --json` (schema `dagsplit-run/1`)."""

    method: str
    """The method, as it was asked for; that of `auto` says which one it was."""
    scope: str
    """Which splits count."""
    objective_kind: str
    """What was minimised."""
    status: Status
    """How the search ended."""
    objective: float | None
    """The verified value: time per sample, latency or sharding cost; None where there is no split."""
    lower_bound: float | None
    """No split of the scope is below it."""
    gap: float | None
    """(objective - lower bound) / objective."""
    seconds: float
    """Wall-clock time of the method."""
    stats: Mapping[str, float]
    """What the method counted."""
    split: Split | None
    """The split, which the verifier has passed; None where there is none."""
    compared: tuple[Mapping[str, Any], ...]
    """Where several methods or scopes ran, what each of them found; the run itself is the best of the first scope."""
    interrupted: bool
    """Whether Ctrl-C ended the search early."""
    record: Mapping[str, Any]
    """The whole record, as `dagsplit solve --json` prints it."""
    _page: _native.Page | None = field(compare=False)

    def html(self) -> str:
        """A page of HTML that loads nothing: the graph to zoom in, devices, transfers, and what was known when.

        Raises:
            InvalidOption: the run was pickled, which leaves out what its page is made of.
        """
        return page_of(self._page)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_page": None}

    def __repr__(self) -> str:
        values = [("objective", self.objective), ("lower_bound", self.lower_bound), ("gap", self.gap)]
        shown = "".join(f", {name}={value:.7g}" for name, value in values if value is not None)
        return f"Run({self.method!r}, {self.status}{shown}, {self.seconds:.3f} s)"

    def _repr_svg_(self) -> str | None:
        return None if self.split is None else self.split.draw()


def solve(
    instance: Instance,
    method: str | Partitioner = "auto",
    *,
    progress: bool | Callable[[Progress], object] = False,
    **search: Unpack[Search],
) -> Run:
    """The best split of a workload, with a proof of how good it is.

    `auto` takes the first exact method that takes the problem, or else the first heuristic; `methods()` lists them.
    Several specs, separated by commas, run one after the other and are compared; parameters stand after a colon
    (`"annealing:patience=50"`). A function runs as a method, and its split is verified. `progress` is a function that
    is told of the search every 0.1 seconds, or True for tqdm.

    The search runs in this process, on a thread without the interpreter's lock. Ctrl-C ends it, and the best split so
    far is verified and returned, with `interrupted` set; a second Ctrl-C raises `KeyboardInterrupt`. What `progress`
    raises ends the search, too, and is raised.

    Raises:
        InvalidOption: an option does not exist or does not fit, or the method does not take the problem.
        InvalidSplit: the split of a function is invalid; the message lists what is wrong.

    >>> layers = [Node(id, accelerator_times=(3.0,), transfer_time=1.0) for id in range(4)]
    >>> chain = Instance(layers, [(0, 1), (1, 2), (2, 3)], Platform.uniform(2))
    >>> run = solve(chain)
    >>> run.status, run.objective, run.split.stage_of[3]
    ('optimal', 7.0, 1)
    >>> solve(chain, lambda instance: [[0], [1, 2, 3]]).objective
    10.0
    """
    if callable(method):
        return _run_of(instance, method, search)
    with told(progress) as watcher:
        asked = question(instance, {"method": method, **search})
        record, devices, page, interrupted = _native.solve(instance._native, asked, watcher)
    return _run(instance, record, devices, page, interrupted)


def page_of(page: _native.Page | None) -> str:
    """The text of a page, where it is still there."""
    if page is None:
        raise InvalidOption("what was pickled has no page; make it before")
    return page.html()


def _run(instance: Instance, text: str, devices: str | None, page: _native.Page, interrupted: bool) -> Run:
    record = json.loads(text)
    return Run(
        method=record["method"],
        scope=record["scope"],
        objective_kind=record["objective_kind"],
        status=record["status"],
        objective=record["objective"],
        lower_bound=record["lower_bound"],
        gap=record["gap"],
        seconds=record["seconds"],
        stats=record["stats"],
        split=None if devices is None else Split._of(instance, devices, record["objective"]),
        compared=tuple(record.get("compared", ())),
        interrupted=interrupted,
        record=record,
        _page=page,
    )


def _run_of(instance: Instance, function: Partitioner, search: Mapping[str, object]) -> Run:
    options = question(instance, search)
    asked = _native.asked(instance._native, options[0])
    started = time.perf_counter()
    answer = partition(function, instance, asked)
    seconds = time.perf_counter() - started
    split = None if answer is None else Split.of(instance, answer)
    violations = [] if split is None else _outside(split)
    if violations:
        raise _refused(function, violations)
    stated = None if split is None else (split._devices(), split.objective)
    texts, found = _native.run_of(instance._native, stated, options, name_of(function), seconds)
    if texts is None:
        raise _refused(function, [_violation(json.loads(each)) for each in found])
    return _run(instance, *texts, False)


def partition(function: Partitioner, instance: Instance, asked: Mapping[str, str]) -> SplitLike | None:
    """What a function makes of an instance and of what is asked."""
    if _takes_two(function):
        return cast(_OfTwo, function)(instance, asked)
    return cast(_OfOne, function)(instance)


def _takes_two(function: Partitioner) -> bool:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return sum(each.kind in kinds and each.default is each.empty for each in parameters) > 1


def name_of(function: Partitioner) -> str:
    """What reports call a function."""
    return getattr(function, "__name__", type(function).__name__)


def _refused(function: Partitioner, violations: list[Violation]) -> InvalidSplit:
    listed = "".join(f"\n  {violation}" for violation in violations)
    return InvalidSplit(f"the split of {name_of(function)} is invalid:{listed}")


@dataclass(frozen=True)
class Method:
    """A method of dagsplit."""

    name: str
    """The name it is asked for by."""
    summary: str
    """What it does, in one line."""
    scopes: tuple[str, ...]
    """The scopes it takes."""
    objectives: tuple[str, ...]
    """The objectives it takes."""
    exact: bool
    """Whether it proves optimality, given time."""


def methods() -> list[Method]:
    """The methods of `solve`, in the order in which `auto` prefers them. `docs/methods.md` tells more of each.

    >>> methods()[0].name
    'portfolio'
    """
    listed = _native.methods()
    return [Method(name, summary, tuple(scopes), tuple(kinds), exact) for name, summary, scopes, kinds, exact in listed]
