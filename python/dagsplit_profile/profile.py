"""From a model's name to an instance: the steps of `dagsplit-profile`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch.utils import _pytree as pytree

from . import measure, models, provenance, roofline
from .bandwidth import measure_bandwidth
from .company import company
from .costs import Cost
from .errors import ProfileError
from .execute import Show
from .grouping import Granularity, Group, group
from .hardware import Accelerator
from .instance import Devices, Json, build
from .memory import working_set
from .models import Settings
from .numbers import significant
from .timing import Timer
from .trace import Trace, trace

# A wrapper that shows progress through an iterable, such as `tqdm.tqdm`.
Bar = Callable[..., Iterable]

# Where a model is modelled: a device without data.
META = torch.device("meta")

# Numbers that an optimizer keeps for each parameter.
OPTIMIZERS = {"none": 0, "sgd": 0, "momentum": 1, "adam": 2}

MODELLED_DIGITS = 6
MEASURED_DIGITS = 4


@dataclass(frozen=True)
class Job:
    """What to profile and how; see `dagsplit-profile --help`. Sizes are in bytes, the bandwidth in bytes per second."""

    model: str
    settings: Settings
    granularity: Granularity = field(default_factory=Granularity)
    training: bool = False
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    roofline: Accelerator | None = None
    cpu_times: bool = False
    warmup: int = 2
    repeats: int = 7
    beside: int = 0
    """Other processes that run the model while it is measured."""
    seed: int = 0
    bandwidth: float | None = None
    accelerators: int = 6
    memory: float | None = None
    cpus: int | None = None
    tied: str = "copy"
    optimizer: str = "none"
    live: models.Built | None = None
    """A model that is there already, with its inputs; else it is built by its name."""


@dataclass
class Profile:
    """An instance with its metadata."""

    instance: Json
    metadata: Json

    def summary(self) -> str:
        """One line for people."""
        nodes = self.instance["nodes"]
        time = sum(node["accelerator_times"][0] for node in nodes)
        megabytes = sum(node.get("parameter_bytes", 0) for node in nodes) / 1e6
        working = self.metadata["settings"]["working_set_bytes"] / 1e6
        return (
            f"{len(nodes)} nodes, {len(self.instance['edges'])} edges, {time:.4g} ms in all on one "
            f"{self.metadata['device']}, {megabytes:.4g} MB of parameters, {working:.4g} MB of working set"
        )


def run(job: Job, bar: Bar | None = None) -> Profile:
    """Traces, measures or models, and builds the instance."""
    return of_trace(job, traced_model(job), bar)


def of_trace(job: Job, traced: Trace, bar: Bar | None = None) -> Profile:
    """Measures or models what `traced_model` gave, and builds the instance."""
    groups = group(traced, job.granularity)
    costs = _costs(job, traced, groups, bar)
    devices = _devices(job)
    digits = MODELLED_DIGITS if job.roofline else MEASURED_DIGITS
    return Profile(build(traced, groups, costs, devices, digits, job.tied), _metadata(job, costs))


def traced_model(job: Job) -> Trace:
    """The model of the job, traced on the job's device with its seed."""
    if job.device.type == "cuda" and not torch.cuda.is_available():
        raise ProfileError("there is no CUDA device; give `--device cpu`, or model one with `--roofline`")
    if job.live is not None:
        return _traced_live(job, *job.live)
    torch.manual_seed(job.seed)
    model, inputs = _built(job)
    return trace(model.train(job.training), *_arguments(inputs))


def _traced_live(job: Job, model: torch.nn.Module, inputs: models.Inputs) -> Trace:
    """The model of somebody else, which is left as it is: on another device it is a copy that is traced."""
    modes = {module: module.training for module in model.modules()}
    tensors = [*model.parameters(), *model.buffers()]
    if any(tensor.device != job.device for tensor in tensors):
        model, inputs = copy.deepcopy(model).to(job.device), _moved(inputs, job.device)
    try:
        return trace(model.train(job.training), *_arguments(inputs))
    finally:
        for module, mode in modes.items():
            module.training = mode


