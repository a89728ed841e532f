"""Runs the stages of a split in one process each, with `torch.distributed.pipelining` over gloo."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.utils import _pytree as pytree

from .gloo import free_port, join
from .grouping import Granularity, group
from .stages import pipeline_stage
from .trace import trace

# Gives the stage of a rank; called in the process of that rank.
MakeStage = Callable[[int], PipelineStage]


@dataclass(frozen=True)
class StagesOf:
    """Makes the stages of a model that is there already; every process traces it anew.

    `inputs` are those of a microbatch, `nodes` the names on each stage, as `read_stages` gives them.
    """

    model: torch.nn.Module
    inputs: Sequence[object]
    nodes: Sequence[Sequence[str]]
    granularity: Granularity = field(default_factory=Granularity)

    def __call__(self, rank: int) -> PipelineStage:
        """The stage of a rank."""
        traced = trace(self.model, self.inputs)
        return pipeline_stage(traced, group(traced, self.granularity), self.nodes, rank)


@dataclass(frozen=True)
class Training:
    """A training step: the loss of a microbatch's outputs, and the optimizer of a stage's parameters."""

    loss: Callable[[Any], torch.Tensor]
    optimizer: Callable[[list[torch.nn.Parameter]], torch.optim.Optimizer]


@dataclass(frozen=True)
class Run:
    """What the pipeline returned (all tensors, flat), and how long it took.

    `milliseconds` is the time for each microbatch once the pipeline is full: that of a step, divided by the number of
    microbatches and the stages less one that the first of them has to fill. After training, `gradients` are those of
    the mean of the microbatches' losses, and `parameters` what the optimizer made, by the model's names.
    """

    outputs: list[torch.Tensor]
    milliseconds: float
    gradients: dict[str, torch.Tensor] = field(default_factory=dict)
    parameters: dict[str, torch.Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class _Job:
    make: MakeStage
    stages: int
    port: int
    microbatches: Sequence[Sequence[object]]
    steps: int
    training: Training | None


def run_pipeline(
    make: MakeStage,
    stages: int,
    microbatches: Sequence[Sequence[object]],
    steps: int = 5,
    training: Training | None = None,
) -> Run:
    """Sends the inputs of every microbatch through the pipeline, `steps` times; the quickest counts.

    Inference runs under GPipe; with `training` there is one step under 1F1B, with the optimizer's at its end. What is
    handed in must be picklable, as it is used in every process.
    """
    job = _Job(make, stages, free_port(), microbatches, steps, training)
    result = mp.get_context("spawn").SimpleQueue()
    workers = mp.spawn(_work, args=(job, result), nprocs=stages, join=False)
    while not workers.join(timeout=0.1):
        if not result.empty():
            break
    outputs, seconds, *trained = result.get()
    while not workers.join():
        pass
    tensors = [{name: torch.from_numpy(array) for name, array in arrays.items()} for arrays in trained]
    return Run(
        [torch.from_numpy(array) for array in outputs], 1e3 * seconds / (len(microbatches) + stages - 1), *tensors
    )


def _work(rank: int, job: _Job, result: mp.SimpleQueue) -> None:
    torch.set_num_threads(1)
    join(rank, job.stages, job.port)
    stage = job.make(rank)
    outputs, seconds = _infer(stage, job) if job.training is None else _train(stage, job, job.training)
    trained = _gathered(stage.submod) if job.training else []
    if rank == job.stages - 1:
        # As arrays: a tensor would be shared, and gone when this process ends.
        leaves = [leaf for leaf in pytree.tree_leaves(outputs) if isinstance(leaf, torch.Tensor)]
        result.put(([leaf.detach().numpy() for leaf in leaves], seconds, *trained))
    dist.barrier()
    dist.destroy_process_group()


def _infer(stage: PipelineStage, job: _Job) -> tuple[object, float]:
    inputs = _joined(job) if stage.is_first else ()
    schedule = ScheduleGPipe(stage, len(job.microbatches))
    times = []
    with torch.no_grad():
        for _ in range(job.steps + 1):
            dist.barrier()
            start = time.perf_counter()
            outputs = schedule.step(*inputs)
            dist.barrier()
            times.append(time.perf_counter() - start)
    return outputs, min(times[1:])


def _train(stage: PipelineStage, job: _Job, training: Training) -> tuple[object, float]:
    inputs = _joined(job) if stage.is_first else ()
    count = len(job.microbatches)
    schedule = Schedule1F1B(stage, count, loss_fn=lambda output, _: training.loss(output))
    start = time.perf_counter()
    # The loss needs no target, but PyTorch wants one to cut in pieces.
    outputs = schedule.step(*inputs, target=torch.zeros(count) if stage.is_last else None)
    sum_tied_gradients(stage.submod)
    if parameters := list(stage.submod.parameters()):
        training.optimizer(parameters).step()
    return outputs, time.perf_counter() - start


def _joined(job: _Job) -> list[object]:
    """The microbatches' inputs along their first dimension, where the schedule parts them again."""
    together = zip(*job.microbatches, strict=True)
    return [torch.cat(parts) if isinstance(parts[0], torch.Tensor) else parts[0] for parts in together]


def sum_tied_gradients(module: torch.nn.Module) -> None:
    """Adds up the gradients of parameters that several stages hold; every process calls it with its own stage."""
    own = dict(module.named_parameters())
    held: list[list[str]] = [[] for _ in range(dist.get_world_size())]
    dist.all_gather_object(held, list(own))
    for name in sorted({name for names in held for name in names}):
        ranks = [rank for rank, names in enumerate(held) if name in names]
        if len(ranks) < 2:
            continue
        group = dist.new_group(ranks)
        if dist.get_rank() in ranks:
            parameter = own[name]
            parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.contiguous()
            dist.all_reduce(parameter.grad, group=group)


def _gathered(module: torch.nn.Module) -> list[dict[str, object]]:
    """Gradients and parameters of all stages, as arrays by name."""
    named = [(name.removeprefix("model."), parameter) for name, parameter in module.named_parameters()]
    own = (
        {name: value.grad.numpy() for name, value in named if value.grad is not None},
        {name: value.detach().numpy() for name, value in named},
    )
    every: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(every, own)
    return [{name: array for stage in every for name, array in stage[kind].items()} for kind in range(2)]
