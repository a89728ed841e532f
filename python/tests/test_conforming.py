"""Functions held to the laws."""

from collections.abc import Mapping

import pytest

from dagsplit import Instance, InvalidOption, Split, conform, solve, verify


def right(instance: Instance, asked: Mapping[str, str]) -> Split | None:
    """What the solver says, for what is asked."""
    return solve(
        instance,
        scope=asked["scope"],  # type: ignore[arg-type]
        objective=asked["objective"],  # type: ignore[arg-type]
        time_limit=float(asked["time_limit"]) / 2,
    ).split


def one_device(instance: Instance) -> list[list[int]]:
    """Everything on the first device."""
    return [[node.id for node in instance.nodes]]


def test_a_right_function_passes() -> None:
    seen: list[tuple[int, int]] = []
    report = conform(right, cases=20, progress=lambda done, of: seen.append((done, of)))
    assert report.passed and report.findings == () and not report.interrupted
    assert seen[-1] == (20, 20)
    assert "right" in str(report) and repr(report) == "Conformance(passed)"


def test_a_broken_law_comes_with_a_small_instance() -> None:
    report = conform(one_device, cases=40, objective="throughput")
    [finding] = [each for each in report.findings if each.law == "feasible"]
    assert not report.passed and len(finding.instance.nodes) <= 3
    assert verify(finding.instance, one_device(finding.instance), scope=finding.scope)  # type: ignore[arg-type]
    assert "feasible" in repr(report)


def test_what_a_function_raises_breaks_the_law_that_it_runs() -> None:
    def raises(instance: Instance) -> Split:
        raise RuntimeError("out of ideas")

    report = conform(raises, cases=10)
    assert [finding.law for finding in report.findings] == ["runs"]
    assert "out of ideas" in report.findings[0].detail
    assert conform(raises, cases=10, waive=["runs"]).passed


def test_methods_are_held_to_the_laws_as_well() -> None:
    assert conform("dpl", cases=20, scope="acyclic").passed
    with pytest.raises(InvalidOption, match="there is no method"):
        conform("dq")
    with pytest.raises(InvalidOption, match="families"):
        conform(right, families=["none"])
