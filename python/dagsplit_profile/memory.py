"""What nodes hold in memory, found by running them on tensors without data: nothing is computed, and nothing measured.

PyTorch's own autograd says what it saves for the backward pass. What a stage takes at its peak is what its nodes hold,
and the largest working set of one of them: nodes run one after another.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import fx
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakIdKeyDictionary

from .execute import Run, Show, tensors, walk
from .grouping import Group
from .trace import Trace, without_data


def _dropout(value: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    return torch.native_dropout(value, p, train)[0] if train and p > 0 else value


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **options: object,
) -> torch.Tensor:
    # Accelerators draw the random numbers of dropout again; the fused kernel of CPUs knows no dropout.
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask, 0.0, is_causal, **options)


# What accelerators run in place of an operator's CPU kernel, as far as it changes what is kept for the backward pass:
# dropout keeps a mask of one byte for each number, and attention is fused.
FUSED = {
    torch.ops.aten.dropout.default: _dropout,
    torch.ops.aten.scaled_dot_product_attention.default: _attention,
}


@dataclass(frozen=True)
class Result:
    """What a group hands on: bytes, the last group that reads them, and whether autograd saves them for one."""

    bytes: int
    last: int
    is_held: bool


@dataclass(frozen=True)
class Footprint:
    """Bytes of a group: held from its forward to its backward pass, and the working sets while it runs either.

    A working set is everything that lives then and is neither held nor the model's own: values and gradients that are
    still to be read, also those of other groups, and what the operators allocate.
    """

    held: int
    forward: int
    backward: int
    results: tuple[Result, ...] = ()


def peak(memory: Sequence[Footprint], stage: Sequence[int], state_bytes: int, gradient_bytes: int) -> int:
    """The most that a stage takes: the model's tensors, their gradients, and what its groups hold and work with.

    `stage` are the groups' places in the order in which they run forward. When one runs backward, those after it hold
    nothing any more. What the stage received and sent stays to the end.
    """
    received = [result for entry in memory[: stage[0]] for result in entry.results if result.last >= stage[0]]
    sent = [result for index in stage for result in memory[index].results if result.last > stage[-1]]
    held = sum(result.bytes for result in received if result.is_held)
    passing = sum(result.bytes for result in received + sent if not result.is_held)
    most = 0
    for index in stage:
        held += memory[index].held
        read = sum(result.bytes for result in received if not result.is_held and result.last < index)
        most = max(most, held + read + memory[index].forward, held + passing + memory[index].backward)
    return state_bytes + gradient_bytes + most


def working_set(memory: Sequence[Footprint]) -> int:
    """The most that a stage takes beside the model's tensors, their gradients and what its groups hold.

    Wherever the stage begins and ends, that is the working set of a group, and what the stage was given and keeps to
    the end: what autograd saves of it, and while the group runs forward what nobody reads any more; while it runs
    backward all that the stage received and sent, where values that pass it by count as both. O(n²) for n groups.
    """
    # For each place where a stage may begin: what it receives, what the one before it sends, and what it keeps.
    received, sent, kept = ([0] * (len(memory) + 1) for _ in range(3))
    read: list[list[tuple[int, Result]]] = [[] for _ in memory]
    for index, entry in enumerate(memory):
        for result in entry.results:
            _add(received, index + 1, result.last, result.bytes)
            _add(kept if result.is_held else sent, index + 1, result.last, result.bytes)
            if not result.is_held:
                read[result.last].append((index, result))
    runs_backward = any(entry.backward for entry in memory)
    most = 0
    for index, entry in enumerate(memory):
        most = max(most, entry.forward + max(kept[: index + 1]))
        if runs_backward:
            most = max(most, entry.backward + max(received[: index + 1]) + max(sent[index + 1 :]))
        for made, result in read[index]:
            _add(kept, made + 1, index, result.bytes)
    return most


class Tracker(TorchDispatchMode):
    """Counts the bytes of storages that operators allocate, as long as they live; `known` tensors were there before."""

    def __init__(self, known: Iterable[torch.Tensor] = ()) -> None:
        super().__init__()
        self.live = self.peak = 0
        self._seen = WeakIdKeyDictionary()
        self.leave_out(known)

    def leave_out(self, known: Iterable[torch.Tensor]) -> None:
        """Does not count these."""
        for value in known:
            self._seen[value.untyped_storage()] = False

    def allocated(self, value: torch.Tensor) -> bool:
        """Whether an operator allocated the memory behind `value`."""
        return self._seen.get(value.untyped_storage(), False)

    def __torch_dispatch__(
        self, function: Callable, types: object, args: tuple = (), kwargs: dict | None = None
    ) -> object:
        result = function(*args, **(kwargs or {}))
        pytree.tree_map_only(torch.Tensor, self._see, result)
        return result

    def _see(self, value: torch.Tensor) -> None:
        storage = value.untyped_storage()
        if storage in self._seen:
            return
        self._seen[storage] = True
        size = storage.nbytes()
        self.live += size
        self.peak = max(self.peak, self.live)
        weakref.finalize(storage, self._free, size)

    def _free(self, size: int) -> None:
        self.live -= size


@dataclass
class _Storage:
    """A piece of memory: which group made it, the last that reads it, and whether autograd saves it."""

    bytes: int
    made: int
    last: int
    has_gradient: bool = False
    is_saved: bool = False


@dataclass
class _Recorder:
    """Watches the groups of a walk one after another; notes storages, and what each pass of a group allocates."""

    outputs: set[fx.Node]
    training: bool
    storages: list[_Storage] = field(default_factory=list)
    forward: list[int] = field(default_factory=list)
    backward: list[int] = field(default_factory=list)
    _known: WeakIdKeyDictionary = field(default_factory=WeakIdKeyDictionary)

    def visit(self, entry: Group, run: Run, arguments: list[torch.Tensor]) -> object:
        """Runs the group and gives its result."""
        index, state = len(self.forward), [held.tensor for held in entry.state]
        for value in arguments:
            self._read(value, index)
        saved: list[torch.Tensor] = []
        tracker = Tracker([*arguments, *state])
        with torch.autograd.graph.saved_tensors_hooks(lambda x: saved.append(x) or x, lambda x: x), tracker:
            result = run()
        self.forward.append(tracker.peak)
        for node, value in zip(entry.outputs, [result] if len(entry.outputs) == 1 else result, strict=True):
            for part in tensors(value):
                self._made(part, tracker, index)
                self._read(part, sys.maxsize if node in self.outputs else index)
        for value in saved:
            self._made(value, tracker, index)
            if value.untyped_storage() in self._known:
                self._known[value.untyped_storage()].is_saved = True
        saved.clear()
        self.backward.append(_backward_peak(tracker, tensors(result), arguments + state) if self.training else 0)
        return result

    def _made(self, value: torch.Tensor, tracker: Tracker, index: int) -> None:
        storage = value.untyped_storage()
        if storage not in self._known and tracker.allocated(value):
            self._known[storage] = _Storage(storage.nbytes(), index, index)
            self.storages.append(self._known[storage])

    def _read(self, value: torch.Tensor, index: int) -> None:
        """Notes a reader, unless the model holds the tensor or was given it: the nodes of inputs hold these."""
        if found := self._known.get(value.untyped_storage()):
            found.last = max(found.last, index)
            found.has_gradient |= value.requires_grad


def _backward_peak(tracker: Tracker, results: list[torch.Tensor], read: list[torch.Tensor]) -> int:
    """The most that the backward pass of a group allocates, beside the gradients that it is given.

    What the forward pass saved is let go on the way, as in a step of training.
    """
    outputs = [value for value in results if value.requires_grad]
    leaves = [value for value in read if value.requires_grad]
    if not outputs or not leaves:
        return 0
    seeds = [torch.empty_like(value) for value in outputs]
    tracker.leave_out(seeds)
    before = tracker.peak = tracker.live
    with tracker:
        torch.autograd.grad(outputs, leaves, seeds, allow_unused=True)
    return tracker.peak - before


def footprints(trace: Trace, groups: list[Group], training: bool, shown: Show = iter) -> list[Footprint]:
    """The footprint of every group."""
    bare, mode = without_data(trace, {} if trace.device.type == "cpu" else FUSED)
    state = {held.name: held for held in bare.state.values()}
    bare_groups = [replace(entry, state=[state[held.name] for held in entry.state]) for entry in groups]
    recorder = _Recorder(set(trace.outputs), training)
    with mode:
        walk(bare, bare_groups, recorder.visit, training, shown)
    return _footprints(recorder)


def _footprints(recorder: _Recorder) -> list[Footprint]:
    count = len(recorder.forward)
    held, live, returned, gradients = ([0] * count for _ in range(4))
    results: list[list[Result]] = [[] for _ in range(count)]
    for storage in recorder.storages:
        born, end, is_returned = storage.made, min(storage.last, count - 1), storage.last >= count
        if storage.is_saved:
            held[born] += storage.bytes
        else:
            # While it is made, what the group allocates counts it.
            _add(live, born + 1, end, storage.bytes)
        if is_returned and not storage.is_saved:
            _add(returned, born, end, storage.bytes)
        if not is_returned:
            results[born].append(Result(storage.bytes, storage.last, storage.is_saved))
        if storage.has_gradient:
            # From the last reader's backward pass, which counts what it allocates, to that of the group that made it.
            _add(gradients, born, end if is_returned else end - 1, storage.bytes)
    return [
        Footprint(
            held[index],
            max(0, recorder.forward[index] - held[index]) + live[index],
            recorder.backward[index] + returned[index] + gradients[index] if recorder.training else 0,
            tuple(results[index]),
        )
        for index in range(count)
    ]


def _add(totals: list[int], first: int, last: int, amount: int) -> None:
    for index in range(first, last + 1):
        totals[index] += amount
