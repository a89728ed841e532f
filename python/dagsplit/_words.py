"""Keywords as options of the command line, which the native module reads."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, cast

from ._native import InvalidOption

if TYPE_CHECKING:
    from .costs import Costs
    from .instances import Instance

Question = tuple[list[str], "Costs | None"]
"""Options, and costs given as data."""


def words(options: Mapping[str, object]) -> list[str]:
    """One option for each keyword: `server_size=8` is `--server-size=8`. None and False leave it out, and sequences of
    sequences say it for each of these.

    Raises:
        InvalidOption: a value is nothing that an option takes.
    """
    return [word for name, value in options.items() for word in _option(name, value)]


def question(instance: Instance, options: Mapping[str, object]) -> Question:
    """Keywords of which `costs` may be given as data."""
    costs = costs_for(instance, options.get("costs"))
    if costs is None or isinstance(costs, str):
        return words({**options, "costs": costs}), None
    return words({**options, "costs": None}), cast("Costs", costs)


def costs_for(instance: Instance, costs: object) -> object:
    """What splits of the instance cost, where a function says so."""
    return cast("Callable[[Instance], Any]", costs)(instance) if callable(costs) else costs


def _option(name: str, value: object) -> list[str]:
    option = "--" + name.replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [option]
    if isinstance(value, Mapping):
        return [f"{option}={key}={_text(name, each)}" for key, each in value.items()]
    if isinstance(value, Iterable) and not isinstance(value, str):
        values = list(value)
        if not values:
            return []
        if any(isinstance(each, Iterable) and not isinstance(each, str) for each in values):
            return [word for each in values for word in _option(name, each)]
        return [f"{option}={','.join(_text(name, each) for each in values)}"]
    return [f"{option}={_text(name, value)}"]


def _text(name: str, value: object) -> str:
    if not isinstance(value, str | Real | os.PathLike):
        raise InvalidOption(f"{name} takes no {type(value).__name__} here; give a text or a number")
    if isinstance(value, float):
        return "unlimited" if value == math.inf else repr(float(value))
    return str(value)
