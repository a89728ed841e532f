"""How fast tensors move between devices, measured."""

from __future__ import annotations

import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from .gloo import free_port, join
from .timing import Timer

MESSAGE_BYTES = 64 << 20
REPEATS = 5


def measure_bandwidth(device: torch.device) -> float:
    """Bytes per second in one direction: between a GPU and pinned host memory, or between two processes over gloo."""
    return _to_host(device) if device.type == "cuda" else _between_processes()


def _to_host(device: torch.device) -> float:
    on_device = torch.empty(MESSAGE_BYTES, dtype=torch.uint8, device=device)
    on_host = torch.empty(MESSAGE_BYTES, dtype=torch.uint8, pin_memory=True)
    copy = Timer(device, repeats=REPEATS).measure(lambda: on_host.copy_(on_device, non_blocking=True))
    return MESSAGE_BYTES / (1e-3 * copy.median)


def _between_processes() -> float:
    context = mp.get_context("spawn")
    result = context.SimpleQueue()
    mp.spawn(_ping, args=(free_port(), result), nprocs=2)
    return result.get()


def _ping(rank: int, port: int, result: mp.SimpleQueue) -> None:
    join(rank, 2, port)
    message = torch.zeros(MESSAGE_BYTES, dtype=torch.uint8)
    times = []
    for _ in range(REPEATS + 1):
        dist.barrier()
        start = time.perf_counter()
        if rank == 0:
            dist.send(message, 1)
            dist.recv(message[:1], 1)
        else:
            dist.recv(message, 0)
            dist.send(message[:1], 0)
        times.append(time.perf_counter() - start)
    if rank == 0:
        result.put(MESSAGE_BYTES / sorted(times[1:])[REPEATS // 2])
    dist.destroy_process_group()
