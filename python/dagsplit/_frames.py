"""Rows as data frames."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars


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
