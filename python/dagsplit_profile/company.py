"""Other processes that are busy while nodes are measured, as the other stages of a pipeline are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
import torch.multiprocessing as mp

from .trace import Trace, subgraph


@contextmanager
def company(count: int, traced: Callable[[], Trace]) -> Iterator[None]:
    """Has `count` processes of as many threads as this one run the model that `traced` gives, over and over, meanwhile.

    They share caches and memory bandwidth with what is measured; each needs cores of its own.
    """
    if count == 0:
        yield
        return
    context = mp.get_context("spawn")
    ready = context.Barrier(count + 1)
    others = [
        context.Process(target=_run, args=(traced, torch.get_num_threads(), ready), daemon=True) for _ in range(count)
    ]
    for other in others:
        other.start()
    try:
        ready.wait()
        yield
    finally:
        for other in others:
            other.terminate()
            other.join()


def _run(traced: Callable[[], Trace], threads: int, ready: mp.Barrier) -> None:
    torch.set_num_threads(threads)
    try:
        model = traced()
        module = subgraph(model, model.operators, model.inputs, model.outputs)
    except BaseException:
        ready.abort()
        raise
    with torch.no_grad():
        module(*model.example)
        ready.wait()
        while True:
            module(*model.example)
