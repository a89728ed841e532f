"""Interconnects, and pipelines on them: mapping, planning, simulation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from . import _native
from ._options import Path
from ._words import words
from .instances import Instance
from .pictures import Picture
from .progress import Progress, told
from .solving import page_of
from .splits import Split

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Mapped, Planned, Simulated


class Topology:
    """Devices, and the bandwidth between every two of them.

    >>> Topology.generate("hierarchical", nodes=2, node_size=4)
    Topology('hierarchical-2x4', 8 devices)
    """

    def __init__(self, native: _native.Topology) -> None:
        """Use `load`, `from_json` or `generate`."""
        self._native = native

    @classmethod
    def load(cls, path: Path, link: Mapping[str, float | str] | None = None) -> Topology:
        """The topology in a file: dagsplit's JSON, a CSV matrix, or what `nvidia-smi topo -m` or
        p2pBandwidthLatencyTest prints. `link` gives the bandwidths that `nvidia-smi` leaves open, such as `{"NV":
        "21.4GiB"}`.

        Raises:
            InvalidInstance: everything that is wrong with the file.
        """
        return cls(_native.Topology.load(path, words({"link": link})))

    @classmethod
    def from_json(cls, text: str) -> Topology:
        """The topology in a text of any of these formats but `nvidia-smi`'s."""
        return cls(_native.Topology.parse(text))

    @classmethod
    def generate(cls, family: str, **options: object) -> Topology:
        """A topology of a family: `hierarchical`, `dgx1`, `mesh`, `torus`, `fat-tree`, `nvswitch` and others; `dagsplit
        generate topology --help` lists them and their options, which are the keywords.

        Raises:
            InvalidOption: there is no such family or option.
        """
        return cls.from_json(_native.generated(["topology", family, *words(options)]))

    @property
    def name(self) -> str:
        """Its name."""
        return self._native.name

    @property
    def devices(self) -> list[str]:
        """The names of its devices."""
        return self._native.devices

    def save(self, path: Path) -> None:
        """Writes the topology to a file of dagsplit's own format."""
        FilePath(path).write_text(self._native.write(), encoding="utf-8")

    def __repr__(self) -> str:
        return f"Topology({self.name!r}, {len(self.devices)} devices)"


@dataclass(frozen=True)
class MappingRun:
    """Where the stages of a split lie on an interconnect."""

    status: str
    """How the search ended, as in `Run.status`."""
    objective: float | None
    """The verified time of the slowest copy for a microbatch."""
    lower_bound: float | None
    """No mapping is below it."""
    gap: float | None
    """(objective - lower bound) / objective."""
    copies: Sequence[Mapping[str, Any]] = field(repr=False)
    """The device of each copy of each stage, and the parts of its time."""
    interrupted: bool
    """Whether Ctrl-C ended the search early."""
    record: Mapping[str, Any] = field(repr=False)
    """The whole record, as `dagsplit map --json` prints it (schema `dagsplit-map/1`)."""
    json: str | None = field(repr=False)
    """The mapping as a file (schema `dagsplit-mapping/1`); None where there is none."""
    picture: Picture = field(repr=False)
    """A picture of the topology in the colours of the stages."""

    def _repr_svg_(self) -> str:
        return self.picture


def map(
    split: Split,
    topology: Topology,
    *,
    progress: bool | Callable[[Progress], object] = False,
    **search: Unpack[Mapped],
) -> MappingRun:
    """Places the stages of a split, each in `replicas` copies, on the devices of an interconnect: optimally, or with a
    bound (`docs/mapping.md`). Progress and Ctrl-C are as in `solve`.

    Raises:
        InvalidOption: an option does not exist or does not fit.
        InvalidSplit: the split breaks a rule.

    >>> layers = [Node(id, accelerator_times=(3.0,), transfer_time=1.0, output_bytes=1e6) for id in range(4)]
    >>> chain = Instance(layers, [(0, 1), (1, 2), (2, 3)], Platform.uniform(2))
    >>> mapped = map(solve(chain).split, Topology.generate("hierarchical", nodes=2, node_size=4), replicas=2)
    >>> mapped.status, len(mapped.copies)
    ('optimal', 4)
    """
    instance = split.instance
    with told(progress) as watcher:
        text, file, svg, interrupted = _native.map(
            instance._native, split._devices(), topology._native, words(search), watcher
        )
    record = json.loads(text)
    return MappingRun(
        status=record["status"],
        objective=record["objective"],
        lower_bound=record["lower_bound"],
        gap=record["gap"],
        copies=record["copies"],
        interrupted=interrupted,
        record=record,
        json=file,
        picture=Picture(svg),
    )


