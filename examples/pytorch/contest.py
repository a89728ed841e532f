"""Does the proven split run faster? Splits of several methods take turns on the same two processes.

    pip install '.[models]'
    OMP_NUM_THREADS=1 python examples/pytorch/contest.py

Each model is profiled and split in two for a step of some microbatches by every method. Two processes, each on a core
of its own, hold the stages of all splits, and run a step of each in every round, in an order drawn anew. Shown are the
predicted and the measured time of a step, the median over the rounds of its ratio to that of the proven split's in
the same round with a 95 % confidence interval, and what the stages compute, predicted and measured.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from dagsplit_profile import instance, profile
from dagsplit_profile.gloo import free_port, join
from dagsplit_profile.grouping import group
from dagsplit_profile.models import Settings
from dagsplit_profile.stages import pipeline_stage, read_stages
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

MODELS = {
    "resnet50": Settings(),
    "inception-v3": Settings(),
    "bert-base": Settings(layers=6, sequence=128),
    "gpt2": Settings(layers=6, sequence=128),
    "vit-b": Settings(),
}
# The first is the proven one; `parameters` puts as many of these on each stage.
METHODS = ["portfolio", "uniform", "pipedream", "rannc", "parameters"]
STAGES = 2


@dataclass(frozen=True)
class Split:
    """Names of the nodes on each stage; milliseconds of a step, and of what each stage computes for a microbatch."""

    nodes: list[list[str]]
    step: float
    compute: list[float]


@dataclass(frozen=True)
class Measured:
    """Milliseconds of each round's step, and of what each stage computed for a microbatch on average."""

    steps: list[float]
    compute: list[float]


def main() -> None:
    """Profiles, splits, runs and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[*MODELS, []], help="the models [all]")
    parser.add_argument("--microbatches", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=15, help="measured runs of each node")
    parser.add_argument("--beside", type=int, default=0, help="processes that run the model while it is measured")
    parser.add_argument("--dagsplit", default="dagsplit", help="the program")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| model | split | predicted | measured | to the proven one | stages predicted | measured |")
    print("|---|---|---|---|---|---|---|")
    for name in options.models or MODELS:
        job = profile.Job(name, MODELS[name], accelerators=STAGES, repeats=options.repeats, beside=options.beside)
        splits = made(job, options)
        shown(name, splits, run(job, splits, options))


def made(job: profile.Job, options: argparse.Namespace) -> dict[str, Split]:
    """The split of each method, where no earlier one has the same."""
    with tempfile.TemporaryDirectory() as folder:
        workload = Path(folder) / "workload.json"
        profiled = profile.run(job)
        instance.write(profiled.instance, profiled.metadata, workload)
        splits: dict[str, Split] = {}
        for method in METHODS:
            split = asked(method, workload, profiled.instance["nodes"], options)
            if all(split.nodes != other.nodes for other in splits.values()):
                splits[method] = split
        return splits


def asked(method: str, workload: Path, nodes: list[dict], options: argparse.Namespace) -> Split:
    """The split of a method."""
    split, stages = workload.with_name("split.json"), workload.with_name("stages.json")
    if method == "parameters":
        split.write_text(json.dumps({"fpgas": by_parameters(nodes), "cpus": []}))
        method = f"expert:file={split}"
    question = ["--objective", "step", "--microbatches", options.microbatches, "--time-limit", "30"]
    program(options.dagsplit, "solve", workload, "--method", method, *question, "--output", split)
    answer = json.loads(program(options.dagsplit, "verify", workload, split, *question[:4], "--json"))
    export = ["--to", "pytorch-pipelining", *question[:4], "--output", stages]
    program(options.dagsplit, "export", workload, split, *export)
    names = read_stages(stages).nodes
    time_of = {node["name"]: node["accelerator_times"][0] for node in nodes}
    return Split(names, answer["objective"], [sum(time_of.get(name, 0.0) for name in stage) for stage in names])


def by_parameters(nodes: list[dict]) -> list[dict]:
    """Two stages that begin where half of the parameters have come, in the order in which the nodes run."""
    half = sum(node.get("parameter_bytes", 0) for node in nodes) / 2
    held, stages = 0, [[], []]
    for node in nodes:
        stages[held >= half].append(node["id"])
        held += node.get("parameter_bytes", 0)
    return [{"nodes": stage} for stage in stages]


def program(*command: object) -> str:
    """The command's output."""
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def run(job: profile.Job, splits: dict[str, Split], options: argparse.Namespace) -> dict[str, Measured]:
    """All splits' pipelines in two processes."""
    result = mp.get_context("spawn").SimpleQueue()
    workers = mp.spawn(work, args=(free_port(), job, splits, options, result), nprocs=STAGES, join=False)
    parts = [result.get() for _ in range(STAGES)]
    while not workers.join():
        pass
    steps = next(steps for rank, steps, _ in parts if rank == 0)
    compute = dict((rank, compute) for rank, _, compute in parts)
    return {name: Measured(steps[name], [compute[rank][name] for rank in range(STAGES)]) for name in splits}


