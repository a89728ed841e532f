"""Published tables made again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from ._frames import pandas_of, polars_of
from ._native import InvalidOption
from ._options import Path
from ._words import words
from .progress import staged

if TYPE_CHECKING:
    import pandas
    import polars
    from typing_extensions import Unpack

    from ._options import Limits

Verdict = Literal["agrees", "close", "below-bound", "lower", "higher", "shape-not-reproduced", "incomparable"]
"""How a figure of ours stands to the published one: the same to its last digit or as claimed; within the tolerance; the
published one is below what is proven to be the least; ours is lower; higher; another one of what is compared is ahead,
or none; one of the two is not there."""


@dataclass(frozen=True)
class Study:
    """A published table or figure that `reproduce` makes again."""

    name: str
    """The name it is asked for by."""
    source: str
    """The paper, with the table, figure or section."""
    title: str
    """What it shows, in one line."""


@dataclass(frozen=True)
class Figure:
    """A figure of ours beside the published one."""

    row: str
    """Its row in the published table."""
    column: str
    """Its column."""
    ours: float | None
    """Ours, in the unit of the publication; None where the run found nothing or could not be made."""
    is_proven: bool
    """Whether ours is the objective of a split that is proven optimal."""
    is_certified: bool
    """Whether the checker has accepted a proof of that; only the program's `--certify` asks for one."""
    published: float | None
    """The published one, where it is a number."""
    digit: float | None
    """What its last printed digit counts."""
    is_least: bool
    """Whether the publication claims that the figure is at least this."""
    deviation: float | None
    """(ours - published) / published."""
    tolerance: float | None
    """The largest deviation that is called close."""
    least: float | None
    """The least of what ours is the median of, where it is one."""
    most: float | None
    """The largest of it."""
    verdict: Verdict
    """How the two stand."""
    reason: str | None
    """Why ours is not there, or is not the same."""


class Reproduction(Sequence[Figure]):
    """The figures of a published table, ours beside the published ones. Printed it is the table."""

    def __init__(self, study: Study, record: Mapping[str, Any], forms: Mapping[str, str], interrupted: bool) -> None:
        """Use `reproduce`."""
        self.study = study
        """The table or figure."""
        self.record = record
        """All that is known of figures and runs (schema `dagsplit-reproduce/1`)."""
        self.interrupted = interrupted
        """Whether Ctrl-C ended it before all runs were made."""
        self.figures = tuple(Figure(**figure) for figure in record["figures"])
        """One figure for each cell."""
        self._forms = forms

    def to_pandas(self) -> pandas.DataFrame:
        """The figures as a data frame of pandas."""
        return pandas_of(Figure, self.figures)

    def to_polars(self) -> polars.DataFrame:
        """The figures as a data frame of polars."""
        return polars_of(Figure, self.figures)

    def to_text(self, form: Literal["text", "markdown", "latex", "csv"] = "text") -> str:
        """The table as it is published, for people or for papers (LaTeX with booktabs); as CSV one line per figure.

        Raises:
            InvalidOption: there is no such form.
        """
        if form not in self._forms:
            raise InvalidOption(f"there is no form {form!r}; name one of {', '.join(self._forms)}")
        return self._forms[form]

    def _repr_markdown_(self) -> str:
        return self.to_text("markdown")

    def __repr__(self) -> str:
        return self.to_text()

    def __len__(self) -> int:
        return len(self.figures)

    def __getitem__(self, place: Any) -> Any:
        return self.figures[place]


def studies() -> list[Study]:
    """The published tables and figures that `reproduce` makes again.

    >>> studies()[0].name, studies()[0].source
    ('table1', 'Tarnawski 2020, Table 1')
    """
    return [Study(*study) for study in _native.studies()]


def reproduce(
    study: str,
    *,
    only: str = "",
    columns: Sequence[str] = (),
    workloads: Path | None = None,
    progress: bool | Callable[[str], object] = False,
    **limits: Unpack[Limits],
) -> Reproduction:
    """Makes a published table again and sets our figures beside the published ones (`docs/reproduce.md`).

    Each method runs in this process for 60 seconds at most, unless `time_limit` says otherwise. `only` takes the rows
    whose name holds the text, `columns` the columns whose name holds one of the texts. `workloads` is the folder of the
    published workloads: `instances/profiled` of a checkout or a clone of their authors' repository. Without it
    `$DAGSPLIT_WORKLOADS` is taken, or else `instances/profiled` of the current folder. What is not at hand is a figure
    that says so. `progress` is a function that is told what runs, or True for tqdm. Ctrl-C keeps what is done.

    Raises:
        InvalidOption: there is no such study, row, column or option.
        InvalidInstance: `workloads` is no folder, or a workload in it cannot be read.

    >>> for figure in reproduce("table1", only="ResNet50, layers, training", columns=["DP"]):
    ...     print(figure.column, round(figure.ours, 2), figure.published, figure.verdict, figure.is_proven)
    DP 78.63 78.63 agrees True
    DPL 78.63 78.65 lower False
    """
    options = words({"only": only or None, "columns": columns or None, "workloads": workloads, **limits})
    with staged(progress) as watcher:
        record, forms, interrupted = _native.reproduce([*options, "--", study], watcher)
    known = {each.name: each for each in studies()}
    return Reproduction(known[study], json.loads(record), dict(forms), interrupted)
