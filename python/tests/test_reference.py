"""The page of reference is made of docstrings, and is complete; the stubs say what the native module has."""

import importlib.util
import subprocess
import sys
from types import ModuleType

import pytest

import dagsplit
from conftest import PROJECT
from dagsplit import _native


@pytest.fixture
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", PROJECT / "tools" / "python_reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_is_on_the_page(reference: ModuleType) -> None:
    shown = [name for names in reference.SECTIONS.values() for name in names]
    assert sorted([*shown, "__version__"]) == sorted(dagsplit.__all__)
    assert reference.undocumented() == []


def test_the_page_is_up_to_date(reference: ModuleType) -> None:
    cure = "run `python3 tools/python_reference.py`"
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page(), cure


def test_exceptions_say_what_the_stubs_say(reference: ModuleType) -> None:
    for name in reference.SECTIONS["Errors"]:
        _, text = reference.public()[name]
        assert " ".join(getattr(_native, name).__doc__.split()) == " ".join(text.split())


def test_stubs_are_those_of_the_native_module() -> None:
    options = ["--ignore-missing-stub", "--ignore-disjoint-bases", "--concise"]
    command = [sys.executable, "-m", "mypy.stubtest", "dagsplit._native", *options]
    done = subprocess.run(command, cwd=PROJECT / "python", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_are_strict() -> None:
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
