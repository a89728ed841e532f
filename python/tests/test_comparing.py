"""Comparisons of methods and functions."""

import json
import math
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import PROJECT
from dagsplit import Comparison, Instance, InvalidInstance, InvalidOption, Split, compare, generate


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
    assert comparison.html().startswith("<!doctype html>") and "halves</code></td>" in comparison.html()
    with pytest.raises(InvalidOption, match="name one of text"):
        comparison.to_text("html")  # type: ignore[arg-type]
    for table, title in (("methods", "worst gap"), ("ratios", "geometric mean"), ("contiguity", "price at most")):
        assert title in comparison.to_text(table=table)  # type: ignore[arg-type]
    for kind in ("profile", "proof-time", "progress", "boxes"):
        assert 'width="84.00mm"' in comparison.plot(kind, width=84)
    with pytest.raises(InvalidOption, match="name one of gaps"):
        comparison.plot("scatter")  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="name one of runs"):
        comparison.to_text(table="rows")  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="ask `against`"):
        comparison.to_text(table="changes")  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="name one of profile"):
        comparison.curves("rows")  # type: ignore[arg-type]
    for width in (-5.0, math.nan, 1e9):
        with pytest.raises(InvalidOption, match="width"):
            comparison.plot(width=width)
    for factor in (0.5, math.nan):
        with pytest.raises(InvalidOption, match="slower_by"):
            comparison.against(comparison, slower_by=factor)


def test_statistics_are_frames(comparison: Comparison) -> None:
    summaries = comparison.summaries()
    frame = comparison.to_pandas()
    for summary in summaries:
        rows = frame[(frame["method"] == summary.method) & (frame["scope"] == summary.scope)]
        gaps = rows["gap"].dropna().astype(float)
        assert (summary.runs, summary.found) == (len(rows), int(rows["objective"].notna().sum()))
        assert summary.mean_gap == (pytest.approx(gaps.mean()) if len(gaps) else None)
        assert summary.median_gap == (pytest.approx(gaps.median()) if len(gaps) else None)
    assert [summary.method for summary in summaries] == summaries.to_pandas()["method"].tolist()
    profile = comparison.curves("profile")
    best = [step.y for step in profile if step.method == "dp" and step.x == 1.0]
    assert best == [1.0] and comparison.curves("progress").to_polars().columns == ["method", "scope", "x", "y"]
    assert len(comparison.prices()) == 0


def test_what_contiguity_costs(chain: Instance) -> None:
    (price,) = compare([chain], ["portfolio"], scope=["acyclic", "arbitrary"]).prices()
    assert (price.narrow, price.wide, price.at_least) == ("acyclic", "arbitrary", price.at_most)
    assert price.narrow_best == pytest.approx(price.at_least * (price.wide_best or 0))


def test_results_are_held_against_earlier_ones(chain: Instance, tmp_path: Path) -> None:
    good = compare([chain], [halves, "dp"])
    worse = [dict(record, objective=12.0) if "halves" in record["method"] else record for record in good.records]
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in worse))
    bad = Comparison.load(tmp_path)
    assert [(change.worse, change.better) for change in bad.against(good)] == [(["objective"], []), ([], [])]
    assert [(change.worse, change.better) for change in good.against(bad)] == [([], ["objective"]), ([], [])]
    with pytest.raises(InvalidInstance):
        Comparison.load(tmp_path / "none.jsonl")
    # A run that Ctrl-C ended, its rerun, and that of another process.
    first = good.records[0]
    lines = [dict(first, status="interrupted", objective=12.0), first, first]
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in lines))
    assert Comparison.load(tmp_path).rows == Comparison([json.dumps(first)]).rows
    (tmp_path / "more.jsonl").write_text(json.dumps(dict(first, versions={"dagsplit": "0.0.9", "highs": None})) + "\n")
    with pytest.raises(InvalidInstance, match="several versions"):
        Comparison.load(tmp_path)


def test_pictures_are_pages_and_pixels(comparison: Comparison, tmp_path: Path) -> None:
    beginnings = {"svg": b"<svg", "pdf": b"%PDF-", "png": b"\x89PNG"}
    for end, beginning in beginnings.items():
        comparison.plot("profile").save(tmp_path / f"profile.{end}")
        assert (tmp_path / f"profile.{end}").read_bytes().startswith(beginning)
    with pytest.raises(InvalidOption, match="ends with"):
        comparison.plot().save(tmp_path / "profile.eps")


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
