"""How much does measurement noise move the answer? Profiles a model twice and compares.

    OMP_NUM_THREADS=1 python examples/pytorch/repeatability.py resnet50 --accelerators 4

Shows how far the nodes' times and the optimum move from one profile to the next, what the optimal split of one profile
costs on the other, and whether the methods keep their order.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

import torch
from dagsplit_profile import instance, profile
from dagsplit_profile.models import Settings

METHODS = ["dp", "dpl", "greedy", "pipedream", "uniform"]


def main() -> None:
    """Profiles, solves, compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--accelerators", type=int, default=4)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--sequence", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--bandwidth", type=float, default=10e9, help="bytes per second")
    parser.add_argument("--dagsplit", default="dagsplit", help="the program")
    options = parser.parse_args()

    torch.set_num_threads(1)
    settings = Settings(layers=options.layers, sequence=options.sequence)
    job = profile.Job(
        options.model,
        settings,
        accelerators=options.accelerators,
        repeats=options.repeats,
        bandwidth=options.bandwidth,
    )
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"profile{index}.json" for index in range(2)]
        profiles = [profile.run(job) for _ in files]
        for file, made in zip(files, profiles, strict=True):
            instance.write(made.instance, made.metadata, file)
        report(options.dagsplit, files, [made.instance["nodes"] for made in profiles])


def report(dagsplit: str, files: list[Path], nodes: list[list[dict]]) -> None:
    """Prints what changed from the first profile to the second."""
    times = [[node["accelerator_times"][0] for node in profiled] for profiled in nodes]
    changes = [abs(b / a - 1) for a, b in zip(*times, strict=True) if a > 0]
    print(f"nodes                   {len(nodes[0])}")
    print(f"change of a node's time {statistics.median(changes):.1%} (median)")
    print(f"change of all together  {sum(times[1]) / sum(times[0]) - 1:+.1%}")
    solved = [solve(dagsplit, file, METHODS) for file in files]
    optima = [objectives["dp"] for objectives in solved]
    print(f"optima                  {optima[0]:.4g} and {optima[1]:.4g} ms ({optima[1] / optima[0] - 1:+.1%})")
    split = files[0].with_suffix(".split")
    run(dagsplit, "solve", files[0], "--method", "dp", "--output", split)
    # The claim is that of the other profile, so it is left out.
    other = {key: value for key, value in json.loads(split.read_text()).items() if key != "maxLoad"}
    split.write_text(json.dumps(other))
    moved = json.loads(run(dagsplit, "verify", files[1], split, "--json"))["objective"]
    print(f"first split on second   {moved:.4g} ms ({moved / optima[1] - 1:+.1%} above its optimum)")
    for index, objectives in enumerate(solved, start=1):
        ranked = sorted(objectives, key=objectives.get)
        shown = ", ".join(f"{method} {objectives[method] / objectives['dp'] - 1:+.1%}" for method in ranked)
        print(f"methods on profile {index}    {shown}")


def solve(dagsplit: str, file: Path, methods: list[str]) -> dict[str, float]:
    """The objective that each method reaches."""
    answer = json.loads(run(dagsplit, "solve", file, "--method", ",".join(methods), "--time-limit", "60", "--json"))
    return {entry["method"]: entry["objective"] for entry in answer["compared"] if entry["objective"] is not None}


def run(*command: object) -> str:
    """The command's output."""
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
