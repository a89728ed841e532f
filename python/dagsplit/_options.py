"""What can be asked of a workload, as types."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from .costs import CostModel

Scope = Literal["acyclic", "convex", "arbitrary"]
"""Which splits count: `acyclic` (pipelines, the default), `convex`, or `arbitrary`."""

Objective = Literal["throughput", "gpipe", "step", "latency", "sharding"]
"""What is minimised."""

Path = str | os.PathLike[str]
"""The path of a file."""


class Devices(TypedDict, total=False):
    """Devices in place of those that a workload names."""

    accelerators: int | Sequence[int]
    """How many accelerators there are; with several classes, a number for each."""
    cpus: int
    """How many CPUs there are."""
    memory: float | str | Sequence[float | str]
    """Bytes of each accelerator, such as `16e9`, `"16GiB"` or `"unlimited"`; one for all classes, or one for each."""


class Request(Devices, total=False):
    """What is asked of a workload. What is left out is as the workload states it, and else has the default of
    `dagsplit solve`, whose options these are: `dagsplit solve --help` tells more of each."""

    scope: Scope | Sequence[Scope]
    """Which splits count. `solve` and `compare` take several."""
    objective: Objective
    """What is minimised: `throughput` (the largest device load), `gpipe`, `step` (of `microbatches`), `latency` or
    `sharding`."""
    subgraphs: int
    """For the latency: the most subgraphs that one accelerator runs one after another."""
    shard_weight: Literal["parameters", "memory"]
    """For the sharding cost: what a node weighs."""
    variance_weight: float
    """For the sharding cost: the cost of a squared byte that a device's weight is off the mean."""
    edge_cost: float
    """For the sharding cost: the cost of an edge between two devices."""
    cost: Literal["additive", "overlap", "duplex"]
    """How compute and communication of an accelerator combine to its load."""
    costs: Literal["profiled", "per-edge"] | CostModel
    """What splits cost: an output is paid for once by each device (`profiled`, the default), or once for each edge; or
    a model given as data, which `solve`, `verify` and `compare` take."""
    recomputation: int
    """Count memory as training with activation recomputation needs it, over so many microbatches."""
    microbatches: int
    """Microbatches of a batch, and of a step: choose a tensor and a data degree for each stage and an option for each
    node, where the workload states options."""
    tensor_degrees: int | Sequence[int]
    """Tensor degrees that a stage may have."""
    data_degrees: int | Sequence[int]
    """Data degrees that a stage may have."""
    options: str | Sequence[str]
    """Options that nodes may run in, by name."""
    chunks: int
    """For a step: so many stages of the pipeline on each device."""
    placement: Literal["interleaved", "v-shape"]
    """Which stages a device holds that has several chunks."""
    schedule: Literal["gpipe", "1f1b", "async-1f1b", "zb-h1", "zb-h2", "interleaved", "zb-v", "inference"]
    """The schedule of the pipeline, by which microbatches are in flight where memory depends on the place."""
    in_flight: int
    """So many microbatches in flight in every stage, in place of what a schedule says."""
    optimizer: Literal["none", "sgd", "momentum", "adam"]
    """What updates the weights: what lasts of stages then follows from the parameters' bytes."""
    precision: Literal["fp32", "bf16", "fp16"]
    """What parameters are stored in, where an optimizer is named."""
    zero: int
    """What replicas share out: 1 for the optimizer's state, 2 for gradients, too, 3 for weights, too (ZeRO)."""
    cache_tokens: int
    """Tokens of which stages keep keys and values."""
    replicas: int
    """Let up to so many accelerators of one class share a stage."""
    sync_bandwidth: float | str
    """Bandwidth of the replicas' all-reduce, in bytes per time unit of the workload."""
    server_size: int
    """Accelerators per server, where links between servers are slower; where degrees are chosen, the devices that share a replica's
    operators lie in one."""
    between_factor: float
    """How many times longer a transfer between servers takes than one inside a server."""

    together: str | Sequence[str] | Sequence[Sequence[str]]
    """Keep on one device all nodes whose name, or its beginning up to a `.`, `/` or `@`, is like one of these patterns,
    such as `["norm", "output"]`; several such lists are for a device each."""


class Limits(TypedDict, total=False):
    """When a search stops, and what it may use."""

    time_limit: float
    """Seconds after which it stops and keeps its best split and bound."""
    memory_limit: float | str
    """Bytes that the process may hold, such as `"2GB"`."""
    gap: float
    """The relative gap at which it may stop; 0 asks for a proof of optimality."""
    threads: int
    """How many threads it may use; 0 takes all cores. The default is 1."""
    seed: int
    """Seed of everything random."""


class Search(Request, Limits, total=False):
    """A request and the limits of the search for it."""