def _arguments(inputs: models.Inputs) -> tuple[tuple[object, ...], dict[str, object]]:
    return ((), inputs) if isinstance(inputs, dict) else (inputs, {})


def _moved(inputs: models.Inputs, device: torch.device) -> models.Inputs:
    return pytree.tree_map_only(torch.Tensor, lambda x: x.to(device), inputs)


def _built(job: Job) -> models.Built:
    """The model and its inputs on the job's device; on the CPU where its constructor computes, which `meta` cannot."""
    try:
        with torch.device(job.device):
            model, inputs = models.build(job.model, job.settings)
    except RuntimeError:
        if job.device.type != "meta":
            raise
        return models.build(job.model, job.settings)
    # A model of the user's own may have been made elsewhere.
    return model.to(job.device), _moved(inputs, job.device)


def _costs(job: Job, traced: Trace, groups: list[Group], bar: Bar | None) -> list[Cost]:
    def shown(entries: list[Group]) -> Iterable[Group]:
        verb = "modelling" if job.roofline else "measuring"
        return entries if bar is None else bar(entries, desc=verb, unit="node")

    if job.roofline is not None:
        return roofline.model(traced, groups, job.roofline, job.cpu_times, job.training, shown)
    timer = Timer(job.device, job.warmup, job.repeats)
    with company(job.beside, partial(traced_model, job)):
        costs = measure.measure(traced, groups, timer, job.training, shown)
    if job.cpu_times:
        _add_cpu_times(job, groups, costs, shown)
    return costs


def _add_cpu_times(job: Job, groups: list[Group], costs: list[Cost], shown: Show) -> None:
    """Measures once more on the CPU, where the model is traced anew so that its tensors lie there."""
    if job.device.type == "cpu":
        on_cpu = costs
    else:
        cpu = replace(job, device=torch.device("cpu"))
        traced = traced_model(cpu)
        again = group(traced, job.granularity)
        if [entry.name for entry in again] != [entry.name for entry in groups]:
            raise ProfileError("the model's operators differ between the CPU and the device; leave out --cpu-times")
        on_cpu = measure.measure(traced, again, Timer(cpu.device, job.warmup, job.repeats), job.training, shown)
    for cost, other in zip(costs, on_cpu, strict=True):
        cost.forward.cpu = other.forward.accelerator
        if cost.backward is not None and other.backward is not None:
            cost.backward.cpu = other.backward.accelerator


def _devices(job: Job) -> Devices:
    bandwidth = job.bandwidth
    if job.roofline is not None:
        name, memory = job.roofline.name, job.memory or job.roofline.memory
        bandwidth = bandwidth or job.roofline.link
    else:
        name = provenance.device_name(job.device)
        memory = job.memory or _total_memory(job.device)
        bandwidth = bandwidth or measure_bandwidth(job.device)
    cpus = job.cpus if job.cpus is not None else int(job.cpu_times)
    copies = OPTIMIZERS[job.optimizer]
    return Devices(name, job.accelerators, int(memory) if memory else None, cpus, bandwidth, copies)


def _total_memory(device: torch.device) -> int | None:
    return torch.cuda.get_device_properties(device).total_memory if device.type == "cuda" else None


def _metadata(job: Job, costs: list[Cost]) -> Json:
    settings: Json = {
        "dtype": str(job.settings.dtype).removeprefix("torch."),
        "batch": job.settings.batch,
        "pass": "training" if job.training else "inference",
        "seed": job.seed,
        "working_set_bytes": working_set([cost.footprint for cost in costs]),
    }
    if job.training:
        settings["optimizer"] = job.optimizer
    if job.roofline is None:
        settings |= {
            "warmup": job.warmup,
            "repeats": job.repeats,
            **({"beside": job.beside} if job.beside else {}),
            "relative_spread": significant(provenance.relative_spread(costs), 2),
        }
    return {
        "model": job.model,
        "device": job.roofline.name if job.roofline else provenance.device_name(job.device),
        "provenance": "modelled" if job.roofline else "profiled",
        "software": provenance.software(),
        "date": provenance.today(),
        "settings": settings,
    }
