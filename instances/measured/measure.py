"""Measures every workload of this directory on a CUDA device, twice, and runs the stages of its split in two.

All models are traced side by side, then measured one at a time. Writes NAME.json of the first run and, with what the
second one gave and how long stages took, `runs.json`, from which `table.py` makes the tables of ../README.md and
docs/measured.md. Needs `pip install '.[models]'`, and `dagsplit` on the path or its place in $DAGSPLIT.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
import torch.multiprocessing as mp

from dagsplit_profile.cli import job
from dagsplit_profile.execute import tensors
from dagsplit_profile.grouping import Group, group
from dagsplit_profile.instance import text
from dagsplit_profile.numbers import significant
from dagsplit_profile.profile import Job, Profile, of_trace, traced_model
from dagsplit_profile.stages import read_stages, stage_modules
from dagsplit_profile.timing import Timer
from dagsplit_profile.trace import Trace

# The largest models come last, when the others have left the device.
WORKLOADS = {
    "resnet152_inference": "resnet152 --batch 32",
    "resnet152_training": "resnet152 --batch 32 --training",
    "resnet152_bf16_training": "resnet152 --dtype bf16 --batch 32 --training",
    "inception_v3_fp16_inference": "inception-v3 --dtype fp16 --batch 32",
    "fpn_inference": "fpn --batch 4",
    "nasnet_a_cells_inference": "nasnet-a --batch 16 --atomic cell_*",
    "vit_b_fp16_inference": "vit-b --dtype fp16 --batch 32",
    "swin_l_fp16_inference": "swin-l --dtype fp16 --batch 32 --accelerators 4",
    "bert_base_fp16_training": "bert-base --dtype fp16 --batch 8 --training",
    "bert_large_inference": "bert-large --batch 8",
    "bert_large_fp16_inference": "bert-large --dtype fp16 --batch 8",
    "bert_large_layers_training": "bert-large --dtype fp16 --batch 8 --atomic BertLayer --training",
    "bert_48_layers_fp16_inference": "bert-large --layers 48 --dtype fp16 --batch 8",
    "gpt2_medium_fp16_inference": "gpt2-medium --dtype fp16 --batch 4",
    "gpt2_fp16_training": "gpt2 --dtype fp16 --batch 4 --training",
    "moe_fp16_inference": "moe --layers 6 --dtype fp16 --batch 8",
    "moe_fp16_training": "moe --layers 4 --dtype fp16 --batch 8 --training --accelerators 8",
    "stable_diffusion_bf16_inference": "stable-diffusion --dtype bf16 --batch 4",
    "stable_diffusion_bf16_training": "stable-diffusion --dtype bf16 --batch 4 --training",
    "mixtral_4_layers_bf16_inference": "mixtral-8x7b --layers 4 --dtype bf16",
    "mixtral_4_layers_bf16_training": "mixtral-8x7b --layers 4 --dtype bf16 --training",
    "llama3_8b_bf16_inference": "llama3-8b --dtype bf16 --accelerators 8",
    "llama3_8b_layers_bf16_training": "llama3-8b --dtype bf16 --atomic LlamaDecoderLayer --training --accelerators 8",
}


def main() -> None:
    """Measures what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*WORKLOADS, []], help="the workloads to measure [all]")
    parser.add_argument("--device", default="cuda", help="where [cuda]")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, help="the folder to write to [this one]")
    options = parser.parse_args()
    names = options.names or list(WORKLOADS)
    context = mp.get_context("spawn")
    traced, turns = context.Barrier(len(names)), [context.Event() for _ in range(len(names) + 1)]
    turns[0].set()
    queue = context.SimpleQueue()
    workers = [
        context.Process(target=_work, args=(name, options.device, options.output, traced, *pair, queue))
        for name, pair in zip(names, zip(turns, turns[1:], strict=False), strict=True)
    ]
    for worker in workers:
        worker.start()
    path = options.output / "runs.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for _ in workers:
        name, record = queue.get()
        found |= {name: record} if record else {}
        path.write_text(json.dumps({name: found[name] for name in WORKLOADS if name in found}) + "\n")
    for worker in workers:
        worker.join()


def _work(name: str, device: str, output: Path, traced: mp.Barrier, turn: mp.Event, after: mp.Event, queue) -> None:
    """Traces, waits for all to have traced and then for its turn; what goes wrong with one model stops no other."""
    torch.set_num_threads(1)
    record = None
    try:
        asked = job([*WORKLOADS[name].split(), "--device", device])
        model = _attempt(name, lambda: traced_model(asked))
        traced.wait()
        turn.wait()
        record = model and _attempt(name, lambda: _measured(name, asked, model, output))
    finally:
        queue.put((name, record))
        after.set()


