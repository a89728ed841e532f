"""Several methods on several workloads, and how far each is from the optimum."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from . import _native
from ._frames import pandas_of, polars_of
from ._native import InvalidOption, InvalidSplit
from ._words import costs_for, question
from .instances import Instance
from .pictures import Picture
from .progress import steps
from .solving import Partitioner, Run, solve

if TYPE_CHECKING:
    import pandas
    import polars
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


class Comparison(Sequence[Row]):
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
        self.rows = [Row(**row) for row in json.loads(_native.compared(self._records, "rows"))]
        """One row for each run."""

    @property
    def records(self) -> list[dict[str, Any]]:
        """All that is known of each run, with machine and versions (schema `dagsplit-compare/1`)."""
        return [json.loads(record) for record in self._records]

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame of pandas."""
        return pandas_of(Row, self.rows)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a data frame of polars."""
        return polars_of(Row, self.rows)

    def to_text(self, form: Literal["text", "markdown", "latex", "csv"] = "text") -> str:
        """The table for people, for papers (LaTeX with booktabs) or for programs."""
        return _native.compared(self._records, form)

    def plot(self) -> Picture:
        """Gap against time, and the gaps by workload."""
        return Picture(_native.compared(self._records, "plot"))

    def html(self) -> str:
        """A page of HTML that loads nothing: methods, runs to sort, filter and open, and the plot."""
        return _native.compared(self._records, "page")

    def _repr_markdown_(self) -> str:
        return self.to_text("markdown")

    def __repr__(self) -> str:
        return self.to_text()

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        return self.rows[place]


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
