#!/usr/bin/env python3
"""Measure bandwidth and latency between every pair of processes, and write a topology for dagsplit.

    torchrun --nproc-per-node 8 tools/measure_bandwidth.py --output host.json
    torchrun --nnodes 4 --nproc-per-node 8 --rdzv-endpoint HOST:29500 tools/measure_bandwidth.py --output cluster.json

Each process holds one device. Pairs are measured one after another, in each direction, with nothing else on the wires:
a ping-pong of one byte gives the latency, one of --megabytes the bandwidth of the postal model. The median of --repeats
counts. NCCL is used where there are GPUs, else gloo. Rank 0 writes the file.
"""

import argparse
import json
import os
import platform
import socket
import statistics
import time

import torch
import torch.distributed as dist


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True, help="the topology file to write")
    parser.add_argument("--name", help="what the topology is called (default: the host's name and number of devices)")
    parser.add_argument("--backend", choices=["nccl", "gloo"], help="default: nccl with GPUs, else gloo")
    parser.add_argument("--megabytes", type=float, default=64.0, help="size of the large message (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=20, help="round trips that are timed (default: %(default)s)")
    parser.add_argument("--warmup", type=int, default=5, help="round trips before that (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.megabytes <= 0 or arguments.repeats < 1 or arguments.warmup < 0:
        parser.error("--megabytes and --repeats have to be above 0, --warmup at least 0")
    return arguments


def seconds_of_round_trips(sends, replies, peer, is_first, device, warmup, repeats):
    """Seconds of each round trip with `peer`: `sends` goes there and `replies` comes back."""
    times = []
    for trip in range(warmup + repeats):
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        started = time.perf_counter()
        if is_first:
            dist.send(sends, peer)
            dist.recv(replies, peer)
        else:
            dist.recv(sends, peer)
            dist.send(replies, peer)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        if trip >= warmup:
            times.append(time.perf_counter() - started)
    return times


def measure(source, target, device, arguments):
    """Bytes per millisecond and milliseconds of latency from `source` to `target`; None on every other process."""
    rank = dist.get_rank()
    if rank not in (source, target):
        return None
    peer = target if rank == source else source
    byte = torch.zeros(1, dtype=torch.uint8, device=device)
    large = torch.zeros(int(arguments.megabytes * 1e6), dtype=torch.uint8, device=device)

    def median(sends):
        trips = seconds_of_round_trips(
            sends, byte.clone(), peer, rank == source, device, arguments.warmup, arguments.repeats
        )
        return statistics.median(trips)

    empty = median(byte)
    full = median(large)
    latency = empty / 2
    # The reply is one byte, so what a large message takes longer is its transfer.
    transfer = max(full - empty, 1e-9)
    return large.numel() / (1e3 * transfer), 1e3 * latency


def main():
    arguments = parse_arguments()
    backend = arguments.backend or ("nccl" if torch.cuda.is_available() else "gloo")
    dist.init_process_group(backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    if backend == "nccl":
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
    else:
        device = torch.device("cpu")
    bandwidth, latency = [None] * size, [None] * size
    for source in range(size):
        for target in range(size):
            if source == target:
                continue
            dist.barrier()
            measured = measure(source, target, device, arguments)
            if rank == source:
                bandwidth[target], latency[target] = measured
    kind = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    memory = torch.cuda.get_device_properties(device).total_memory if device.type == "cuda" else None
    local_rank = os.environ.get("LOCAL_RANK", str(rank))
    entry = {"name": f"{socket.gethostname()}/{local_rank} ({kind})"}
    if memory is not None:
        entry["memory"] = memory
    gathered = [None] * size
    dist.all_gather_object(gathered, (entry, bandwidth, latency))
    if rank == 0:
        devices, bandwidth, latency = (list(column) for column in zip(*gathered))
        settings = f"{arguments.megabytes:g} MB, median of {arguments.repeats}"
        topology = {
            "schema": "dagsplit-topology/1",
            "units": {"time": "ms", "memory": "bytes", "bandwidth": "bytes/ms"},
            "name": arguments.name or f"{socket.gethostname()}-{size}",
            "source": f"tools/measure_bandwidth.py: torch {torch.__version__}, {backend}, {settings}",
            "devices": devices,
            "bandwidth": bandwidth,
            "latency": latency,
        }
        with open(arguments.output, "w", encoding="utf-8") as file:
            json.dump(topology, file, allow_nan=False, indent=1)
            file.write("\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