class Reading(Devices, total=False):
    """How a file is read. ONNX models take `training`, `dimension`, and what describes the modelled devices."""

    format: Literal["native", "tarnawski", "pipedream", "piper"]
    """The file's format; told from its content when left out."""
    transfer_scale: float
    """Multiply every transfer time; 1000 cures the unit slip of the published throughput layer graphs."""
    bandwidth: float | str
    """PipeDream: link bandwidth in bytes per second."""
    cpu_factor: float
    """PipeDream: how many times slower a CPU is than the profiled accelerator."""
    training: bool
    """PipeDream and ONNX: build the backward pass, too."""
    keep_inputs: bool
    """PipeDream: keep the sources and sinks that PipeDream's own optimizer drops."""
    piper_configuration: str
    """Piper: which configuration of each node to take."""
    piper_microbatches: int
    """Piper: how many microbatches a device keeps activations of."""
    accelerator: str
    """ONNX: the accelerator that costs are modelled for, such as `"a100"`."""
    precision: str
    """ONNX: the precision, such as `"fp16"`."""
    dimension: dict[str, int]
    """ONNX: sizes of dimensions that the file only names, such as `{"batch": 8}`."""


class Mapped(Devices, Limits, total=False):
    """What is asked of a mapping; `dagsplit map --help` tells more of each."""

    replicas: int
    """How many copies of each stage there are."""
    cost: Literal["step", "messages", "all-reduce", "both", "auto"]
    """Which communication the time of a copy counts beside its compute."""
    microbatches: int
    """Microbatches of a step, which share its all-reduce."""
    method: str
    """The mappers, as spec strings separated by commas."""
    without: Sequence[str]
    """Techniques that branch and bound leaves out."""


class Planned(Devices, Limits, total=False):
    """What is asked of a plan; `dagsplit plan --help` tells more of each."""

    batch: int
    """Samples of a step, over all pipelines."""
    microbatch_sizes: int | Sequence[int]
    """Samples of a microbatch."""
    stages: int | Sequence[int]
    """Numbers of stages, at most."""
    replicas: int | Sequence[int]
    """Numbers of replicas of each stage."""
    tensor_degrees: int | Sequence[int]
    """How many devices share the operators of each copy."""
    chunks: int | Sequence[int]
    """How many chunks of the pipeline each device holds."""
    schedule: str | Sequence[str]
    """The schedules, such as `1f1b` and `zb-h1`."""
    links: Literal["blocking", "overlapped", "contended"]
    """How messages between stages are paid for."""
    all_reduce: Literal["ring", "hierarchical", "tree", "auto"]
    """How the copies of a stage bring their gradients together."""
    buckets: int
    """In how many parts all-reduces are done that pass beside the compute."""
    recompute: Literal["never", "always", "either"]
    """Whether stages compute their activations once more."""
    together: str | Sequence[str] | Sequence[Sequence[str]]
    """Patterns of nodes' names that are kept on one device; several sets, each for a device."""
    optimizer: Literal["none", "sgd", "momentum", "adam"]
    """What updates the weights; `precision` and `batch` go with it."""
    precision: Literal["fp32", "bf16", "fp16"]
    """What the parameters are stored in."""
    zero: int
    """What replicas share out among them: the stage of ZeRO."""
    cache_tokens: int
    """Tokens whose keys and values each pipeline has to have room for; `batch` goes with it."""
    partitioner: str
    """The method that splits, in place of the exact ones."""
    joint: Literal["auto", "always", "never"]
    """Whether splits and mappings are also decided together."""
    mapper: str
    """The mappers, separated by commas."""
    cost: Sequence[Literal["messages", "all-reduce", "both"]]
    """What the mappers count beside compute."""
    mapping_time: float
    """The longest seconds of one mapper under one cost."""


class Simulated(Devices, total=False):
    """What is simulated; `dagsplit simulate --help` tells more of each."""

    schedule: Literal[
        "gpipe",
        "1f1b",
        "async-1f1b",
        "interleaved",
        "zb-h1",
        "zb-h2",
        "zb-v",
        "dualpipe",
        "inference",
        "virtual-devices",
    ]
    """In which order devices work."""
    microbatches: int
    """How many microbatches pass through the pipeline."""
    recompute: bool
    """Compute activations once more for the backward pass."""
    weight_gradient: float
    """The share of a backward pass that the gradients of the weights take, under schedules with those apart."""
    overlap: bool
    """Let transfers pass beside the compute."""
    contention: bool
    """Let transfers share what carries them."""
    buckets: int
    """In how many parts all-reduces are done that pass beside the compute."""
    sync_bandwidth: float | str
    """Bandwidth of the all-reduce of a split with replicas."""
    optimizer: Literal["none", "sgd", "momentum", "adam"]
    """What updates the weights of a split with degrees: what lasts of stages then follows from the parameters' bytes."""
    precision: Literal["fp32", "bf16", "fp16"]
    """What its parameters are stored in."""
    zero: int
    """What its replicas share out: 1 for the optimizer's state, 2 for gradients, too, 3 for weights, too (ZeRO)."""
    cache_tokens: int
    """Tokens whose keys and values each of its replicas keeps."""
