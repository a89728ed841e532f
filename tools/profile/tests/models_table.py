"""Writes docs/models.md: which models of `families.py` can be traced in both passes, and what dagsplit proves of each.

    DAGSPLIT=$(which dagsplit) OMP_NUM_THREADS=1 python tools/profile/tests/models_table.py

Needs `pip install '.[test-models]'`; takes about 15 minutes of CPU time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from conftest import find_dagsplit
from dagsplit_profile import ProfileError, instance, profile, provenance
from dagsplit_profile.hardware import ACCELERATORS
from dagsplit_profile.models import Settings
from families import FAMILIES, LIBRARY

PAGE = Path(__file__).parents[3] / "docs" / "models.md"
TIME_LIMIT = "5"

HEAD = """\
# Models that were traced

Models of other people's libraries as they are, at small sizes and with random weights: nothing is downloaded. Each was
traced in inference and in training with `--roofline a100 --batch 2`, one node for each operator, and split over six
accelerators by `dagsplit solve --time-limit {limit}`. `python tools/profile/tests/models_table.py` writes this page;
`tools/profile/tests/families.py` builds the models, and `dagsplit-profile tools/profile/tests/families.py:llama` takes
one. Parameters that several operators read count for each.

{traced} of {count} models are traced in both passes, and {proven} of the {instances} instances are split with a proof
({software}; {date}).

| library | model | parameters | inference: nodes, edges | status | training: nodes, edges | status |
|---|---|---|---|---|---|---|
"""

REFUSED = """
## Refused

What `dagsplit-profile` says, folders left out:

"""


@dataclass
class Pass:
    """What came of one pass of one model."""

    parameters: int = 0
    nodes: int = 0
    edges: int = 0
    status: str = "refused"
    refusal: str = ""

    def cells(self) -> str:
        """Two cells of the table."""
        return f"{self.nodes}, {self.edges} | {self.status}" if self.nodes else "| refused"


def traced(name: str, training: bool, folder: Path) -> Pass:
    """Traces and models a family, and solves its instance."""
    model = f"{Path(__file__).with_name('families.py')}:{name}"
    job = profile.Job(
        model, Settings(batch=2), training=training, device=profile.META, roofline=ACCELERATORS["a100"], accelerators=6
    )
    try:
        made = profile.run(job)
    except ProfileError as error:
        return Pass(refusal=str(error))
    file = folder / "workload.json"
    instance.write(made.instance, made.metadata, file)
    command = [find_dagsplit() or "dagsplit", "solve", file, "--time-limit", TIME_LIMIT, "--json"]
    solved = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    gap = f", gap {100 * solved['gap']:.1f} %" if solved["status"] != "optimal" and solved.get("gap") else ""
    nodes = made.instance["nodes"]
    parameters = sum(node.get("parameter_bytes", 0) for node in nodes) // 4
    return Pass(parameters, len(nodes), len(made.instance["edges"]), solved["status"] + gap)


def without_folders(refusal: str) -> str:
    """A refusal without what depends on the machine."""
    return "\n".join(
        f"  at {Path(line.split(':')[0]).name}:{line.split(':', 1)[1]}" if line.startswith("  at ") else line[:160]
        for line in refusal.splitlines()
    )


def main() -> None:
    """Traces all models, or those that are named, and writes the page."""
    rows: dict[str, list[Pass]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or FAMILIES:
            rows[name] = [traced(name, training, Path(folder)) for training in (False, True)]
            print(name, *(entry.status for entry in rows[name]), flush=True)
    every = [entry for passes in rows.values() for entry in passes if entry.nodes]
    page = HEAD.format(
        limit=TIME_LIMIT,
        traced=sum(all(entry.nodes for entry in passes) for passes in rows.values()),
        count=len(rows),
        proven=sum(entry.status == "optimal" for entry in every),
        instances=len(every),
        software=provenance.software(),
        date=provenance.today(),
    )
    for name, passes in rows.items():
        parameters = f"{max(entry.parameters for entry in passes) / 1e6:.2f} M" if passes[0].nodes else ""
        page += f"| {LIBRARY[name]} | {name} | {parameters} | {passes[0].cells()} | {passes[1].cells()} |\n"
    page += REFUSED
    for name, passes in rows.items():
        for entry, kind in zip(passes, ("inference", "training"), strict=True):
            if entry.refusal:
                page += f"**{name}, {kind}**\n\n```text\n{without_folders(entry.refusal)}\n```\n\n"
    if not sys.argv[1:]:
        PAGE.write_text(page.rstrip() + "\n")
    else:
        print(page)


if __name__ == "__main__":
    main()
