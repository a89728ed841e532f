"""The command `dagsplit-profile`."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from tqdm import tqdm

from . import instance, models, profile
from .errors import ProfileError
from .grouping import Granularity
from .hardware import ACCELERATORS
from .models import Settings

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
UNITS |= {f"{unit}i": 1024**power for power, unit in enumerate("kmgt", start=1)}

EPILOG = """\
examples:
  dagsplit-profile bert-large --roofline a100 --dtype fp16 --batch 8 --output bert.json
  dagsplit-profile resnet50 --device cuda --training --batch 32 --cpu-times --output resnet50.json
  dagsplit-profile my_models.py:make --depth 2 --output mine.json
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; gives its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    given = list(arguments) if arguments is not None else sys.argv[1:]
    try:
        job = _job(options)
        bar = None if options.quiet else tqdm
        result = profile.run(job, bar)
        result.metadata["source"] = shlex.join(["dagsplit-profile", *_without_output(given)])
        instance.write(result.instance, result.metadata, options.output)
    except ProfileError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {options.output}: cannot write the file: {error}", file=sys.stderr)
        return 1
    if not options.quiet:
        print(result.summary(), file=sys.stderr)
    return 0


def job(arguments: Sequence[str]) -> profile.Job:
    """What a command line asks for, its output left aside."""
    return _job(_parser().parse_args(arguments))


def _job(options: argparse.Namespace) -> profile.Job:
    return profile.Job(
        model=options.model,
        settings=Settings(
            options.batch, DTYPES[options.dtype], options.layers, options.sequence, options.resolution
        ),
        granularity=Granularity(options.depth, tuple(options.atomic)),
        training=options.training,
        device=profile.META if options.roofline else options.device,
        roofline=ACCELERATORS.get(options.roofline),
        cpu_times=options.cpu_times,
        warmup=options.warmup,
        repeats=options.repeats,
        beside=options.beside,
        seed=options.seed,
        bandwidth=options.bandwidth,
        accelerators=options.accelerators,
        memory=options.memory,
        cpus=options.cpus,
        tied=options.tied,
        optimizer=options.optimizer,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dagsplit-profile",
        description="Trace and profile a PyTorch model, and write it as a workload for dagsplit.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "model", help=f"one of {', '.join(models.MODELS)}, or `module:function` (or `file.py:function`) of your own"
    )
    parser.add_argument("--output", type=Path, metavar="OUT", help="the file to write [default: standard output]")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no summary")

    group = parser.add_argument_group("model")
    group.add_argument("--batch", type=_at_least_one, default=1, help="samples in a batch [1]")
    group.add_argument("--dtype", choices=DTYPES, default="fp32", help="numbers of parameters and activations [fp32]")
    group.add_argument("--layers", type=_at_least_one, help="depth of a built-in transformer, MLP or chain of blocks")
    group.add_argument("--sequence", type=_at_least_one, help="tokens of a built-in language model")
    group.add_argument("--resolution", type=_at_least_one, help="side of a built-in image model's input")
    group.add_argument("--training", action="store_true", help="in training mode, with the backward pass")
    group.add_argument(
        "--optimizer", choices=profile.OPTIMIZERS, default="none", help="whose state training keeps in memory [none]"
    )
    group.add_argument("--seed", type=int, default=0, help="seed of weights and inputs [0]")

    group = parser.add_argument_group("nodes (default: one for each operator)")
    group.add_argument("--depth", type=_at_least_one, help="one node for each module so many levels below the root")
    group.add_argument(
        "--atomic",
        action="append",
        default=[],
        metavar="PATTERN",
        help="one node for each module whose name or class matches, such as `encoder.layer.*` or `BertLayer`",
    )
    group.add_argument(
        "--tied",
        choices=("copy", "colocate"),
        default="copy",
        help="parameters that several nodes read: each holds a copy, or they share a device [copy]",
    )

    group = parser.add_argument_group("costs")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    group.add_argument(
        "--device", type=_device, default=device, help=f"where to measure: cpu, cuda or cuda:N [{device}]"
    )
    group.add_argument(
        "--roofline",
        choices=ACCELERATORS,
        metavar="NAME",
        help=f"model the costs of {', '.join(ACCELERATORS)} in place of measuring; needs no device",
    )
    group.add_argument("--cpu-times", action="store_true", help="also give the times on a CPU")
    group.add_argument("--warmup", type=_not_negative, default=2, help="runs before the measured ones [2]")
    group.add_argument("--repeats", type=_at_least_one, default=7, help="measured runs; their median counts [7]")
    group.add_argument(
        "--beside",
        type=_not_negative,
        default=0,
        metavar="N",
        help="measure while N other processes run the model, as other stages on the same machine will [0]",
    )

    group = parser.add_argument_group("devices to split over")
    group.add_argument("--accelerators", type=_at_least_one, default=6, metavar="K", help="how many [6]")
    group.add_argument("--memory", type=_bytes, metavar="BYTES", help="of each, such as 16GiB [that of the device]")
    group.add_argument("--cpus", type=_not_negative, metavar="L", help="how many [1 with --cpu-times, else 0]")
    group.add_argument(
        "--bandwidth",
        type=_bytes,
        metavar="BYTES/S",
        help="of the link, such as 12GB [measured; with --roofline that of the accelerator's PCIe]",
    )
    return parser


def _device(text: str) -> torch.device:
    kind, _, index = text.partition(":")
    if kind not in ("cpu", "cuda") or not (index.isdecimal() or text == kind):
        # Other devices run beside the host, and nothing here waits for them before it takes the time.
        raise argparse.ArgumentTypeError("give cpu, cuda or cuda:N; --roofline models a device that is not at hand")
    return torch.device(text)


def _bytes(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d*)?(?:e\d+)?) ?([kmgt]i?)?b?", text.lower())
    if match is None or float(match[1]) <= 0:
        raise argparse.ArgumentTypeError("give bytes, such as 16GiB, 16GB or 1.6e10")
    return float(match[1]) * UNITS[match[2] or ""]


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("give a whole number of at least 1")
    return int(text)


def _not_negative(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("give a whole number of at least 0")
    return int(text)


def _without_output(arguments: list[str]) -> list[str]:
    """The command line without what does not change the instance."""
    kept, skip = [], False
    for argument in arguments:
        if skip or argument == "--quiet" or argument.startswith("--output="):
            skip = False
        elif argument == "--output":
            skip = True
        else:
            kept.append(argument)
    return kept
