"""What examples in docstrings know without import."""

from pathlib import Path
from typing import Any

import pytest

import dagsplit

PROJECT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _in_examples(doctest_namespace: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The package's names, in the project's folder."""
    monkeypatch.chdir(PROJECT)
    doctest_namespace.update({name: getattr(dagsplit, name) for name in dagsplit.__all__})