def _attempt(name: str, act):
    try:
        return act()
    except Exception:
        print(f"{name}: {traceback.format_exc()}", flush=True)
        return None


def _measured(name: str, asked: Job, model: Trace, output: Path) -> dict:
    """Two runs, of which the first is kept, and the stages of its split in two."""
    first, second = (of_trace(asked, model) for _ in range(2))
    first.metadata["source"] = f"dagsplit-profile {WORKLOADS[name]}"
    path = output / f"{name}.json"
    path.write_text(text(first.instance, first.metadata))
    groups = group(model, asked.granularity)
    nodes = _stages(path)
    record = {
        "milliseconds": [significant(_total(run), 5) for run in (first, second)],
        "deviation": significant(_deviation(first, second), 2),
        "second": [node["accelerator_times"][0] for node in second.instance["nodes"]],
        "predicted": [significant(_predicted(first, names), 5) for names in nodes],
        **stage_times(model, groups, nodes, asked),
    }
    print(name, {key: value for key, value in record.items() if key != "second"}, flush=True)
    return record


def _total(run: Profile) -> float:
    return sum(node["accelerator_times"][0] for node in run.instance["nodes"])


def _deviation(first: Profile, second: Profile) -> float:
    """How far the times of nodes lie apart, on average, relative to them."""
    pairs = zip(first.instance["nodes"], second.instance["nodes"], strict=True)
    apart = sum(abs(a["accelerator_times"][0] - b["accelerator_times"][0]) for a, b in pairs)
    return apart / _total(first)


def _predicted(run: Profile, names: list[str]) -> float:
    here = {*names, *(f"{name}/gradient" for name in names)}
    return sum(node["accelerator_times"][0] for node in run.instance["nodes"] if node["name"] in here)


def _stages(path: Path) -> list[list[str]]:
    """The names of the nodes on each of two accelerators in the best split."""
    dagsplit = os.environ.get("DAGSPLIT", "dagsplit")
    with tempfile.TemporaryDirectory() as folder:
        split, stages = f"{folder}/split.json", Path(folder) / "stages.json"
        question = ["--accelerators", "2", "--time-limit", "5", "--quiet", "--output", split]
        subprocess.run([dagsplit, "solve", path, *question], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([dagsplit, "export", path, split, "--to", "pytorch-pipelining", "--output", stages], check=True)
        return read_stages(stages).nodes


def stage_times(model: Trace, groups: list[Group], nodes: list[list[str]], asked: Job) -> dict[str, list[float]]:
    """Milliseconds of each stage, run as a whole on what the stage before it gave.

    `queued` is the time that the device takes, as that of the nodes is; `eager` is what a clock shows, where kernels
    wait until PyTorch starts them.
    """
    values = list(model.example)
    runs = []
    with torch.set_grad_enabled(asked.training):
        for module in stage_modules(model, groups, nodes):
            runs.append(partial(_step if asked.training else _forward, module, values))
            results = module(*values)
            results = results if isinstance(results, tuple) else (results,)
            values = [value.detach().requires_grad_(value.requires_grad) for value in results]
        queued = [_median(run, asked.device, asked) for run in runs]
        return {"queued": queued, "eager": [_eager(run, asked) for run in runs]}


def _eager(run: Callable[[], None], asked: Job) -> float:
    def synchronized() -> None:
        run()
        torch.cuda.synchronize(asked.device)

    return _median(synchronized, torch.device("cpu"), asked)


def _median(call: Callable[[], None], device: torch.device, asked: Job) -> float:
    return significant(Timer(device, asked.warmup, asked.repeats).measure(call).median, 5)


def _forward(module: torch.nn.Module, values: list[object]) -> None:
    module.forward(*values)


def _step(module: torch.nn.Module, values: list[object]) -> None:
    """Forward and backward, with the gradients of what the stage is given and of its parameters."""
    ends = [value for value in tensors(module.forward(*values)) if value.requires_grad]
    leaves = [value for value in [*tensors(values), *module.parameters()] if value.requires_grad]
    torch.autograd.grad(ends, leaves, [torch.ones_like(value) for value in ends], allow_unused=True)


if __name__ == "__main__":
    main()
