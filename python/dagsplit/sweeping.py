"""Many runs on whatever makes them: processes, machines of a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from . import _native
from ._options import Path
from .comparing import Comparison, named, record_of, trial_record, trials
from .instances import Instance
from .progress import steps
from .solving import Partitioner

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Search


class Promise(Protocol):
    """A call that was submitted."""

    def result(self) -> object:
        """Waits for its end, and raises what it raised."""

    def cancel(self) -> object:
        """Has it not made, or ended, if that can be."""


class Engine(Protocol):
    """Whatever makes calls: a `concurrent.futures.Executor`, or what has its `submit`."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        """Has a call made, and returns a `Promise`."""


def sweep(
    instances: Sequence[Instance],
    methods: Sequence[str | Partitioner],
    executor: Engine,
    *,
    results: Path,
    seeds: Iterable[int] = (0,),
    any_version: bool = False,
    progress: bool | Callable[[str], object] = False,
    **search: Unpack[Search],
) -> Comparison:
    """The runs of `compare`, for each of the seeds, on an executor: one of `concurrent.futures`, a `Client` of Dask,
    one of submitit, or whatever else has `submit(function, *arguments)` and returns what has `result()` and `cancel()`.

    Each process that makes runs appends them, as soon as they are there, to a journal of its own in the folder
    `results`, which all of them have to see; these are the journals of `dagsplit compare --results FOLDER/`. What the
    folder holds already (same workload content, problem, costs, method, seed, limits and version) is not run again. So
    after a process was killed nothing but its running task is lost, and another call goes on. `any_version` takes what
    other versions of dagsplit have found, too. Functions have to be of a module that the processes can import, and are
    known by module and name: after an edit take another folder. Ctrl-C keeps what is done; what an engine raises
    cancels what is not yet done.

    Raises:
        InvalidOption: an option does not exist or does not fit, there is no such method, or functions share a name.
        OutputError: a result cannot be kept.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from tempfile import TemporaryDirectory
    >>> chain = generate("chain", nodes=6, seed=1)
    >>> with ThreadPoolExecutor(2) as executor, TemporaryDirectory() as folder:
    ...     rows = sweep([chain], ["dp", "dpl"], executor, results=folder, seeds=range(2))
    >>> [(row.method, row.seed, row.gap) for row in rows]
    [('dp', 0, 0.0), ('dp', 1, 0.0), ('dpl', 0, 0.0), ('dpl', 1, 0.0)]
    """
    folder = os.path.abspath(results)
    asked = list(trials(instances, methods, search, list(seeds)))
    wanted = [trial_record(trial) for trial in asked]
    known = _native.kept(folder, wanted, any_version)
    missing = [trial for trial, record in zip(asked, known, strict=True) if record is None]
    promises: list[Promise] = []
    with steps(progress, len(missing)) as show:
        try:
            promises.extend(executor.submit(_run, *trial, folder) for trial in missing)
            for (instance, method, _), promise in zip(missing, promises, strict=True):
                show(f"{instance.name}: {named(method)}")
                promise.result()
        except BaseException as error:
            for promise in promises:
                promise.cancel()
            if not isinstance(error, KeyboardInterrupt):
                raise
    kept = _native.kept(folder, wanted, any_version)
    # A worker that Ctrl-C reached has kept nothing, either.
    return Comparison([record for record in kept if record is not None], interrupted=None in kept)


def _run(instance: Instance, method: str | Partitioner, asked: dict[str, Any], folder: str) -> None:
    """Makes a run and keeps its record, unless Ctrl-C came."""
    record, interrupted = record_of((instance, method, asked))
    if not interrupted:
        _native.keep(folder, record)
