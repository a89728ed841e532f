"""Timers: how long a call takes on a device."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

# Cycles a second, no fewer than those of any device.
CLOCK = 3e9


@dataclass(frozen=True)
class Time:
    """A measured or modelled time in milliseconds, and how far repeats lay apart (interquartile range)."""

    median: float
    spread: float = 0.0

    def __add__(self, other: Time) -> Time:
        return Time(self.median + other.median, self.spread + other.spread)


@dataclass(frozen=True)
class Timer:
    """Runs a call `warmup` times unmeasured and then `repeats` times measured."""

    device: torch.device
    warmup: int = 2
    repeats: int = 7

    def measure(self, call: Callable[[], object]) -> Time:
        """The median and the spread of the measured runs.

        On CUDA the device takes the time itself, between two events on the stream. It sleeps before the first one while
        the host queues the call, so that no kernel waits for the host: operators of microseconds would seem to take as
        long as PyTorch needs to start them. Only a call that itself waits for the device, or queues a thousand kernels,
        has gaps.
        """
        for _ in range(self.warmup):
            call()
        times = self._cuda(call) if self.device.type == "cuda" else self._wall(call)
        if len(times) < 2:
            return Time(times[0])
        low, _, high = statistics.quantiles(times, n=4, method="inclusive")
        return Time(statistics.median(times), high - low)

    def _wall(self, call: Callable[[], object]) -> list[float]:
        times = []
        for _ in range(self.repeats):
            start = time.perf_counter()
            call()
            times.append(1e3 * (time.perf_counter() - start))
        return times

    def _cuda(self, call: Callable[[], object]) -> list[float]:
        stream = torch.cuda.current_stream(self.device)
        events = [tuple(torch.cuda.Event(enable_timing=True) for _ in range(2)) for _ in range(self.repeats)]
        torch.cuda.synchronize(self.device)
        begun = time.perf_counter()
        call()
        cycles = int(2 * CLOCK * (time.perf_counter() - begun))
        for start, end in events:
            torch.cuda.synchronize(self.device)
            torch.cuda._sleep(cycles)
            start.record(stream)
            call()
            end.record(stream)
        torch.cuda.synchronize(self.device)
        return [start.elapsed_time(end) for start, end in events]
