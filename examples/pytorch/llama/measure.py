"""Memory of stages and times of operators on a GPU; `predict.py` says what was predicted.

    PYTHONPATH=python python examples/pytorch/llama/measure.py FOLDER

Reads `FOLDER/predicted.json`. Each stage runs by itself with as many microbatches in flight as its place has under
1F1B, and its peak of allocated memory is taken: lasting parts apart, after the forward passes in flight, and of all.
Operators and layers are timed on the device's clock, with inputs that are not in its cache.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path

import torch
from dagsplit_profile.provenance import device_name, software, today
from dagsplit_profile.timing import Timer
from model import SHAPES, Adam, FusedSwiglu, Layer, Norm, Shape, Stage, again, attend, linear, swiglu, turn_of, turned
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

TYPE = torch.bfloat16
# Sets of tensors that take turns, so that none is found in the cache.
SETS = 3


def main() -> None:
    """Measures all of it, and writes after each part what there is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, help="the file to write [FOLDER/measured.json]")
    parser.add_argument("--seconds", type=float, default=300, help="begin no measurement after that")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--compile", action="store_true", help="time a layer that torch.compile made, too")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_default_device(device)
    torch.set_default_dtype(TYPE)
    torch.manual_seed(0)
    begun = time.monotonic()
    predicted = json.loads((options.folder / "predicted.json").read_text())
    measured: dict = {"device": device_name(device), "software": software(), "date": today()}
    measured.update(pipelines=[], operators=[])
    output = options.output or options.folder / "measured.json"
    timer = Timer(device, 3, options.repeats)
    both = itertools.product(predicted["pipelines"], (False, True))
    jobs = [("pipelines", partial(pipeline, asked, fused)) for asked, fused in both]
    jobs[2:2] = [("operators", partial(operators, timer, asked)) for asked in predicted["operators"]]
    if options.compile:
        jobs.append(("operators", partial(compiled, timer, predicted["operators"][0])))
    for kind, job in jobs:
        if time.monotonic() - begun > options.seconds:
            print("out of time", file=sys.stderr)
            break
        try:
            with attention(SDPBackend.FLASH_ATTENTION):
                measured[kind].append(job())
        except RuntimeError as error:  # of the device: too little memory, no such kernel
            print(f"{kind}: left out, {error}", file=sys.stderr)
            continue
        output.write_text(json.dumps(measured, indent=1))
        print(f"{time.monotonic() - begun:.1f} s {kind} {json.dumps(measured[kind][-1])}", flush=True)


def attention(backend: SDPBackend) -> AbstractContextManager:
    """Attention takes these kernels; a CPU has its own."""
    return sdpa_kernel([backend]) if torch.cuda.is_available() else nullcontext()


def allocated(*, most: bool = False) -> int:
    """Bytes that tensors take, or took at most since the last reset; 0 without a GPU."""
    if not torch.cuda.is_available():
        return 0
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() if most else torch.cuda.memory_allocated()


def pipeline(asked: dict, fused: bool) -> dict:
    """What each stage of a pipeline takes, one after another."""
    shape, sequence = SHAPES[asked["model"]], asked["sequence"]
    run_stage(shape, sequence, {**asked["stages"][-1], "in_flight": 1}, fused)  # libraries take their workspaces
    named = {key: asked[key] for key in ("model", "layers", "sequence", "devices", "activations", "memory")}
    return {**named, "fused": fused, "stages": [run_stage(shape, sequence, stage, fused) for stage in asked["stages"]]}


def run_stage(shape: Shape, sequence: int, asked: dict, fused: bool) -> dict:
    """Bytes that last, of the microbatches in flight, and at most, and milliseconds of a microbatch."""
    turn = turn_of(shape, sequence)
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    base = allocated()
    stage = Stage(shape, turn, asked["layers"], fused=fused)
    parameters = list(stage.parameters())
    for parameter in parameters:
        nn.init.normal_(parameter, std=0.02) if parameter.dim() > 1 else None
    found = {"weights": allocated() - base}
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    found["gradients"] = allocated() - base - sum(found.values())
    optimizer = Adam(parameters)
    found["optimizer"] = allocated() - base - sum(found.values())
    lasting = allocated()
    queue: deque[tuple[Tensor, Tensor]] = deque()
    in_flight = asked["in_flight"]
    for _ in range(in_flight):
        queue.append(forward(stage, shape, sequence))
    found["in_flight"] = allocated() - lasting
    found["forward_peak"] = allocated(most=True) - base
    for _ in range(2):
        backward(stage, *queue.popleft())
        queue.append(forward(stage, shape, sequence))
    begun = clock()
    for _ in range(4):
        backward(stage, *queue.popleft())
        queue.append(forward(stage, shape, sequence))
    found["time"] = (clock() - begun) / 4
    while queue:
        backward(stage, *queue.popleft())
    found["peak"] = allocated(most=True) - base
    found["reserved"] = torch.cuda.max_memory_reserved() if torch.cuda.is_available() else 0
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    optimizer.step()
    found["step_peak"] = allocated(most=True) - base
    return found


