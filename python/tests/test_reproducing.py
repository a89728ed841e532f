"""Published tables made again."""

import shutil
import signal
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from conftest import PROJECT
from dagsplit import InvalidInstance, InvalidOption, Reproduction, reproduce, studies

PROFILED = PROJECT / "instances" / "profiled"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """A row of Table 1 that is at hand, where all others are not."""
    folder = tmp_path_factory.mktemp("workloads")
    layers = folder / "tarnawski2020" / "throughput" / "layer"
    layers.mkdir(parents=True)
    shutil.copy(PROFILED / "tarnawski2020" / "throughput" / "layer" / "gnmt_inference.json", layers)
    return reproduce("table1", only="GNMT, layers", columns=["DP", "expert"], workloads=folder, time_limit=30)


def test_ours_stand_beside_the_published(table: Reproduction) -> None:
    [figure] = [figure for figure in table if figure.column == "DP" and figure.ours is not None]
    assert (figure.row, figure.published, figure.verdict, figure.is_proven) == ("GNMT, layers", 32.91, "agrees", True)
    assert figure.ours == pytest.approx(32.91, abs=0.01) and figure.reason is None
    assert table[0] == table.figures[0] and len(table) == len(table.figures)
    assert (table.study.name, table.interrupted) == ("table1", False)


def test_what_is_not_at_hand_says_so(table: Reproduction) -> None:
    [expert] = [figure for figure in table if "expert" in figure.column and figure.row == "GNMT, layers"]
    assert (expert.ours, expert.verdict) == (None, "incomparable")
    assert "not at hand: tarnawski2020/expert/gnmt_inference_expert.json" in str(expert.reason)


def test_frames_and_tables(table: Reproduction) -> None:
    pandas, polars = table.to_pandas(), table.to_polars()
    assert list(pandas.columns) == polars.columns and len(pandas) == len(polars) == len(table)
    assert "32.91*" in str(table) and "| GNMT, layers |" in table._repr_markdown_()
    assert "\\toprule" in table.to_text("latex") and table.to_text("csv").count("\n") == len(table) + 1
    with pytest.raises(InvalidOption, match="name one of text"):
        table.to_text("html")  # type: ignore[arg-type]


def test_the_record_is_that_of_the_command(table: Reproduction) -> None:
    assert table.record["schema"] == "dagsplit-reproduce/1"
    records = [run["result"]["record"] for run in table.record["runs"] if "record" in run["result"]]
    assert {record["schema"] for record in records} == {"dagsplit-compare/1"}
    assert {record["status"] for record in records if record["method"] == "dp"} == {"optimal"}


def test_plans_are_made_in_this_process_and_told() -> None:
    seen: list[Any] = []
    table = reproduce("parmesan-refinement", only="Res152", columns=["(4,4)"], time_limit=5, progress=seen.append)
    ours = {figure.column: figure.ours for figure in table}
    assert set(ours) == {"(4,4)", "(4,4), by load", "(4,4), refined to DP without clusters"}
    assert None not in ours.values()
    assert len(seen) == sum("record" in run["result"] for run in table.record["runs"]) > 1
    assert any("resnet" in step for step in seen)


def test_ctrl_c_keeps_what_is_done() -> None:
    program = """
        import dagsplit
        told = lambda step: print("runs", flush=True)
        table = dagsplit.reproduce("table1", only="operators", columns=["DP", "non"], time_limit=300, progress=told)
        print(table.interrupted, {figure.reason for figure in table if figure.ours is None} >= {"not run"})
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "runs\n"
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=120)
    assert out.splitlines()[-1] == "True True"


def test_slips_are_raised() -> None:
    with pytest.raises(InvalidOption, match="there is no study `table9`"):
        reproduce("table9")
    with pytest.raises(InvalidOption, match="no row and column"):
        reproduce("table1", only="VGG")
    with pytest.raises(InvalidInstance, match="there is no such folder"):
        reproduce("table1", workloads="missing")
    with pytest.raises(InvalidOption, match="unexpected argument"):
        reproduce("table1", tmie_limit=3)  # type: ignore[call-arg]


def test_every_study_is_listed() -> None:
    assert {"table1", "latency", "piper", "chen-hierarchy"} <= {study.name for study in studies()}
    assert all(study.source and study.title for study in studies())
