"""Several methods on several workloads, and how far each is from the optimum."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from . import _native
from ._frames import Rows
from ._native import InvalidOption, InvalidSplit
from ._options import Path
from ._words import costs_for, question
from .instances import Instance
from .pictures import Picture
from .progress import steps
from .solving import Partitioner, Run, solve

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Search


@dataclasses.dataclass(frozen=True)
class Row:
    """What one method made of one workload."""

    workload: str
    """The workload's name."""
    method: str
    """The method's spec string; of a function `py:` with its module and name."""
    scope: str
    """Which splits count."""
    seed: int
    """The seed of everything random."""
    status: str
    """How it ended: as in `Run.status`, or `unsupported` (it does not take the problem), `rejected` (its split is
    invalid) or `crashed` (it raised)."""
    objective: float | None
    """The verified objective."""
    lower_bound: float | None
    """The method's own lower bound."""
    reference: float | None
    """What the gap is measured against: the optimum where some method proved it, else the best bound of all."""
    reference_is_optimum: bool | None
    """Whether that is the proven optimum."""
    gap: float | None
    """(objective - reference) / objective."""
    seconds: float | None
    """Wall-clock time of the method."""
    message: str | None
    """Why there is no split."""


@dataclasses.dataclass(frozen=True)
class Summary:
    """How one method did in one scope, over all workloads and seeds (`docs/compare.md` defines each figure)."""

    method: str
    """The method's spec string."""
    scope: str
    """Which splits count."""
    runs: int
    """Its runs, without those of workloads that it does not take."""
    found: int
    """Those with a split."""
    proven: int
    """Those that proved an optimum, or that there is no split."""
    wins: int
    """Those whose split no other method's is better than."""
    to_bounds: int
    """Those whose gap is to a bound, and at most so much."""
    mean_gap: float | None
    """The mean of the gaps."""
    median_gap: float | None
    """Their median."""
    worst_gap: float | None
    """The worst of them."""
    mean_ratio: float | None
    """The geometric mean of objective / reference."""
    spread: float | None
    """The largest (highest - lowest objective) / highest of one workload over its seeds."""
    seconds: float | None
    """The geometric mean of the seconds of runs with a split, shifted by one second."""


@dataclasses.dataclass(frozen=True)
class Price:
    """What a scope costs on one workload: the ratio of its optimum to that of the widest scope."""

    workload: str
    """The workload's name."""
    narrow: str
    """The narrower scope."""
    wide: str
    """The widest scope that was asked for."""
    narrow_best: float | None
    """The best objective of the narrower scope."""
    wide_best: float | None
    """That of the wider one."""
    at_least: float
    """The ratio is at least so much."""
    at_most: float | None
    """It is at most so much; where both optima are proven, that is `at_least`."""


@dataclasses.dataclass(frozen=True)
class Step:
    """A step of a curve: from x on it is y."""

    method: str
    """The method's spec string."""
    scope: str
    """Which splits count."""
    x: float
    """The factor of the best, or the seconds."""
    y: float
    """The share of the tasks, or the mean gap."""


@dataclasses.dataclass(frozen=True)
class Change:
    """One run now and before."""

    workload: str
    """The workload's name."""
    method: str
    """The method's spec string."""
    scope: str
    """Which splits count."""
    seed: int
    """The seed of everything random."""
    worse: list[str]
    """What it had before, and has no more: `split`, `proof`, `objective` (as low), `time` (as short)."""
    better: list[str]
    """What it has now, and had not before."""
    objective_before: float | None
    """The objective before."""
    objective: float | None
    """The objective now."""
    status_before: str
    """How it ended before."""
    status: str
    """How it ended now."""
    seconds_before: float
    """Seconds before."""
    seconds: float
    """Seconds now."""


Table = Literal["runs", "methods", "ratios", "contiguity"]
"""What a table shows: each run; means for each method; objective / reference of each workload and method; the price of
narrower splits."""

CurveKind = Literal["profile", "proof-time", "progress"]
"""A curve: performance profile of the objective, that of the time until the proof, or mean gap over time."""


