"""Keywords as options of the command line, which the native module reads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping


def words(options: Mapping[str, object]) -> list[str]:
    """One option for each keyword: `server_size=8` is `--server-size=8`. None and False leave it out."""
    return [word for name, value in options.items() for word in _option("--" + name.replace("_", "-"), value)]


def _option(option: str, value: object) -> list[str]:
    if value is None or value is False:
        return []
    if value is True:
        return [option]
    if isinstance(value, Mapping):
        return [f"{option}={name}={_text(each)}" for name, each in value.items()]
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [f"{option}={','.join(_text(each) for each in value)}"]
    return [f"{option}={_text(value)}"]


def _text(value: object) -> str:
    if isinstance(value, float):
        return "unlimited" if value == math.inf else repr(value)
    return str(value)
