"""Makes docs/python.md of the docstrings in python/dagsplit: `python3 tools/python_reference.py`.

A test holds the page against it, and holds that every public name is on it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[1]
PAGE = PROJECT / "docs" / "python.md"

INTRODUCTION = """# In Python

    pip install .

builds the package `dagsplit` from the checkout, and the command of that name with all its verbs; it needs Python 3.10 and
Rust alone, for the solvers that need HiGHS are left out. Extras are `graphs` (networkx, rustworkx), `frames` (pandas, polars), `progress` (tqdm), `torch` (`dagsplit.trace`
and the command `dagsplit-profile`) and `models` (the same, with the libraries of its built-in models), as in `pip install
'.[graphs]'`.
Searches run in the process, without the interpreter's lock, and stop at Ctrl-C with their best split.

Four notebooks begin at the beginning: [a first split](notebooks/first-split.ipynb), [a heuristic of your own against the
optimum](notebooks/own-heuristic.ipynb), [from a PyTorch model to a running pipeline](notebooks/pytorch-pipeline.ipynb), and
[plans](notebooks/plans.ipynb) for an interconnect.

This page is made of the docstrings (`tools/python_reference.py`), whose examples are run by tests.
"""

SECTIONS = {
    "Workloads": ["Instance", "Node", "Platform", "AcceleratorClass", "generate", "trace"],
    "Solving": ["solve", "Run", "Status", "Progress", "methods", "Method"],
    "Splits": [
        "Split",
        "Device",
        "SplitLike",
        "Framework",
        "Detail",
        "Picture",
        "verify",
        "Violation",
        "ViolationKind",
    ],
    "A cost model of your own": ["Costs", "KindCost", "Piece", "Transfer", "CostModel"],
    "A partitioner of your own": [
        "Partitioner",
        "compare",
        "Comparison",
        "Row",
        "Summary",
        "Price",
        "CurveKind",
        "Step",
        "Change",
        "Table",
        "Rows",
        "sweep",
        "Engine",
        "Promise",
        "conform",
        "Conformance",
        "Finding",
        "Law",
    ],
    "Published tables": ["reproduce", "Reproduction", "Figure", "Verdict", "studies", "Study"],
    "Interconnects and pipelines": ["Topology", "map", "MappingRun", "plan", "Plan", "simulate", "Simulation"],
    "Keywords": [
        "Devices",
        "Request",
        "Scope",
        "Objective",
        "Limits",
        "Search",
        "Reading",
        "Mapped",
        "Planned",
        "Simulated",
    ],
    "Errors": ["Error", "InvalidInstance", "InvalidOption", "InvalidSplit", "OutputError", "InternalError"],
}

Definition = ast.ClassDef | ast.FunctionDef | ast.Assign | ast.AnnAssign


def definitions(body: list[ast.stmt]) -> Iterator[tuple[str, Definition, str | None]]:
    """Each public name of a module or a class, with what defines it and its docstring."""
    for statement, following in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(statement, ast.ClassDef | ast.FunctionDef):
            name, text = statement.name, ast.get_docstring(statement)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            name, text = target.id if isinstance(target, ast.Name) else "_", _docstring(following)
        else:
            continue
        if not name.startswith("_"):
            yield name, statement, text


def _docstring(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return str(statement.value.value)
    return None


def public() -> dict[str, tuple[Definition, str | None]]:
    """Every public definition of the package by name."""
    sources = sorted((PROJECT / "python" / "dagsplit").glob("*.py*"))
    modules = [
        ast.parse(source.read_text(encoding="utf-8")).body for source in sources if source.suffix in (".py", ".pyi")
    ]
    # The classes of the interface come after those of the native module, whose names they may have.
    found = [each for body in modules for each in definitions(body)]
    return {name: (definition, text) for name, definition, text in found}


def undocumented() -> list[str]:
    """What the page has and no docstring says."""
    missing = []
    for name in (name for names in SECTIONS.values() for name in names):
        definition, text = public()[name]
        missing += [] if text else [name]
        if isinstance(definition, ast.ClassDef):
            missing += [f"{name}.{member}" for member, _, said in definitions(definition.body) if not said]
    return missing


def page() -> str:
    """The page."""
    known = public()
    parts = [INTRODUCTION]
    for section, names in SECTIONS.items():
        parts.append(f"## {section}\n")
        parts += [_entry(name, *known[name]) for name in names]
    return "\n".join(parts)


def _entry(name: str, definition: Definition, text: str | None) -> str:
    parts = [f"### `{_heading(name, definition)}`\n\n", _markdown(text or "")]
    if isinstance(definition, ast.ClassDef):
        members = list(definitions(definition.body))
        fields = [_field(*each) for each in members if isinstance(each[1], ast.AnnAssign | ast.Assign)]
        methods = [_method(name, *each) for each in members if isinstance(each[1], ast.FunctionDef)]
        parts += ["\n" * bool(fields), *fields, *methods]
    elif not isinstance(definition, ast.FunctionDef):
        parts.append(f"\n`{_oneline(ast.unparse(definition.value or ast.Constant(None)))}`\n")
    return "".join(parts)


def _heading(name: str, definition: Definition) -> str:
    if isinstance(definition, ast.FunctionDef):
        return name + _signature(definition)
    made = [
        each
        for each in getattr(definition, "body", [])
        if isinstance(each, ast.FunctionDef) and each.name == "__init__"
    ]
    return name + (_signature(made[0]) if made else "")


def _signature(function: ast.FunctionDef) -> str:
    arguments = re.sub(r"^(self|cls)(, )?", "", ast.unparse(function.args))
    returns = ast.unparse(function.returns) if function.returns else "None"
    return f"({arguments})" + ("" if returns == "None" else f" -> {returns}")


def _field(name: str, definition: Definition, text: str | None) -> str:
    kind = ast.unparse(definition.annotation) if isinstance(definition, ast.AnnAssign) else ""
    return f"- `{name}`" + (f" (`{_oneline(kind)}`)" if kind else "") + f": {_oneline(text or '')}\n"


def _method(owner: str, name: str, definition: Definition, text: str | None) -> str:
    assert isinstance(definition, ast.FunctionDef)
    decorators = {ast.unparse(each) for each in definition.decorator_list}
    is_property = bool(decorators & {"property", "cached_property"})
    is_static = bool(decorators & {"classmethod", "staticmethod"})
    shown = f"{owner}." * is_static + name + (_signature(definition) if not is_property else "")
    return f"\n#### `{shown}`\n\n{_markdown(text or '')}"


def _markdown(text: str) -> str:
    """A docstring as Markdown: examples in fences, what is raised as a list."""
    paragraphs = [_paragraph(each) for each in text.strip().split("\n\n")]
    return "\n\n".join(paragraphs) + "\n"


def _paragraph(text: str) -> str:
    if text.startswith(">>>"):
        return f"```python\n{text}\n```"
    if text.startswith("Raises:"):
        raised = re.split(r"\n    (?=\w+: )", text.removeprefix("Raises:"))
        return "\n".join(re.sub(r"^(\w+):", r"- Raises `\1`:", _oneline(each)) for each in raised if each.strip())
    return text


def _oneline(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
