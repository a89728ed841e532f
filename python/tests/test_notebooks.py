"""The notebooks run, and their code is typed."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from conftest import PROJECT

NOTEBOOKS = sorted((PROJECT / "docs" / "notebooks").glob("*.ipynb"))


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    notebook = read(path)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_code_of_a_notebook_is_typed(path: Path, tmp_path: Path) -> None:
    code = [cell.source for cell in read(path).cells if cell.cell_type == "code"]
    (tmp_path / "notebook.py").write_text("\n".join(code), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(tmp_path / "notebook.py")]
    done = subprocess.run(command, cwd=PROJECT / "python", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
