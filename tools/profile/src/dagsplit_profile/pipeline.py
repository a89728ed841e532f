"""Runs the stages of a split in one process each, with `torch.distributed.pipelining` over gloo."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

# Gives the stages of a split, in every process anew: the same ones in each.
MakeStages = Callable[[], Sequence[torch.nn.Module]]


@dataclass(frozen=True)
class Run:
    """What the pipeline returned (the first tensor, where it returned several), and how long it took.

    `milliseconds` is the time for each microbatch once the pipeline is full: that of a step, divided by the number of
    microbatches and the stages less one that the first of them has to fill.
    """

    output: torch.Tensor
    milliseconds: float


def run_pipeline(
    make: MakeStages, stages: int, inputs: Sequence[torch.Tensor], microbatches: int, steps: int = 5
) -> Run:
    """Sends `inputs`, `microbatches` of them joined along their first dimension, through the pipeline `steps` times.

    The quickest step counts. `make` must be picklable, as it is called in every process.
    """
    context = mp.get_context("spawn")
    result = context.SimpleQueue()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    workers = mp.spawn(
        _work, args=(stages, port, make, tuple(inputs), microbatches, steps, result), nprocs=stages, join=False
    )
    while not workers.join(timeout=0.1):
        if not result.empty():
            break
    output, seconds = result.get()
    while not workers.join():
        pass
    return Run(torch.from_numpy(output), 1e3 * seconds / (microbatches + stages - 1))


def _work(
    rank: int,
    stages: int,
    port: int,
    make: MakeStages,
    inputs: tuple[torch.Tensor, ...],
    microbatches: int,
    steps: int,
    result: mp.SimpleQueue,
) -> None:
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    dist.init_process_group("gloo", rank=rank, world_size=stages)
    with torch.no_grad():
        module = make()[rank]
        stage = PipelineStage(module, rank, stages, torch.device("cpu"))
        schedule = ScheduleGPipe(stage, microbatches)
        times = []
        for _ in range(steps + 1):
            dist.barrier()
            start = time.perf_counter()
            output = schedule.step(*inputs) if rank == 0 else schedule.step()
            dist.barrier()
            times.append(time.perf_counter() - start)
    if rank == stages - 1:
        # As an array: a tensor would be shared, and gone when this process ends.
        first = torch.utils._pytree.tree_leaves(output)[0]
        result.put((first.numpy(), min(times[1:])))
    dist.barrier()
    dist.destroy_process_group()
