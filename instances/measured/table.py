"""Prints the tables of ../README.md and docs/measured.md from the files of this directory.

`dagsplit` is on the path, or its place in $DAGSPLIT.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
DAGSPLIT = os.environ.get("DAGSPLIT", "dagsplit")


def main() -> None:
    """Prints both tables."""
    runs = json.loads((HERE / "runs.json").read_text())
    files = {name: json.loads((HERE / f"{name}.json").read_text()) for name in runs}
    print("| file | pass | numbers | batch | accelerators | nodes | edges | optimum (ms) |")
    print("|---|---|---|---|---|---|---|---|")
    losses = {}
    for name, file in sorted(files.items()):
        optimum, losses[name] = solved(name, file, runs[name]["second"])
        settings, accelerators = file["metadata"]["settings"], file["platform"]["accelerators"][0]["count"]
        of_model = f"{settings['pass']} | {settings['dtype']} | {settings['batch']} | {accelerators}"
        print(f"| `measured/{name}.json` | {of_model} | {len(file['nodes'])} | {len(file['edges'])} | {optimum} |")
    print(
        "\n| workload | all nodes (ms) | spread | runs apart | loss | stage 1 predicted | measured | eager "
        "| stage 2 predicted | measured | eager |\n|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for name, run in sorted(runs.items()):
        spread = 100 * files[name]["metadata"]["settings"]["relative_spread"]
        stages = zip(run["predicted"], run["queued"], run["eager"], strict=True)
        times = " | ".join(f"{time:.2f}" for stage in stages for time in stage)
        apart, loss = 100 * run["deviation"], 100 * losses[name]
        print(f"| `{name}` | {run['milliseconds'][0]:.2f} | {spread:.1f} % | {apart:.1f} % | {loss:.2f} % | {times} |")


def solved(name: str, file: dict, times: list[float]) -> tuple[str, float]:
    """The optimum, and what its split loses to the best one by the times of the second run."""
    again = file | {"nodes": [node | {"accelerator_times": [time]} for node, time in zip(file["nodes"], times)]}
    with tempfile.TemporaryDirectory() as folder:
        other, split = f"{folder}/again.json", f"{folder}/split.json"
        Path(other).write_text(json.dumps(again))
        first = asked("solve", HERE / f"{name}.json", "--time-limit", "10", "--output", split)
        best = asked("solve", other, "--time-limit", "10")
        taken = asked("solve", other, "--method", f"expert:file={split}")
    optimum = f"{first['objective']:.6g}" if first["status"] == "optimal" else "open"
    return optimum, taken["objective"] / best["objective"] - 1


def asked(*arguments: object) -> dict:
    """What a verb answers."""
    return json.loads(subprocess.run([DAGSPLIT, *arguments, "--json"], check=True, capture_output=True).stdout)


if __name__ == "__main__":
    main()
