"""The examples that pages show in Python run."""

import re

import pytest

from conftest import PROJECT

PAGES = ["README.md", "docs/your-partitioner.md"]


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_runs(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (PROJECT / page).read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    for example in examples:
        exec(compile(example, page, "exec"), {})
    assert examples and capsys.readouterr().out


def test_three_ways_in_take_less_than_ten_lines_each() -> None:
    first = (PROJECT / "README.md").read_text(encoding="utf-8").split("It serves four uses")[0]
    ways = re.findall(r"^\*\*(?:On|In) .*?(?=^\*\*|\Z)", first, flags=re.MULTILINE | re.DOTALL)
    code = [[line for line in way.splitlines()[1:] if line.strip() and not line.startswith("```")] for way in ways]
    assert len(code) == 3 and all(0 < len(lines) < 10 for lines in code)