def work(rank: int, port: int, job: profile.Job, splits: dict[str, Split], options: argparse.Namespace, result) -> None:
    """One process: its stage of every split."""
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank]})
    torch.set_num_threads(1)
    join(rank, STAGES, port)
    traced = profile.traced_model(job)
    groups = group(traced, job.granularity)
    stages = {name: pipeline_stage(traced, groups, split.nodes, rank) for name, split in splits.items()}
    clocks = {name: Clock(stage) for name, stage in stages.items()}
    schedules = {name: ScheduleGPipe(stage, options.microbatches) for name, stage in stages.items()}
    inputs = [torch.cat([value] * options.microbatches) for value in traced.example] if rank == 0 else []
    steps: dict[str, list[float]] = {name: [] for name in splits}
    order = random.Random(job.seed)
    with torch.no_grad():
        for turn in range(options.rounds + 1):
            for name in order.sample(list(splits), len(splits)):
                dist.barrier()
                start = time.perf_counter()
                schedules[name].step(*inputs)
                dist.barrier()
                steps[name].append(1e3 * (time.perf_counter() - start))
            if turn == 0:
                # The first round warms up.
                steps = {name: [] for name in splits}
                for clock in clocks.values():
                    clock.times.clear()
    result.put((rank, steps, {name: statistics.median(clock.times) for name, clock in clocks.items()}))
    dist.barrier()
    dist.destroy_process_group()


class Clock:
    """Milliseconds of each run of a stage's module."""

    def __init__(self, stage: PipelineStage) -> None:
        self.times: list[float] = []
        self.start = 0.0
        stage.submod.register_forward_pre_hook(self.begin)
        stage.submod.register_forward_hook(self.end)

    def begin(self, *_: object) -> None:
        """The module is called."""
        self.start = time.perf_counter()

    def end(self, *_: object) -> None:
        """The module has returned."""
        self.times.append(1e3 * (time.perf_counter() - self.start))


def shown(model: str, splits: dict[str, Split], measured: dict[str, Measured]) -> None:
    """One row for each split."""
    first = next(iter(measured.values()))
    for name, split in splits.items():
        found = measured[name]
        low, middle, high = interval([a / b for a, b in zip(found.steps, first.steps, strict=True)])
        against = "1" if found is first else f"{middle:.3f} ({low:.3f} to {high:.3f})"
        stages = " | ".join(" + ".join(f"{time:.1f}" for time in times) for times in (split.compute, found.compute))
        times = f"{split.step:.1f} | {statistics.median(found.steps):.1f}"
        print(f"| {model} | {name} | {times} | {against} | {stages} |", flush=True)


def interval(values: list[float]) -> tuple[float, float, float]:
    """The median with the 95 % confidence interval of its ranks (normal approximation of the binomial distribution)."""
    ordered, count = sorted(values), len(values)
    reach = 0.98 * count**0.5
    low, high = max(0, int(count / 2 - reach)), min(count - 1, int(count / 2 + reach))
    return ordered[low], statistics.median(ordered), ordered[high]


if __name__ == "__main__":
    main()
