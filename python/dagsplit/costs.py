"""What splits cost, as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from . import _native
from ._words import words
from .instances import Instance

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Request


@dataclass(frozen=True)
class Piece:
    """A linear piece of a load: `compute` times the compute time of a device, plus `incoming` times what it takes to
    receive, plus `outgoing` times what it takes to send. A load is the largest of its pieces' values.

    >>> Piece(1.0, 1.0, 1.0)  # one after another
    Piece(compute=1.0, incoming=1.0, outgoing=1.0)
    >>> (Piece(1.0, 0.0, 0.0), Piece(0.0, 1.0, 1.0))  # transfers beside compute
    (Piece(compute=1.0, incoming=0.0, outgoing=0.0), Piece(compute=0.0, incoming=1.0, outgoing=1.0))
    """

    compute: float
    """Coefficient of the compute time."""
    incoming: float
    """Coefficient of the time of transfers onto the device."""
    outgoing: float
    """Coefficient of the time of transfers off the device."""


@dataclass(frozen=True)
class Transfer:
    """Data that moves between devices as a whole. A device that holds some of its nodes, but not all, pays for it once:
    on the way out where it holds the source, else on the way in."""

    source: int
    """The id of the node that makes it."""
    consumers: Sequence[int]
    """The ids of the nodes that need it: some or all successors of the source."""
    between: float = 1.0
    """How many times its time it takes between servers; at least 1."""
    bytes: float | None = None
    """How many bytes it has, where known."""


@dataclass(frozen=True)
class KindCost:
    """What an accelerator of one class takes. Lists of nodes are in the order of `Instance.nodes`."""

    compute: Sequence[float | None]
    """Time to process each node; None where the class cannot run it."""
    memory: Sequence[float]
    """Bytes that each node occupies."""
    transfers: Sequence[float]
    """Time to move each of `Costs.transfers` onto or off the device."""
    pieces: Sequence[Piece] = (Piece(1.0, 1.0, 1.0),)
    """The linear pieces whose maximum is the load: one to eight."""
    boundary: Sequence[float] = ()
    """Bytes that the device keeps for each edge from a node that enters or leaves it; empty where there are none."""


@dataclass(frozen=True)
class Costs:
    """A cost model given as data: what nodes, transfers and memory cost on each kind of device.

    `solve`, `verify` and `compare` take it, or a function that makes it of an instance, as keyword `costs`; every
    method and the verifier then work by it and by nothing else. It is put in place of what the instance and the keyword
    `cost` say; the instance still says which devices there are and what memory they have.

    >>> layers = [Node(id, accelerator_times=(3.0,), transfer_time=1.0) for id in range(4)]
    >>> chain = Instance(layers, [(0, 1), (1, 2), (2, 3)], Platform.uniform(2))
    >>> def contention(instance):
    ...     '''Half of what an accelerator receives keeps it from computing.'''
    ...     costs = Costs.of(instance)
    ...     pieces = (Piece(1.0, 0.5, 0.0), Piece(0.0, 1.0, 1.0))
    ...     return replace(costs, accelerators=[replace(kind, pieces=pieces) for kind in costs.accelerators])
    >>> run = solve(chain, costs=contention)
    >>> run.status, run.objective
    ('optimal', 6.5)
    >>> verify(chain, run.split, costs=contention)
    []
    """

    accelerators: Sequence[KindCost]
    """What each class of accelerators takes."""
    cpu: Sequence[float | None]
    """Time of each node on a CPU, which pays for no transfer and has no limit of memory; None where none can run it."""
    transfers: Sequence[Transfer]
    """What moves between devices, in the order of its sources in `Instance.nodes`."""
    shared_memory: bool = False
    """Whether replicas of a stage share what it needs in memory; else each of them needs all of it."""
    overlapped_synchronisation: bool = False
    """Whether replicas all-reduce their weights beside the rest, so that the larger of the two counts."""

    @classmethod
    def of(cls, instance: Instance, **request: Unpack[Request]) -> Costs:
        """What splits cost by the `request`, such as `cost="overlap"`: a model of one's own begins with a copy of it,
        changed by `dataclasses.replace`.

        Raises:
            InvalidOption: what is asked makes no sense for the instance.

        >>> layers = [Node(id, accelerator_times=(3.0,), transfer_time=1.0) for id in range(2)]
        >>> costs = Costs.of(Instance(layers, [(0, 1)], Platform.uniform(2)), cost="overlap")
        >>> costs.accelerators[0].compute, costs.transfers[0].consumers, len(costs.accelerators[0].pieces)
        ([3.0, 3.0], [1], 2)
        """
        made = _native.costs(instance._native, words(request))
        accelerators = [
            KindCost(**{**kind, "pieces": [Piece(**piece) for piece in kind["pieces"]]})
            for kind in made.pop("accelerators")
        ]
        transfers = [Transfer(**transfer) for transfer in made.pop("transfers")]
        return cls(accelerators=accelerators, transfers=transfers, **made)


CostModel: TypeAlias = Costs | Callable[[Instance], Costs]
"""What splits cost, or a function that says so for an instance."""