@dataclass(frozen=True)
class Plan:
    """How a workload best uses an interconnect."""

    status: str
    """`optimal`, `feasible`, `infeasible` or `unknown`."""
    objective: float | None
    """Simulated time of a step of the best candidate, in milliseconds."""
    lower_bound: float | None
    """A time that no step of any candidate is below."""
    gap: float | None
    """How far the objective is above the bound, as a part of it."""
    best: Mapping[str, Any] | None
    """The candidate with the shortest simulated step of those that fit in memory: `stages`, `replicas`, `tensor_degree`,
    `microbatches`, `throughput` (samples per second), `bubble`, `breakdown` and more; None where there is none."""
    candidates: Sequence[Mapping[str, Any]] = field(repr=False)
    """Every way to use the devices that was looked at, the best first."""
    split: Split | None
    """The split of the best candidate."""
    interrupted: bool
    """Whether Ctrl-C ended the search early."""
    record: Mapping[str, Any] = field(repr=False)
    """The whole record, as `dagsplit plan --json` prints it (schema `dagsplit-plan/2`)."""
    _page: _native.Page | None = field(repr=False, compare=False)

    @property
    def front(self) -> list[Mapping[str, Any]]:
        """Of a workload that is served, the candidates that no other is better than in samples a second, latency or
        tokens, and as good in the rest: `serving` has these."""
        return [each for each in self.candidates if each.get("serving", {}).get("on_front")]

    def html(self) -> str:
        """A page of HTML that loads nothing: why the plan is the best, all candidates to sort and filter, time against
        memory, where the time goes, the step, and the graph by stages.

        Raises:
            InvalidOption: the plan was pickled, which leaves out what its page is made of.
        """
        return page_of(self._page)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_page": None}


def plan(
    instance: Instance,
    topology: Topology,
    *,
    progress: bool | Callable[[Progress], object] = False,
    **search: Unpack[Planned],
) -> Plan:
    """Chooses stages, replicas and devices for a batch: every way to share out the devices is split, mapped and simulated, and
    bounded from below (`docs/plan.md`). Progress and Ctrl-C are as in `solve`.

    Raises:
        InvalidOption: an option does not exist or does not fit.

    >>> plan(generate("transformer", layers=2), Topology.generate("dgx1"), stages=[2, 4]).best["status"]
    'best'
    """
    with told(progress) as watcher:
        text, devices, page, interrupted = _native.plan(instance._native, topology._native, words(search), watcher)
    record = json.loads(text)
    best = next((each for each in record["candidates"] if each["status"] == "best"), None)
    split = None if devices is None else Split._of(instance, devices, None)
    return Plan(
        record["status"],
        record["objective"],
        record["lower_bound"],
        record["gap"],
        best,
        record["candidates"],
        split,
        interrupted,
        record,
        page,
    )


@dataclass(frozen=True)
class Simulation:
    """A pipeline under a schedule."""

    makespan: float
    """When everything is done, in the workload's time unit."""
    throughput: float | None
    """Microbatches per time unit."""
    steady_time: float | None
    """The time that one more microbatch takes once the pipeline is full."""
    bubble: float
    """The share of the makespan in which devices with work are idle, on average."""
    record: Mapping[str, Any] = field(repr=False)
    """The whole record, as `dagsplit simulate --json` prints it (schema `dagsplit-simulate/1`)."""
    picture: Picture = field(repr=False)
    """The timeline as a Gantt chart."""

    def _repr_svg_(self) -> str:
        return self.picture


def simulate(split: Split, **simulation: Unpack[Simulated]) -> Simulation:
    """Runs the pipeline of a split under a schedule (`docs/simulate.md`): `simulate(split, schedule="1f1b")`.

    Raises:
        InvalidOption: an option does not exist, or the schedule cannot run the split.
        InvalidSplit: the split breaks a rule.

    >>> layers = [Node(id, accelerator_times=(3.0,), transfer_time=1.0) for id in range(4)]
    >>> chain = Instance(layers, [(0, 1), (1, 2), (2, 3)], Platform.uniform(2))
    >>> simulate(solve(chain).split, schedule="inference", microbatches=10).steady_time
    7.0
    """
    instance = split.instance
    text, svg = _native.simulate(instance._native, split._devices(), words(simulation))
    record = json.loads(text)
    return Simulation(
        record["makespan"], record["throughput"], record["steady_time"], record["bubble"], record, Picture(svg)
    )


def generate(family: str, **options: object) -> Instance:
    """A workload of a family: a model graph with modelled costs (`transformer`, `resnet`, `inception`, `nasnet`,
    `swin`, `semantic-fpn`, `llm`) or a seeded random DAG (`chain`, `series-parallel`, `layered`, `dnn`, `erdos-renyi`).
    Keywords are the options that `dagsplit generate FAMILY --help` lists; equal ones give equal workloads.

    Raises:
        InvalidOption: there is no such family or option, or options contradict each other.

    >>> generate("dnn", nodes=50, seed=7)
    Instance('dnn-50-seed7-inference', 50 nodes, 67 edges, 6 accelerators, 1 CPUs)
    """
    return Instance.from_json(_native.generated([family, *words(options)]))
