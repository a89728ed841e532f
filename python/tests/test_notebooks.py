"""The notebooks run, and their code is typed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from conftest import PROJECT, has_torch

NOTEBOOKS = sorted((PROJECT / "docs" / "notebooks").glob("*.ipynb"))
CHECKERS = {
    "mypy": ["-m", "mypy", "--strict", f"--config-file={PROJECT / 'pyproject.toml'}"],
    "pyright": ["-m", "pyright", "--project"],
}


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> Any:
    """A notebook; one that needs PyTorch is left out where there is none."""
    read = nbformat.read(request.param, as_version=4)  # type: ignore[no-untyped-call]
    if not has_torch() and "import torch" in code_of(read):
        pytest.skip(f"there is no PyTorch: {request.param.name} is not tried")
    return read


def code_of(notebook: Any) -> str:
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")


def test_a_notebook_runs(notebook: Any) -> None:
    folder = str(PROJECT / "docs" / "notebooks")
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_code_of_a_notebook_is_typed(notebook: Any, checker: str, tmp_path: Path) -> None:
    (tmp_path / "notebook.py").write_text(code_of(notebook), encoding="utf-8")
    assert complaints(checker, tmp_path) == ""


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_wrong_type_is_seen(checker: str, tmp_path: Path) -> None:
    (tmp_path / "notebook.py").write_text("import dagsplit\n\ndagsplit.generate(7).nodes[0].nmae\n", encoding="utf-8")
    assert "nmae" in complaints(checker, tmp_path)


def complaints(checker: str, folder: Path) -> str:
    """What a type checker says of the code in a folder, in strict mode."""
    settings = {
        "typeCheckingMode": "strict",
        "extraPaths": [str(PROJECT / "python")],
        "include": ["."],
        "pythonVersion": "3.10",
        # Showing a value is what a cell is for.
        "reportUnusedExpression": False,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    last = str(folder / "notebook.py") if checker == "mypy" else str(folder)
    command = [sys.executable, *CHECKERS[checker], last]
    done = subprocess.run(command, cwd=PROJECT / "python", capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr
