#!/usr/bin/env python3
"""6,000 runs in a row, as a Slurm array and on Dask, with a worker of each killed by -9; are they the same?

    python tools/large_sweep.py [FOLDER] [--engines slurm,dask]

100 generated workloads of 12 to 20 nodes, twelve methods and five seeds. Needs the program `dagsplit`, the package with
`distributed`, and for the array Slurm and root: a cluster of this machine alone is started. Shown are seconds, how many
records there are, how many runs were made twice, and whether every run has status, objective, bound and split of the
run in a row, and every cell of the table but seconds and memory. Exits with 1 where anything differs.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

METHODS = (
    "dp,dp:plain,dpl,portfolio,cluster+dp,slicegraph:generations=2,"
    "parmesan,rannc,pipedream,uniform,greedy,single-device"
)
SEEDS = 5
WORKLOADS = 100
RUNS = WORKLOADS * len(METHODS.split(",")) * SEEDS
ASKED = f"--workloads-from list --methods {METHODS} --seeds 0..{SEEDS - 1} --memory-limit 2GiB --quiet"
# What differs from run to run.
MEASURED = ("time", "seconds", "memory", "peak")

Key = tuple[str, str, int]


def records(folder: Path) -> list[dict[str, Any]]:
    """The records of all journals of a folder; a line that was cut off counts for nothing."""
    lines = [line for file in sorted(folder.iterdir()) for line in file.read_text().splitlines(keepends=True)]
    return [json.loads(line) for line in lines if line.endswith("\n") and line.strip()]


def stated(folder: Path) -> dict[Key, tuple[Any, ...]]:
    """By run, what came of it."""
    of = {}
    for record in records(folder):
        devices = record.get("devices") or []
        split = [(device["kind"], sorted(device["nodes"])) for device in devices]
        key = (record["instance"]["hash"], record["method"], record["seed"])
        of[key] = (record["status"], record.get("objective"), record.get("lower_bound"), split)
    return of


class Sweep:
    """Runs of the same list in a folder, each way with results of its own."""

    def __init__(self, folder: Path, program: str) -> None:
        self.folder, self.program = folder, program
        self.differs = False

    def run(self, words: str, **more: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.program, *shlex.split(words)], cwd=self.folder, text=True, stdout=subprocess.PIPE, **more
        )

    def make_workloads(self) -> None:
        """Layers of one to four nodes."""
        names = []
        for seed in range(WORKLOADS):
            width, layers = [(1, 12), (2, 6), (2, 8), (3, 5), (4, 4)][seed % 5]
            name = f"w{seed}.json"
            shape = f"--width {width} --layers {layers + seed % 2} --accelerators {2 + seed % 3}"
            self.run(f"generate layered {shape} --seed {seed} --output {name}", check=True)
            names.append(name)
        (self.folder / "list").write_text("\n".join(names) + "\n")

    def table(self, results: str) -> list[dict[str, str]]:
        """The table of a folder, made without any run, but for what is measured."""
        before = len(records(self.folder / results))
        self.run(f"compare {ASKED} --results {results}/ --any-version --export-csv {results}.csv", check=True)
        assert len(records(self.folder / results)) == before, "something was run again"
        with open(self.folder / f"{results}.csv", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            return [{key: cell for key, cell in row.items() if not any(m in key for m in MEASURED)} for row in rows]

    def tell(self, results: str, seconds: float) -> None:
        """Says what there is, and whether it is what runs in a row gave."""
        made = records(self.folder / results)
        counts = Counter((r["instance"]["hash"], r["method"], r["seed"]) for r in made)
        own, serial = stated(self.folder / results), stated(self.folder / "serial")
        same = sum(own.get(key) == value for key, value in serial.items())
        tables = self.table(results) == self.table("serial")
        twice = sum(counts.values()) - len(counts)
        print(
            f"{results}: {seconds:.0f} s, {len(counts)} of {RUNS} runs, {twice} made twice, "
            f"{same} as in a row, table {'the same' if tables else 'DIFFERS'}",
            flush=True,
        )
        self.differs |= len(counts) != RUNS or same != RUNS or not tables

    def in_a_row(self) -> None:
        began = time.monotonic()
        self.run(f"compare {ASKED} --results serial/", check=True)
        self.tell("serial", time.monotonic() - began)

    def on_slurm(self) -> None:
        """Four tasks, one of which is killed after a quarter of the runs; then the same array again."""
        script = Path(__file__).parents[1] / "tests" / "slurm" / "node.sh"
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cluster:
            subprocess.run(["bash", script, "start", cluster], check=True, stdout=subprocess.DEVNULL)
            try:
                self._arrays({**os.environ, "SLURM_CONF": f"{cluster}/slurm.conf"})
            finally:
                subprocess.run(["bash", script, "stop", cluster], check=False)

    def _arrays(self, environment: dict[str, str]) -> None:
        job = f"{shlex.quote(self.program)} compare {ASKED} --results slurm/ --shard slurm"
        submit = ["sbatch", "--array=1-4", "--wait", "--output=%a.log", "--wrap", job]
        began = time.monotonic()
        with killing(self.folder / "slurm", RUNS // 4, self._a_task):
            subprocess.run(submit, cwd=self.folder, env=environment, check=False, stdout=subprocess.DEVNULL)
        left = len(records(self.folder / "slurm"))
        print(f"slurm: {time.monotonic() - began:.0f} s to the end of the first array, {left} records", flush=True)
        subprocess.run(submit, cwd=self.folder, env=environment, check=True, stdout=subprocess.DEVNULL)
        self.tell("slurm", time.monotonic() - began)

    def _a_task(self) -> int:
        """A process that runs a part of the list."""
        found = subprocess.run(["pgrep", "-nf", "compare .* --shard slurm"], text=True, stdout=subprocess.PIPE)
        return int(found.stdout.split()[0])

    def on_dask(self) -> None:
        """Four workers, one of which is killed after a quarter of the runs."""
        import dagsplit
        from distributed import Client, LocalCluster

        workloads = [dagsplit.Instance.load(self.folder / f"w{seed}.json") for seed in range(WORKLOADS)]
        cluster = LocalCluster(n_workers=4, threads_per_worker=1, processes=True, dashboard_address=":0")
        with cluster, Client(cluster) as client:
            pids = list(client.run(os.getpid).values())
            began = time.monotonic()
            with killing(self.folder / "dask", RUNS // 4, lambda: pids[1]):
                dagsplit.sweep(
                    workloads,
                    METHODS.split(","),
                    client,
                    results=self.folder / "dask",
                    seeds=range(SEEDS),
                    memory_limit="2GiB",
                )
            self.tell("dask", time.monotonic() - began)


class killing:
    """Kills a process by -9 once so many records are there."""

    def __init__(self, folder: Path, after: int, process: Callable[[], int]) -> None:
        self.folder, self.after, self.process = folder, after, process
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.wait)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()

    def wait(self) -> None:
        while not self.ended.wait(1.0):
            if self.folder.is_dir() and len(records(self.folder)) >= self.after:
                os.kill(self.process(), signal.SIGKILL)
                print(f"{self.folder.name}: a worker was killed after {len(records(self.folder))} records", flush=True)
                return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="where workloads and results are kept [default: nowhere]")
    parser.add_argument("--dagsplit", default="dagsplit", help="the program")
    parser.add_argument("--engines", default="slurm,dask", help="beside runs in a row [default: %(default)s]")
    options = parser.parse_args()
    program = shutil.which(options.dagsplit) or parser.error(f"--dagsplit {options.dagsplit}: there is no such program")
    with tempfile.TemporaryDirectory() as temporary:
        sweep = Sweep(options.folder or Path(temporary), os.path.abspath(program))
        sweep.make_workloads()
        sweep.in_a_row()
        for engine in options.engines.split(","):
            {"slurm": sweep.on_slurm, "dask": sweep.on_dask}[engine]()
    return int(sweep.differs)


if __name__ == "__main__":
    raise SystemExit(main())
