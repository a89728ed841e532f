"""The command `dagsplit` that comes with the package."""

import json
import signal
import subprocess
import sysconfig
import time
from pathlib import Path

import dagsplit

COMMAND = Path(sysconfig.get_path("scripts")) / "dagsplit"
BERT = "instances/bert12_inference.json"


def told(*words: str) -> tuple[int, str]:
    """The exit code of a run of the command, and what it prints."""
    run = subprocess.run([COMMAND, *words], capture_output=True, text=True, timeout=100)
    return run.returncode, run.stdout


def test_it_solves_as_the_package_does() -> None:
    code, answer = told("solve", BERT, "--json")
    assert code == 0
    assert json.loads(answer)["objective"] == dagsplit.solve(dagsplit.Instance.load(BERT)).objective


def test_exit_codes_and_errors_are_those_of_the_program() -> None:
    assert told("--version")[0] == 0
    assert told("solve")[0] == 2
    code, answer = told("info", "pyproject.toml", "--json")
    assert (code, json.loads(answer)["exit_code"]) == (3, 3)


def test_runs_of_their_own_are_made_by_the_same_command(tmp_path: Path) -> None:
    results = tmp_path / "runs.jsonl"
    code, _ = told("compare", BERT, "--methods", "dp,dpl", "--jobs", "2", "--results", str(results))
    records = [json.loads(line) for line in results.read_text().splitlines()]
    assert code == 0
    assert {record["method"]: record["status"] for record in records} == {"dp": "optimal", "dpl": "feasible"}


def test_interrupt_keeps_the_best_split() -> None:
    hard = [str(COMMAND), "solve", "instances/nasnet_large_inference.json", "--accelerators", "12", "--json", "--quiet"]
    search = subprocess.Popen(hard, stdout=subprocess.PIPE)
    time.sleep(2.0)
    search.send_signal(signal.SIGINT)
    answer, _ = search.communicate(timeout=30)
    assert search.returncode == 0
    assert json.loads(answer)["verified"]
