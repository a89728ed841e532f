"""What tests share, and what examples in docstrings know without import."""

import dataclasses
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

import dagsplit
from dagsplit import Instance, Node, Platform

PROJECT = Path(__file__).parents[1]


def has_torch() -> bool:
    """Whether PyTorch is installed, without which nothing can be traced."""
    return importlib.util.find_spec("torch") is not None


def data_of(page: str) -> Any:
    """The data that a page gives its script."""
    _, rest = page.split('<script type="application/json" id="data">')
    return json.loads(rest.split("</script>")[0])


@pytest.fixture(autouse=True)
def _in_examples(
    doctest_namespace: dict[str, Any], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The package's names, in the project's folder."""
    if request.node.name == "dagsplit.tracing.trace" and not has_torch():
        pytest.skip("there is no PyTorch: `dagsplit.trace` is not tried")
    monkeypatch.chdir(PROJECT)
    doctest_namespace.update({name: getattr(dagsplit, name) for name in dagsplit.__all__})
    doctest_namespace["replace"] = dataclasses.replace


@pytest.fixture
def chain() -> Instance:
    """Four layers of 3 ms for two accelerators, whose outputs take 1 ms to move: the optimum is 7."""
    layers = [Node(id, accelerator_times=(3.0,), transfer_time=1.0, output_bytes=1e6) for id in range(4)]
    return Instance(layers, [(0, 1), (1, 2), (2, 3)], Platform.uniform(2), name="chain")


@pytest.fixture(scope="session")
def hard() -> Instance:
    """A workload whose optimum over arbitrary splits takes longer than any test."""
    return Instance.load(PROJECT / "instances" / "nasnet_large_inference.json")
