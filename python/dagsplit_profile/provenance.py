"""Where an instance comes from: what its metadata states."""

from __future__ import annotations

import datetime
import importlib.metadata
import platform
from collections.abc import Sequence
from pathlib import Path

import torch

from .costs import Cost

LIBRARIES = ("torch", "torchvision", "timm", "transformers", "diffusers")


def software() -> str:
    """The versions of what took part."""
    found = []
    for library in LIBRARIES:
        try:
            found.append(f"{library} {importlib.metadata.version(library)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    if torch.version.cuda and torch.cuda.is_available():
        found.append(f"CUDA {torch.version.cuda}")
    return ", ".join([*found, f"Python {platform.python_version()}"])


def device_name(device: torch.device) -> str:
    """The device as its maker calls it; a CPU with the number of threads that ran."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"CPU, {_processor()}, {torch.get_num_threads()} thread(s)"


def today() -> str:
    """The date in UTC."""
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def relative_spread(costs: Sequence[Cost]) -> float:
    """The spread of the measured times, relative to them, averaged by time."""
    times = [part.accelerator for cost in costs for part in (cost.forward, cost.backward) if part is not None]
    total = sum(time.median for time in times)
    return sum(time.spread for time in times) / total if total > 0.0 else 0.0


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
