"""Comparisons of methods and functions."""

import json
import signal
import subprocess
import sys
import textwrap
import time
from typing import Any

import pytest

from conftest import PROJECT
from dagsplit import Comparison, Instance, InvalidOption, Split, compare, generate


def halves(instance: Instance) -> list[list[int]]:
    """The first half of the nodes on one device."""
    nodes = [node.id for node in instance.nodes]
    return [nodes[: len(nodes) // 4], nodes[len(nodes) // 4 :]]


def lost(instance: Instance) -> list[list[int]]:
    """No node on any device."""
    return []


def broken(instance: Instance) -> Split:
    """Raises."""
    raise RuntimeError("out of ideas")


@pytest.fixture
def comparison(chain: Instance) -> Comparison:
    return compare([chain, generate("dnn", nodes=20, seed=1)], ["dp", halves, lost, broken, "latency-dp"])


def test_gaps_are_measured_against_the_proven_optimum(comparison: Comparison) -> None:
    rows = {row.method.rpartition(".")[2]: row for row in comparison if row.workload == "chain"}
    assert (rows["dp"].objective, rows["dp"].gap, rows["dp"].reference_is_optimum) == (7.0, 0.0, True)
    assert (rows["halves"].objective, rows["halves"].gap, rows["halves"].reference) == (10.0, 0.3, 7.0)
    assert len(comparison) == 10 and comparison[0] == comparison.rows[0]


def test_what_fails_is_a_row_that_says_why(comparison: Comparison) -> None:
    rows = {row.method.rpartition(".")[2]: row for row in comparison if row.workload == "chain"}
    told = {name: (rows[name].status, rows[name].message) for name in ("lost", "broken", "latency-dp")}
    assert told["lost"][0] == "rejected" and "node 0 is on no device" in str(told["lost"][1])
    assert told["broken"] == ("crashed", "it raised RuntimeError: out of ideas")
    assert told["latency-dp"][0] == "unsupported" and "it minimises the latency" in str(told["latency-dp"][1])


def test_data_frames(comparison: Comparison) -> None:
    pandas = comparison.to_pandas()
    polars = comparison.to_polars()
    assert list(pandas.columns) == polars.columns
    assert pandas["objective"].dropna().tolist() == polars["objective"].drop_nulls().to_list()
    assert len(pandas) == len(polars) == 10


def test_tables_and_plots(comparison: Comparison) -> None:
    assert "halves" in str(comparison) and "| halves |" not in str(comparison)
    assert "halves" in comparison._repr_markdown_() and "\\toprule" in comparison.to_text("latex")
    assert comparison.to_text("csv").count("\n") == 11
    assert comparison.plot().startswith("<svg")
    assert comparison.html().startswith("<!doctype html>") and "<td>halves</td>" in comparison.html()
    with pytest.raises(InvalidOption, match="name one of text"):
        comparison.to_text("html")  # type: ignore[arg-type]


def test_records_make_the_comparison_again(comparison: Comparison) -> None:
    again = Comparison([json.dumps(record) for record in comparison.records])
    assert again.rows == comparison.rows
    assert {record["schema"] for record in comparison.records} == {"dagsplit-compare/1"}


def test_methods_run_in_the_scopes_that_they_take(chain: Instance) -> None:
    rows = compare([chain], ["dp", "certify", halves], scope=["acyclic", "arbitrary"])
    pairs = [(row.method, row.scope) for row in rows]
    assert pairs == [
        ("dp", "acyclic"),
        ("certify", "arbitrary"),
        (f"py:{__name__}.halves", "acyclic"),
        (f"py:{__name__}.halves", "arbitrary"),
    ]


def test_slips_are_raised_and_are_no_rows(chain: Instance) -> None:
    with pytest.raises(InvalidOption, match="no method"):
        compare([chain], ["dq"])
    with pytest.raises(InvalidOption, match="unexpected argument"):
        compare([chain], [halves], acelerators=2)  # type: ignore[call-arg]


def test_progress_is_told(chain: Instance) -> None:
    seen: list[Any] = []
    compare([chain], ["dp", halves], progress=seen.append)
    assert seen == ["chain: dp", f"chain: py:{__name__}.halves"]
    assert len(compare([chain], ["dp"], progress=True)) == 1


def test_ctrl_c_keeps_what_is_done() -> None:
    program = """
        import dagsplit
        workload = dagsplit.Instance.load("instances/nasnet_large_inference.json")
        methods = ["greedy", "certify", "greedy"]
        told = lambda step: print(step.split()[-1], flush=True)
        comparison = dagsplit.compare([workload], methods, scope="arbitrary", time_limit=120, progress=told)
        print(len(comparison), comparison.interrupted)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert [child.stdout.readline() for _ in range(2)] == ["greedy\n", "certify\n"]
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert out == "1 True\n"