class Comparison(Rows[Row]):
    """The rows of a comparison, one for each workload, scope and method. Printed it is a table."""

    def __init__(self, records: Sequence[str], interrupted: bool = False) -> None:
        """A comparison of records (schema `dagsplit-compare/1`, as JSON), such as lines of `dagsplit compare
        --results`.

        Raises:
            InternalError: two records cannot both be right.
        """
        self._records = list(records)
        self.interrupted = interrupted
        """Whether Ctrl-C ended it before all methods had run."""
        super().__init__(Row, _native.told(self._records, "rows"))

    @classmethod
    def load(cls, path: Path) -> Comparison:
        """The runs in a file or folder of results (`dagsplit compare --results`, `sweep`): of each the last record that
        Ctrl-C did not end.

        Raises:
            InvalidInstance: it cannot be read, holds something else, or has one run by several versions.
        """
        return cls(_native.records(str(path)))

    @property
    def records(self) -> list[dict[str, Any]]:
        """All that is known of each run, with machine and versions (schema `dagsplit-compare/1`)."""
        return [json.loads(record) for record in self._records]

    def summaries(self) -> Rows[Summary]:
        """How each method did in each scope, over all workloads and seeds."""
        return Rows(Summary, _native.told(self._records, "summaries"))

    def prices(self) -> Rows[Price]:
        """What each scope but the widest costs, workload by workload."""
        return Rows(Price, _native.told(self._records, "prices"))

    def curves(self, kind: CurveKind) -> Rows[Step]:
        """The steps of a curve for each method and scope.

        Raises:
            InvalidOption: there is no such curve.
        """
        return Rows(Step, _native.curves(self._records, kind))

    def against(self, before: Comparison, slower_by: float = 1.5) -> Rows[Change]:
        """Each run that `before`, of another version or machine, has, too. Times are compared where both runs ended with
        a proof on the same machine; one is longer where it is more than `slower_by` times the other one, of which those
        below 0.1 s count as 0.1 s.

        Raises:
            InvalidOption: `slower_by` is not from 1 to 1e6.
            InternalError: what one of them proves cannot be right with what the other one found.
        """
        return Rows(Change, _native.changed(self._records, before._records, slower_by))

    def to_text(self, form: Literal["text", "markdown", "latex", "csv"] = "text", table: Table = "runs") -> str:
        """A table for people, for papers (LaTeX with booktabs) or for programs.

        Raises:
            InvalidOption: there is no such form or table.
        """
        return _native.tabled(self._records, table, form)

    def plot(
        self, kind: Literal["gaps", "profile", "proof-time", "progress", "boxes"] = "gaps", width: float = 174.0
    ) -> Picture:
        """A figure, so many millimetres wide: gap against time and the gaps by workload, performance profiles of the
        objective or of the time until the proof, mean gap over time, or box plots of the gaps.

        Raises:
            InvalidOption: there is no such figure, or it is not from 40 to 1000 mm wide.
        """
        return Picture(_native.plotted(self._records, kind, width))

    def html(self) -> str:
        """A page of HTML that loads nothing: methods, runs to sort, filter and open, and the plot."""
        return _native.paged(self._records)

    def _repr_markdown_(self) -> str:
        return self.to_text("markdown")

    def __repr__(self) -> str:
        return self.to_text()


