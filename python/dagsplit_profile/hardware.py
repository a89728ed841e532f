"""Published figures of named devices: the same ones as `dagsplit generate` uses (`src/generate/model/hardware.rs`)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

# The share of the peak that matrix products reach.
EFFICIENCY = 0.6


@dataclass(frozen=True)
class Device:
    """What a roofline needs to know of a device: operations and bytes per second, and seconds to start a kernel."""

    name: str
    fp32: float
    half: float
    bandwidth: float
    launch: float

    def rate(self, dtype: torch.dtype, *, matrix: bool) -> float:
        """Operations per second; only matrix products profit from numbers of 16 bits."""
        peak = self.half if matrix and dtype in (torch.float16, torch.bfloat16) else self.fp32
        return EFFICIENCY * peak


@dataclass(frozen=True)
class Accelerator(Device):
    """An accelerator with its memory (bytes), its link to the host (bytes per second) and the CPU of its server."""

    memory: int
    link: float
    cpu: Device


XEON_E5 = Device("Xeon E5-2698 v4", 1.408e12, 1.408e12, 76.8e9, 1e-6)
EPYC_7742 = Device("EPYC 7742", 4.608e12, 4.608e12, 204.8e9, 1e-6)
XEON_8480 = Device("Xeon Platinum 8480C", 7.168e12, 7.168e12, 307.2e9, 1e-6)

ACCELERATORS = {
    "v100": Accelerator("V100", 15.7e12, 125e12, 900e9, 5e-6, 16 << 30, 15.75e9, XEON_E5),
    "a100": Accelerator("A100", 19.5e12, 312e12, 1555e9, 5e-6, 40 << 30, 31.5e9, EPYC_7742),
    "h100": Accelerator("H100", 66.9e12, 989.4e12, 3350e9, 5e-6, 80 << 30, 63e9, XEON_8480),
}