def clock() -> float:
    """Milliseconds; the device has done all it was given."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return 1e3 * time.perf_counter()


def forward(stage: Stage, shape: Shape, sequence: int) -> tuple[Tensor, Tensor]:
    """Receives a microbatch; what came in, and what goes out or the loss. Both stay until its backward pass."""
    tokens = torch.randint(shape.vocabulary, (1, sequence))
    x = tokens if stage.is_first else torch.randn(1, sequence, shape.hidden, requires_grad=True)
    return x, stage(x, tokens)


def backward(stage: Stage, x: Tensor, y: Tensor) -> None:
    """Receives the gradient of what went out, if it was no loss; the gradient of `x` is sent and forgotten."""
    y.backward(None if stage.is_last else torch.randn_like(y))


def operators(timer: Timer, asked: dict) -> dict:
    """Milliseconds of each operator's passes, and of a whole layer."""
    shape, sequence = SHAPES[asked["model"]], asked["sequence"]
    made = makers(shape, sequence)
    found = {name: passes(timer, make) for name, make in made.items()}
    with attention(SDPBackend.CUDNN_ATTENTION), suppress(RuntimeError):  # not in every build of PyTorch
        found["attend, cuDNN"] = passes(timer, made["attend"])
    layer = Layer(shape, turn_of(shape, sequence), fused=False)
    found["layer"] = whole(timer, layer, layer, sequence)
    found["layer, recomputed"] = whole(timer, layer, partial(again, layer), sequence)
    return {"model": asked["model"], "sequence": sequence, "operators": found}


def compiled(timer: Timer, asked: dict) -> dict:
    """Milliseconds of a layer's passes as compiled."""
    shape, sequence = SHAPES[asked["model"]], asked["sequence"]
    layer = Layer(shape, turn_of(shape, sequence), fused=False)
    times = whole(timer, layer, torch.compile(layer), sequence)
    return {"model": asked["model"], "sequence": sequence, "operators": {"layer, compiled": times}}


# An operator with inputs of its own, all that have a gradient.
Made = tuple[Callable[[], Tensor], list[Tensor]]


def makers(shape: Shape, sequence: int) -> dict[str, Callable[[], Made]]:
    """For each operator what makes it, with inputs."""
    hidden, width = shape.hidden, shape.width
    turn = turn_of(shape, sequence)

    def tensor(*sizes: int) -> Tensor:
        return torch.randn(1, *sizes, requires_grad=True)

    def heads(count: int) -> Tensor:
        return torch.randn(1, sequence, count, width).transpose(1, 2).requires_grad_()

    def function(call: Callable[..., Tensor], *make: Callable[[], Tensor]) -> Callable[[], Made]:
        def made() -> Made:
            inputs = [each() for each in make]
            return partial(call, *inputs), inputs

        return made

    def module(build: Callable[[], nn.Module], size: int) -> Callable[[], Made]:
        def made() -> Made:
            built, x = build(), tensor(sequence, size)
            return partial(built, x), [x, *built.parameters()]

        return made

    def product(size: int, output: int) -> Callable[[], Made]:
        return module(lambda: linear(size, output), size)

    def embedding() -> Made:
        words, tokens = nn.Embedding(shape.vocabulary, hidden), torch.randint(shape.vocabulary, (1, sequence))
        return partial(words, tokens), [words.weight]

    def loss() -> Made:
        logits, labels = tensor(sequence, shape.vocabulary), torch.randint(shape.vocabulary, (sequence,))
        return lambda: functional.cross_entropy(logits.flatten(0, 1), labels), [logits]

    queries, keys = partial(heads, shape.heads), partial(heads, shape.key_heads)
    plain, inner = partial(tensor, sequence, hidden), partial(tensor, sequence, shape.inner)
    return {
        "words": embedding,
        "norm": module(lambda: Norm(hidden), hidden),
        "query": product(hidden, hidden),
        "key": product(hidden, shape.key_heads * width),
        "value": product(hidden, shape.key_heads * width),
        "turn_query": function(partial(turned, turn=turn), queries),
        "turn_key": function(partial(turned, turn=turn), keys),
        "attend": function(attend, queries, keys, keys),
        "output": product(hidden, hidden),
        "residual": function(torch.add, plain, plain),
        "gate": product(hidden, shape.inner),
        "up": product(hidden, shape.inner),
        "swiglu": function(swiglu, inner, inner),
        "swiglu, fused": function(FusedSwiglu.apply, inner, inner),
        "down": product(shape.inner, hidden),
        "vocabulary": product(hidden, shape.vocabulary),
        "loss": loss,
    }


def passes(timer: Timer, make: Callable[[], Made]) -> list[float]:
    """Milliseconds of the forward and of the backward pass of an operator, with new inputs in turn."""
    made = [make() for _ in range(SETS)]
    turns = itertools.cycle(made)
    forward = timer.measure(lambda: next(turns)[0]()).median
    outputs = [call() for call, _ in made]
    gradients = [torch.randn_like(output) for output in outputs]
    backwards = itertools.cycle(zip(outputs, made, gradients, strict=True))

    def backward() -> None:
        output, (_, inputs), gradient = next(backwards)
        torch.autograd.grad(output, inputs, gradient, retain_graph=True)

    return [forward, timer.measure(backward).median]


def whole(timer: Timer, layer: Layer, call: Callable[[Tensor], Tensor], sequence: int) -> list[float]:
    """Milliseconds of a layer's passes when it is called so; gradients of weights are added to those that are there."""
    for parameter in layer.parameters():
        parameter.grad = torch.zeros_like(parameter)
    x, gradient = (torch.randn(1, sequence, layer.shape.hidden) for _ in range(2))
    x.requires_grad_()
    forward = timer.measure(lambda: call(x)).median
    both = timer.measure(lambda: call(x).backward(gradient)).median
    return [forward, both - forward]


if __name__ == "__main__":
    sys.exit(main())
