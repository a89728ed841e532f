"""The default splits of frameworks, as `tools/defaults` asks for them."""

import importlib
import json
import os
import shutil
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

import pytest

from conftest import PROJECT

FOLDER = PROJECT / "tools" / "defaults"
COMMAND = os.environ.get("DAGSPLIT_COMMAND") or shutil.which("dagsplit")
TOLD = json.loads((PROJECT / "src" / "reproduce" / "defaults.json").read_text())


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    """The partitioner and the recorder."""
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("partitioner"), importlib.import_module("record")


def instance(*layers: tuple[int, int]) -> dict[str, Any]:
    """A chain of nodes with these ids and bytes of parameters, for two devices."""
    ids = [id for id, _ in layers]
    return {
        "platform": {"accelerators": [{"count": 2, "memory": 100}]},
        "nodes": [{"id": id, "parameter_bytes": size} for id, size in sorted(layers)],
        "edges": [{"source": a, "target": b} for a, b in zip(ids, ids[1:], strict=False)],
    }


def test_layers_are_told_from_embedding_and_head(tools: tuple[ModuleType, ModuleType]) -> None:
    partitioner, _ = tools
    model = partitioner.model_of(instance((3, 0), (9, 7), (4, 5), (5, 0), (1, 5), (8, 4), (2, 5), (6, 8)))
    assert [(layer.nodes, layer.size) for layer in model.layers] == [
        ([3, 9], 7), ([4, 5], 5), ([1], 5), ([8], 4), ([2], 5), ([6], 8),
    ]  # fmt: skip
    assert model.hidden == range(1, 5) and (model.devices, model.memory) == (2, 100)
    assert model.stages_of([1, 3]) == [2, 4]


def test_layers_that_are_not_repeated_are_hidden_all(tools: tuple[ModuleType, ModuleType]) -> None:
    partitioner, _ = tools
    assert partitioner.model_of(instance((0, 1), (1, 2), (2, 3))).hidden == range(3)


def test_stages_are_first_and_last_nodes(tools: tuple[ModuleType, ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    partitioner, record = tools

    def refuse(_: object) -> list[int]:
        raise AssertionError(" not divisible\n")

    rules = {"all": lambda _: [4, 0], "halves": lambda _: [1, 3], "some": lambda _: [1, 1], "refuse": refuse}
    monkeypatch.setattr(record, "RULES", rules)
    chain = instance((0, 1), (1, 2), (2, 3), (3, 4))
    assert record.answer("all", chain) == [[0, 3]] and record.answer("halves", chain) == [[0, 0], [1, 3]]
    assert record.answer("some", chain) == "it places 2 of 4 layers"
    assert record.answer("refuse", chain) == "not divisible"
    with pytest.raises(RuntimeError, match="do not follow one another"):
        record.answer("halves", instance((0, 1), (1, 2), (3, 3), (4, 3)))


def test_the_file_is_written_as_it_stands(tools: tuple[ModuleType, ModuleType]) -> None:
    _, record = tools
    assert record.ANSWERS.read_text() == record.written(TOLD) and list(TOLD) == list(record.FRAMEWORKS)


@pytest.mark.skipif(COMMAND is None, reason="there is no command `dagsplit`; set DAGSPLIT_COMMAND")
@pytest.mark.parametrize("name", TOLD)
def test_frameworks_answer_as_recorded(tools: tuple[ModuleType, ModuleType], name: str) -> None:
    _, record = tools
    rule, package = record.FRAMEWORKS[name]
    recorded = TOLD[name]["version"]
    try:
        installed = version(package)
    except PackageNotFoundError:
        pytest.skip(f"{name} is not installed: what {recorded} answered is not asked again")
    if installed != recorded:
        pytest.skip(f"{name} {installed} is installed: what {recorded} answered is not asked again")
    rows = record.rows(COMMAND)
    assert {row: record.answer(rule, instance) for row, instance in rows.items()} == TOLD[name]["splits"]
