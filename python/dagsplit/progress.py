"""What searches tell while they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Progress:
    """How far a search is."""

    phase: str
    """What it is doing."""
    incumbent: float | None
    """Best objective so far."""
    bound: float | None
    """Best lower bound so far."""

    @property
    def gap(self) -> float | None:
        """(incumbent - bound) / incumbent, where both are known."""
        if self.incumbent is None or self.bound is None or self.incumbent <= 0:
            return None
        return (self.incumbent - self.bound) / self.incumbent


Watcher: TypeAlias = Callable[[str, float | None, float | None], object]
"""What the native module tells of a search."""


@contextmanager
def told(progress: bool | Callable[[Progress], object]) -> Iterator[Watcher | None]:
    """Whoever is told of a search: a function, a line of tqdm, or nobody."""
    if callable(progress):
        yield lambda phase, incumbent, bound: progress(Progress(phase, incumbent, bound))
    elif progress:
        with _line() as watcher:
            yield watcher
    else:
        yield None


@contextmanager
def _line() -> Iterator[Watcher]:
    from tqdm.auto import tqdm

    with tqdm(bar_format="{elapsed} {desc}", leave=False) as line:

        def show(phase: str, incumbent: float | None, bound: float | None) -> None:
            line.set_description_str(f"{phase}: incumbent {_shown(incumbent)}, bound {_shown(bound)}")

        yield show


def _shown(value: float | None) -> str:
    return "none yet" if value is None else f"{value:.7g}"


@contextmanager
def counted(progress: bool | Callable[[int, int], object]) -> Iterator[Watcher | None]:
    """Whoever is told how many of how many cases are done."""
    if callable(progress):
        yield lambda _, done, of: progress(int(done or 0), int(of or 0))
    elif progress:
        with _bar() as watcher:
            yield watcher
    else:
        yield None


@contextmanager
def staged(progress: bool | Callable[[str], object]) -> Iterator[Watcher | None]:
    """Whoever is told what runs, of runs that the native module counts."""
    if callable(progress):
        yield lambda step, _, __: progress(step)
    elif progress:
        with _bar() as watcher:
            yield watcher
    else:
        yield None


@contextmanager
def _bar() -> Iterator[Watcher]:
    from tqdm.auto import tqdm

    with tqdm(leave=False) as bar:

        def show(step: str, done: float | None, of: float | None) -> None:
            bar.total = of
            bar.set_description_str(step)
            bar.update(int(done or 0) - bar.n)

        yield show


@contextmanager
def steps(progress: bool | Callable[[str], object], count: int) -> Iterator[Callable[[str], object]]:
    """Whoever is told what each of `count` steps is."""
    if callable(progress):
        yield progress
    elif progress:
        from tqdm.auto import tqdm

        with tqdm(total=count, leave=False) as bar:

            def show(step: str) -> None:
                bar.set_description_str(step)
                bar.update()

            yield show
    else:
        yield lambda _: None
