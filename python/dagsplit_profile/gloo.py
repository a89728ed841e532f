"""Processes of one machine that talk over gloo."""

from __future__ import annotations

import os
import socket

import torch.distributed as dist


def free_port() -> int:
    """A port at which processes can find each other."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def join(rank: int, processes: int, port: int) -> None:
    """Makes this process one of a group, and waits for the others."""
    # Not every build of PyTorch has libuv, and two or three processes are as quick without.
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "USE_LIBUV": "0"}
    dist.init_process_group("gloo", rank=rank, world_size=processes)
