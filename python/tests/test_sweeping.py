"""Sweeps on executors."""

import json
import os
import signal
import subprocess
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from conftest import PROJECT
from dagsplit import Comparison, Costs, Instance, InvalidInstance, InvalidOption, Partitioner, compare, generate, sweep

METHODS = ["dp", "dpl", "slicegraph:generations=4", "latency-dp"]
SEEDS = range(3)


def halves(instance: Instance) -> list[list[int]]:
    """The first half of the nodes on one device."""
    nodes = [node.id for node in instance.nodes]
    return [nodes[: len(nodes) // 2], nodes[len(nodes) // 2 :]]


def killed_once(instance: Instance) -> list[list[int]]:
    """Kills the process that runs it, the first time."""
    mark = Path(os.environ["DAGSPLIT_TEST_MARK"])
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return halves(instance)


@pytest.fixture(scope="module")
def workloads() -> list[Instance]:
    return [generate("chain", nodes=nodes, seed=nodes) for nodes in (6, 8, 10)]


def timeless(comparison: Comparison) -> list[dict[str, Any]]:
    """Records without times, memory and machine."""
    left_out = {"seconds", "process_seconds", "cpu_seconds", "peak_bytes", "machine", "stats", "trace"}
    return [{name: value for name, value in record.items() if name not in left_out} for record in comparison.records]


def in_a_row(workloads: list[Instance], methods: list[Any]) -> list[dict[str, Any]]:
    """What `compare` tells of all runs, in the order of `sweep`."""
    rows = [timeless(compare([w], [m], seed=s)) for w in workloads for m in methods for s in SEEDS]
    records = [record for each in rows for record in each]
    return [record for record in records if record["status"] != "unsupported" or record["seed"] == 0]


def journals(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]


def pool(workers: int = 2) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


def test_a_sweep_is_what_runs_in_a_row_are(workloads: list[Instance], tmp_path: Path) -> None:
    methods: list[str | Partitioner] = [*METHODS, halves]
    with pool() as executor:
        rows = sweep(workloads, methods, executor, results=tmp_path, seeds=SEEDS)
    assert timeless(rows) == in_a_row(workloads, methods)
    assert len(list(tmp_path.iterdir())) == 2 and len(journals(tmp_path)) == len(rows)


class Nobody:
    """Makes no calls."""

    def submit(self, *call: Any) -> Any:
        raise AssertionError(call)


def test_what_is_there_is_not_run_again(workloads: list[Instance], tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as executor:
        first = sweep(workloads, METHODS, executor, results=tmp_path, seeds=SEEDS)
    again = sweep(workloads, METHODS, Nobody(), results=tmp_path, seeds=SEEDS)
    assert again.records == first.records
    with pytest.raises(AssertionError, match="dp"):
        sweep(workloads, METHODS, Nobody(), results=tmp_path, seeds=SEEDS, time_limit=60)
    file = next(tmp_path.iterdir())
    version = first.records[0]["versions"]["dagsplit"]
    file.write_text(file.read_text().replace(f'"dagsplit":"{version}"', '"dagsplit":"0.0.9"'))
    sweep(workloads, METHODS, Nobody(), results=tmp_path, seeds=SEEDS, any_version=True)
    with pytest.raises(AssertionError):
        sweep(workloads, METHODS, Nobody(), results=tmp_path, seeds=SEEDS)


def test_the_program_goes_on_with_the_same_journals(workloads: list[Instance], tmp_path: Path) -> None:
    program = os.environ.get("DAGSPLIT_COMMAND")
    if program is None:
        pytest.skip("DAGSPLIT_COMMAND names no program")
    workloads[0].save(tmp_path / "w.json")
    subprocess.run(
        [program, "compare", "w.json", "--methods", "dp,dpl", "--seeds", "0..2", "--results", "runs/"],
        cwd=tmp_path,
        check=True,
    )
    rows = sweep(workloads[:1], ["dp", "dpl"], Nobody(), results=tmp_path / "runs", seeds=SEEDS, any_version=True)
    assert [(row.method, row.seed) for row in rows] == [(method, seed) for method in ("dp", "dpl") for seed in SEEDS]


def test_a_killed_process_loses_its_task_alone(
    workloads: list[Instance], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSPLIT_TEST_MARK", str(tmp_path / "mark"))
    methods: list[str | Partitioner] = ["dp", "dpl", killed_once, "slicegraph:generations=4"]
    folder = tmp_path / "runs"
    with pytest.raises(BrokenProcessPool), pool(1) as executor:
        sweep(workloads, methods, executor, results=folder, seeds=SEEDS)
    before = journals(folder)
    assert len(before) == 6
    with pool() as executor:
        rows = sweep(workloads, methods, executor, results=folder, seeds=SEEDS)
    after = journals(folder)
    assert len(rows) == len(after) == 36 and all(record in after for record in before)
    assert timeless(rows) == in_a_row(workloads, methods)


def test_dask_runs_again_what_a_killed_worker_ran(
    workloads: list[Instance], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("DAGSPLIT_TEST_MARK", str(tmp_path / "mark"))
    cluster = distributed.LocalCluster(n_workers=4, threads_per_worker=1, processes=True, dashboard_address=":0")
    methods: list[str | Partitioner] = [*METHODS, killed_once]
    with cluster, distributed.Client(cluster) as client:
        rows = sweep(workloads, methods, client, results=tmp_path / "runs", seeds=SEEDS)
    assert (tmp_path / "mark").exists()
    assert timeless(rows) == in_a_row(workloads, methods)
    counts = Counter((record["instance"]["hash"], record["method"], record["seed"]) for record in rows.records)
    assert len(rows) == len(counts) == 39


def test_submitit_is_an_engine(workloads: list[Instance], tmp_path: Path) -> None:
    submitit = pytest.importorskip("submitit")
    executor = submitit.AutoExecutor(folder=tmp_path / "log", cluster="local")
    executor.update_parameters(timeout_min=5)
    rows = sweep(workloads[:1], ["dp", "dpl"], executor, results=tmp_path / "runs")
    assert [(row.method, row.gap) for row in rows] == [("dp", 0.0), ("dpl", 0.0)]


def test_the_recipe_for_ray_is_an_engine(workloads: list[Instance], tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    page = (PROJECT / "docs" / "sweeps.md").read_text(encoding="utf-8")
    recipe = next(code for code in page.split("```python\n") if code.startswith("import ray")).split("```")[0]
    names: dict[str, Any] = {}
    exec(recipe, names)
    ray.init(num_cpus=2, include_dashboard=False)
    try:
        rows = sweep(workloads, METHODS, names["Ray"](), results=tmp_path / "runs", seeds=SEEDS)
    finally:
        ray.shutdown()
    assert timeless(rows) == in_a_row(workloads, METHODS)


def test_what_is_wrong_is_told_before_anything_runs(workloads: list[Instance], tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="there is no method"):
        sweep(workloads, ["dp", "nonesuch"], Nobody(), results=tmp_path)
    (tmp_path / "other.jsonl").write_text("{}\n")
    with pytest.raises(InvalidInstance, match=r"other\.jsonl, line 1"):
        sweep(workloads, ["dp"], Nobody(), results=tmp_path)


def test_functions_are_told_apart(workloads: list[Instance], tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="two functions are called py:"):
        sweep(workloads, ["dp", halves, halves], Nobody(), results=tmp_path)

    def dp(instance: Instance) -> list[list[int]]:
        return [[node.id for node in instance.nodes]]

    with ThreadPoolExecutor(1) as executor:
        rows = sweep(workloads[:1], ["dp", dp], executor, results=tmp_path)
    assert [row.status for row in rows] == ["optimal", "feasible"]


class Failing:
    """Makes no second call."""

    def __init__(self) -> None:
        self.cancelled = 0
        self.calls = 0

    def submit(self, *_: Any) -> Any:
        self.calls += 1
        if self.calls > 1:
            raise OSError("no worker")
        return self

    def cancel(self) -> None:
        self.cancelled += 1


class Silent:
    """Makes no call, as a worker that Ctrl-C reaches."""

    def submit(self, *_: Any) -> Any:
        return self

    def result(self) -> None:
        return None


def test_an_engine_that_fails_leaves_no_call_behind(workloads: list[Instance], tmp_path: Path) -> None:
    engine = Failing()
    with pytest.raises(OSError, match="no worker"):
        sweep(workloads, ["dp"], engine, results=tmp_path)
    assert engine.cancelled == 1
    rows = sweep(workloads, ["dp"], Silent(), results=tmp_path)
    assert len(rows) == 0 and rows.interrupted


def test_costs_are_part_of_what_a_run_is(workloads: list[Instance], tmp_path: Path) -> None:
    given = Costs.of(workloads[0])
    with ThreadPoolExecutor(1) as executor:
        for costs in ("profiled", "per-edge", given, given):
            sweep(workloads[:1], ["dp"], executor, results=tmp_path, costs=costs)
    assert len(journals(tmp_path)) == 3


def test_programs_are_methods(workloads: list[Instance], tmp_path: Path) -> None:
    program = tmp_path / "split.py"
    program.write_text(
        "import json, sys\n"
        "nodes = [node['id'] for node in json.load(sys.stdin)['nodes']]\n"
        "json.dump({'fpgas': [{'nodes': nodes}]}, sys.stdout)\n"
    )
    rows = compare(workloads[:1], ["dp", f"exec:python3 '{program}'", "exec:false", "exec:echo '{}'", "exec:./missing"])
    assert [row.status for row in rows] == ["optimal", "feasible", "crashed", "rejected", "unsupported"]
    assert rows[1].gap is not None and rows[1].gap >= 0
