"""Rows as data frames."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas
    import polars

Kind = TypeVar("Kind")


class Rows(Sequence[Kind]):
    """Rows of one kind."""

    def __init__(self, kind: type[Kind], rows: str) -> None:
        self._kind = kind
        self.rows = [kind(**row) for row in json.loads(rows)]
        """The rows as a list."""

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame of pandas."""
        return pandas_of(self._kind, self.rows)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a data frame of polars."""
        return polars_of(self._kind, self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        return self.rows[place]

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.rows))


def pandas_of(kind: type[Any], rows: Sequence[Any]) -> pandas.DataFrame:
    """Rows of a dataclass as a data frame of pandas."""
    import pandas

    frame: pandas.DataFrame = pandas.DataFrame(_columns(kind, rows))
    return frame


def polars_of(kind: type[Any], rows: Sequence[Any]) -> polars.DataFrame:
    """Rows of a dataclass as a data frame of polars."""
    import polars

    return polars.DataFrame(_columns(kind, rows), strict=False)


def _columns(kind: type[Any], rows: Sequence[Any]) -> dict[str, list[Any]]:
    names = [field.name for field in dataclasses.fields(kind)]
    return {name: [getattr(row, name) for row in rows] for name in names}
