"""Partitioners held to laws."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from ._words import words
from .instances import Instance
from .progress import counted
from .solving import Partitioner, name_of, partition
from .splits import Split

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Request

Family = str
"""Where cases are drawn from; `dagsplit conform --help` lists the families."""

Law = Literal[
    "runs",
    "readable",
    "feasible",
    "claim",
    "not-below-optimum",
    "bound",
    "optimal",
    "infeasible",
    "proof",
    "deterministic",
    "renumbering",
    "limits",
    "cancellation",
]
"""What a partitioner is held to; `docs/your-partitioner.md` states each law."""


@dataclass(frozen=True)
class Finding:
    """A broken law, with a small instance that breaks it."""

    law: str
    """The law."""
    detail: str
    """What happened."""
    scope: str
    """The scope asked for."""
    objective: str
    """The objective asked for."""
    instance: Instance
    """A small instance: nodes, edges, devices and costs are taken away as long as the law stays broken."""


@dataclass(frozen=True)
class Conformance:
    """What came of holding a partitioner to the laws. Printed it is the table of `dagsplit conform`."""

    passed: bool
    """Whether it took some case and broke no law."""
    findings: tuple[Finding, ...]
    """The laws that it broke."""
    interrupted: bool
    """Whether Ctrl-C ended it before all cases were tried."""
    record: Mapping[str, Any]
    """The whole report, as `dagsplit conform --json` prints it (schema `dagsplit-conformance/1`)."""
    text: str
    """The report for people."""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        broken = ", ".join(finding.law for finding in self.findings)
        return f"Conformance({'passed' if self.passed else f'broken: {broken}' if broken else 'no case was tried'})"


def conform(
    partitioner: str | Partitioner,
    *,
    cases: int | None = None,
    seed: int | None = None,
    families: Sequence[Family] | None = None,
    time_limit: float | None = None,
    waive: Sequence[Law] = (),
    renumbering: bool = False,
    progress: bool | Callable[[int, int], object] = False,
    **request: Unpack[Request],
) -> Conformance:
    """Holds a function, or a method of dagsplit, to the laws: valid splits, honest claims, in time.

    It is tried on small problems of many families, whose optimum is known, and on some of a few hundred nodes; a
    function is held to what a program is held to (`docs/your-partitioner.md`). `request` says what it is asked; devices
    are those of each case. `progress` is a function that is told how many of how many cases are done, or True for tqdm.

    Raises:
        InvalidOption: an option does not exist, or there is no such method.

    >>> def all_on_one(instance):
    ...     nodes = [node.id for node in instance.nodes]
    ...     return [nodes]
    >>> report = conform(all_on_one, cases=20)
    >>> report.passed, [finding.law for finding in report.findings]
    (False, ['feasible'])
    """
    options = {"cases": cases, "seed": seed, "families": families, "time_limit": time_limit, **request}
    options |= {"waive": waive or None, "renumbering": renumbering}
    function = None if isinstance(partitioner, str) else _answering(partitioner)
    name = partitioner if isinstance(partitioner, str) else name_of(partitioner)
    with counted(progress) as watcher:
        text, shown, instances, interrupted = _native.conform(name, function, words(options), watcher)
    record = json.loads(text)
    findings = zip(record["findings"], instances, strict=True)
    found = tuple(_finding(finding, Instance._of(instance)) for finding, instance in findings)
    return Conformance(record["passed"], found, interrupted, record, shown)


def _answering(function: Partitioner) -> Callable[[_native.Instance, dict[str, str]], str]:
    """The function as the native module calls it."""

    def answer(native: _native.Instance, asked: dict[str, str]) -> str:
        instance = Instance._of(native)
        split = partition(function, instance, asked)
        return '{"status": "unknown"}' if split is None else Split.of(instance, split).to_json()

    return answer


def _finding(finding: Mapping[str, Any], instance: Instance) -> Finding:
    return Finding(finding["law"], finding["detail"], finding["scope"], finding["objective"], instance)