def compare(
    instances: Sequence[Instance],
    methods: Sequence[str | Partitioner],
    *,
    progress: bool | Callable[[str], object] = False,
    **search: Unpack[Search],
) -> Comparison:
    """Runs several methods on several workloads and tells how far each is from the optimum.

    Methods are spec strings, as `solve` takes them, or functions. A method runs in those of the scopes that it takes. A
    function that raises, or whose split is invalid, is a row that says so, and so is a program (`exec:`). Gaps are
    measured against the optimum where a method proves it, so that an exact method should be among them. `progress` is a
    function that is told what runs, or True for tqdm. Ctrl-C keeps what is done.

    Raises:
        InvalidOption: an option does not exist or does not fit, or there is no such method.

    >>> layers = [Node(id, accelerator_times=(3.0,), transfer_time=1.0) for id in range(4)]
    >>> chain = Instance(layers, [(0, 1), (1, 2), (2, 3)], Platform.uniform(2), name="chain")
    >>> def first_apart(instance):
    ...     return [[0], [1, 2, 3]]
    >>> for row in compare([chain], ["dp", first_apart]):
    ...     print(row.method, row.objective, row.gap)
    dp 7.0 0.0
    py:dagsplit.comparing.first_apart 10.0 0.3
    """
    records: list[str] = []
    asked = list(trials(instances, methods, search))
    with steps(progress, len(asked)) as show:
        for trial in asked:
            instance, method, _ = trial
            show(f"{instance.name}: {named(method)}")
            record, interrupted = record_of(trial)
            if interrupted:
                return Comparison(records, interrupted=True)
            records.append(record)
    return Comparison(records)


Trial: TypeAlias = tuple[Instance, str | Partitioner, dict[str, Any]]
"""A workload, a method, and what is asked of them."""


def trials(
    instances: Sequence[Instance],
    methods: Sequence[str | Partitioner],
    search: Mapping[str, Any],
    seeds: Sequence[int] | None = None,
) -> Iterator[Trial]:
    """Each method on each workload in each scope that it takes, with each seed; one that takes none, in the first with
    the first.

    Raises:
        InvalidOption: two functions have one name, or an option does not exist or does not fit.
    """
    functions = [named(method) for method in methods if not isinstance(method, str)]
    for name in functions:
        if functions.count(name) > 1:
            raise InvalidOption(f"methods: two functions are called {name}; give each a name of its own")
    numbers = seeds or [search.get("seed", 0)]
    given = search.get("scope", "acyclic")
    scopes = [given] if isinstance(given, str) else list(given)
    for instance in instances:
        costs = costs_for(instance, search.get("costs"))
        asked = [{**search, "costs": costs, "scope": scope} for scope in scopes]
        for method in methods:
            taken = [each for each in asked if _refusal(instance, method, each) is None]
            pairs = product(taken, numbers) if taken else [(asked[0], numbers[0])]
            yield from ((instance, method, {**each, "seed": seed}) for each, seed in pairs)


def _refusal(instance: Instance, method: str | Partitioner, asked: Mapping[str, object]) -> str | None:
    """Why the method does not take the problem."""
    return _native.refusal_of(instance._native, question(instance, asked), method) if isinstance(method, str) else None


def named(method: str | Partitioner) -> str:
    """What records call a method."""
    if isinstance(method, str):
        return method
    return f"py:{method.__module__}.{getattr(method, '__qualname__', type(method).__qualname__)}"


def trial_record(trial: Trial, answer: str | None = None, refusal: tuple[str, str] | None = None) -> str:
    """The record of a trial that was answered, or refused, or not run."""
    instance, method, asked = trial
    return _native.record(instance._native, question(instance, asked), named(method), answer, refusal)


def record_of(trial: Trial) -> tuple[str, bool]:
    """The record of one run, and whether Ctrl-C ended it."""
    instance, method, asked = trial
    record = partial(trial_record, trial)
    refusal = _refusal(instance, method, asked)
    if refusal is not None:
        return record(None, ("unsupported", refusal)), False
    if isinstance(method, str) and not method.startswith("exec:"):
        return _answered(solve(instance, method, **asked), record)
    try:
        return _answered(solve(instance, method, **asked), record)
    except InvalidSplit as error:
        return record(None, ("rejected", str(error))), False
    except InvalidOption as error:
        return record(None, ("unsupported", str(error))), False
    except KeyboardInterrupt:
        return record(None, ("unknown", "interrupted")), True
    except Exception as error:
        return record(None, ("crashed", f"it raised {type(error).__name__}: {error}")), False


def _answered(run: Run, record: Callable[[str], str]) -> tuple[str, bool]:
    return record(json.dumps(run.record)), run.interrupted
