#!/usr/bin/env python3
"""Asks every framework for its split of every row of `dagsplit reproduce defaults`, and writes what they answer where
that study finds it.

    python tools/defaults/record.py [PROGRAM]

docs/defaults.md says what to install. PROGRAM is `dagsplit` where it is not on the search path.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from partitioner import RULES, split_of

PROJECT = Path(__file__).resolve().parents[2]
ANSWERS = PROJECT / "src/reproduce/defaults.json"

# The frameworks by their names in the table: rule in `partitioner.py`, and package.
FRAMEWORKS = {
    "vLLM": ("vllm", "vllm"),
    "SGLang": ("sglang", "sglang"),
    "Megatron-Core": ("megatron", "megatron-core"),
    "torchtitan": ("torchtitan", "torchtitan"),
    "DeepSpeed": ("deepspeed", "deepspeed"),
    "Accelerate": ("accelerate", "accelerate"),
    "PiPPy": ("pippy", "torchpippy"),
}


def rows(program: str) -> dict[str, dict[str, Any]]:
    """The instances of the study by row, each with the devices of its row."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "written.json")

        def output(*words: str) -> dict[str, Any]:
            subprocess.run([program, *words, str(file)], check=True, stdout=subprocess.DEVNULL, cwd=PROJECT)
            return dict(json.loads(file.read_text()))

        def instance(run: dict[str, Any]) -> dict[str, Any]:
            words = run["workload"].split()
            if words[0] == "dagsplit":
                made = output(*words[1:], "--output")
            else:
                made = json.loads((PROJECT / "instances/profiled" / words[0].rstrip(",")).read_text())
            return {**made, "platform": run["result"]["record"]["problem"]["platform"]}

        study = output("reproduce", "defaults", "--columns", "optimum", "--export-json")
        runs = [run for run in study["runs"] if "record" in run["result"]]
        return {figure["row"]: instance(run) for figure, run in zip(study["figures"], runs, strict=True)}


def answer(rule: str, instance: dict[str, Any]) -> list[list[int]] | str:
    """A split as first and last node of each stage, or the words of a refusal."""
    try:
        stages = [sorted(nodes) for nodes in split_of(RULES[rule], instance) if nodes]
    except (AssertionError, ValueError) as refusal:
        return str(refusal).strip()
    for nodes in stages:
        if nodes != list(range(nodes[0], nodes[-1] + 1)):
            raise RuntimeError(f"{rule}: the ids of a stage do not follow one another: {nodes}")
    return [[nodes[0], nodes[-1]] for nodes in stages]


def written(answers: dict[str, dict[str, Any]]) -> str:
    """The answers in JSON, a line for each row."""

    def lines(name: str, version: str, splits: dict[str, Any]) -> str:
        rows = ",\n".join(f"    {json.dumps(row)}: {json.dumps(split)}" for row, split in splits.items())
        return f'  {json.dumps(name)}: {{"version": {json.dumps(version)}, "splits": {{\n{rows}\n  }}}}'

    return "{\n" + ",\n".join(lines(name, **told) for name, told in answers.items()) + "\n}\n"


def main() -> None:
    """Writes the answers."""
    instances = rows(sys.argv[1] if len(sys.argv) > 1 else "dagsplit")
    answers = {
        name: {
            "version": version(package),
            "splits": {row: answer(rule, instance) for row, instance in instances.items()},
        }
        for name, (rule, package) in FRAMEWORKS.items()
    }
    ANSWERS.write_text(written(answers))


if __name__ == "__main__":
    main()
