"""Searches: against the command, against functions, and how they end."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import PROJECT, data_of
from dagsplit import Instance, InvalidOption, InvalidSplit, Progress, Split, generate, methods, solve, verify

COMMAND = os.environ.get("DAGSPLIT_COMMAND") or shutil.which("dagsplit")
"""The program that answers are held against; `make test` says where it is."""

CASES: list[tuple[str, dict[str, Any]]] = [
    ("bert12_inference", {}),
    ("bert6_training", {"accelerators": 4}),
    ("resnet50_training", {"objective": "gpipe"}),
    ("resnet50_inference", {"method": "certify", "scope": "arbitrary", "time_limit": 20.0}),
    ("inceptionv3_inference", {"accelerators": 3, "cpus": 0, "memory": "unlimited"}),
    ("bert12_elementary_inference", {"method": "dpl,greedy", "cost": "overlap"}),
    ("gpt24_inference", {"replicas": 2, "sync_bandwidth": "10GB"}),
    ("bert12_inference", {"server_size": 2, "between_factor": 4.0}),
]


@pytest.mark.skipif(COMMAND is None, reason="there is no command `dagsplit`; set DAGSPLIT_COMMAND")
@pytest.mark.parametrize(("name", "options"), CASES)
def test_answers_are_those_of_the_command(name: str, options: dict[str, Any]) -> None:
    path = PROJECT / "instances" / f"{name}.json"
    arguments = [f"--{option.replace('_', '-')}={value}" for option, value in options.items()]
    told = subprocess.run([str(COMMAND), "solve", str(path), "--json", *arguments], check=True, capture_output=True)
    expected = json.loads(told.stdout)
    run = solve(Instance.load(path), **options)

    def without_seconds(record: Any) -> Any:
        times = {
            "seconds": 0.0,
            "trace": [],
            "stats": {},
            "techniques": [{**each, "seconds": 0.0} for each in record.get("techniques", [])],
            "compared": [{**each, "seconds": 0.0} for each in record.get("compared", [])],
        }
        return {**record, **times}

    assert without_seconds(run.record) == without_seconds(expected)
    assert run.split is not None
    asked = {option: value for option, value in options.items() if option not in ("method", "time_limit")}
    assert verify(run.split.instance, run.split, **asked) == []


def test_a_run_says_what_the_record_says(chain: Instance) -> None:
    run = solve(chain, "dp,greedy")
    assert (run.status, run.objective, run.gap, run.scope, run.objective_kind) == (
        "optimal",
        7.0,
        0.0,
        "acyclic",
        "throughput",
    )
    assert run.split is not None and run.split.objective == 7.0
    assert [device.load for device in run.split.devices] == [7.0, 7.0]
    assert [each["method"] for each in run.compared] == ["dp", "greedy"]
    assert not run.interrupted
    assert "optimal" in repr(run)


def test_a_page_holds_the_run_until_it_is_pickled(chain: Instance) -> None:
    for run in (solve(chain, "dp"), solve(chain, lambda instance: [[0], [1, 2, 3]])):
        assert data_of(run.html())["record"] == run.record
        copy = pickle.loads(pickle.dumps(run))
        assert copy == run
        with pytest.raises(InvalidOption, match="pickled"):
            copy.html()


def test_what_has_no_split_is_an_outcome(chain: Instance) -> None:
    tight = Instance([*chain.nodes[:3]], chain.edges[:2], chain.platform)
    heavy = tight.from_dict({**tight.to_dict(), "nodes": [{**each, "memory": 10} for each in tight.to_dict()["nodes"]]})
    run = solve(heavy, memory=5)
    assert (run.status, run.split, run.objective, run._repr_svg_()) == ("infeasible", None, None, None)


def test_the_time_limit_keeps_the_best_split(hard: Instance) -> None:
    run = solve(hard, "certify", scope="arbitrary", time_limit=1.0)
    assert run.status == "feasible" and run.split is not None and run.lower_bound is not None
    assert run.seconds < 5


def test_a_method_that_does_not_take_the_problem_says_why(chain: Instance) -> None:
    with pytest.raises(InvalidOption, match="dp does not take this problem"):
        solve(chain, "dp", scope="arbitrary")
    with pytest.raises(InvalidOption, match="there is no method"):
        solve(chain, "magic")
    assert {"dp", "certify"} <= {method.name for method in methods() if method.exact}


def test_a_function_is_a_method(chain: Instance) -> None:
    asked: dict[str, str] = {}

    def halves(instance: Instance, request: Any) -> list[list[int]]:
        asked.update(request)
        return [[0, 1], [2, 3]]

    run = solve(chain, halves, scope="convex", seed=3, time_limit=2.5)
    assert (run.method, run.status, run.objective, run.lower_bound) == ("halves", "feasible", 7.0, None)
    assert asked["scope"] == "convex" and asked["seed"] == "3" and float(asked["time_limit"]) == 2.5
    assert solve(chain, lambda instance: solve(instance).split).objective == 7.0
    assert solve(chain, lambda instance: None).status == "unknown"


def test_an_invalid_split_of_a_function_is_told(chain: Instance) -> None:
    with pytest.raises(InvalidSplit, match="node 3 is on no device"):
        solve(chain, lambda instance: [[0, 1], [2]])
    with pytest.raises(InvalidSplit, match="claims the objective 1"):
        solve(chain, lambda instance: Split(instance, Split.of(instance, [[0, 1], [2, 3]]).devices, objective=1.0))
    with pytest.raises(ZeroDivisionError):
        solve(chain, lambda instance: 1 / 0)  # type: ignore[arg-type]


def test_progress_is_told(hard: Instance) -> None:
    seen: list[Progress] = []
    solve(hard, "certify", scope="arbitrary", time_limit=1.5, progress=seen.append)
    assert seen and all(each.phase for each in seen)
    gaps = [each.gap for each in seen if each.gap is not None]
    assert all(0 <= gap <= 1 for gap in gaps)
    assert solve(hard, "certify", scope="arbitrary", time_limit=0.5, progress=True).split is not None


def test_what_progress_raises_ends_the_search(hard: Instance) -> None:
    def stop(_: Progress) -> None:
        raise StopIteration("enough")

    started = time.monotonic()
    with pytest.raises(StopIteration, match="enough"):
        solve(hard, "certify", scope="arbitrary", time_limit=60, progress=stop)
    assert time.monotonic() - started < 20


def test_other_threads_run_meanwhile(hard: Instance) -> None:
    turns = 0
    done = threading.Event()

    def turn() -> None:
        nonlocal turns
        while not done.wait(0.01):
            turns += 1

    other = threading.Thread(target=turn)
    other.start()
    solve(hard, "certify", scope="arbitrary", time_limit=1.5)
    done.set()
    other.join()
    assert turns > 20


def test_ctrl_c_keeps_the_best_split() -> None:
    program = """
        import dagsplit
        workload = dagsplit.Instance.load("instances/nasnet_large_inference.json")
        print("begun", flush=True)
        run = dagsplit.solve(workload, "certify", scope="arbitrary", time_limit=120)
        print(run.status, run.interrupted, dagsplit.verify(workload, run.split, scope="arbitrary"))
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "begun\n"
    time.sleep(1.5)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert out == "feasible True []\n"


def test_many_small_searches_leave_no_memory_behind() -> None:
    """One thousand by default; `DAGSPLIT_MANY=10000` for as many as the project promises."""
    many = int(os.environ.get("DAGSPLIT_MANY", "1000"))
    texts = [generate("dnn", nodes=12, seed=seed, accelerators=2).to_json() for seed in range(50)]

    def solve_all(count: int) -> None:
        for place in range(count):
            assert solve(Instance.from_json(texts[place % len(texts)])).split is not None

    solve_all(many // 2)
    before = _resident()
    solve_all(many)
    assert _resident() - before < 4 * 2**20


def _resident() -> int:
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("the system does not tell how much memory a process holds")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_asking_from_python_costs_little(chain: Instance) -> None:
    def seconds() -> float:
        started = time.perf_counter()
        solve(chain)
        return time.perf_counter() - started

    assert min(seconds() for _ in range(20)) < 0.005
