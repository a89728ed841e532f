"""Memory of stages: what is predicted without running them, and the peak of a step that runs on the CPU.

As a program it prints the table of docs/your-model.md.
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable
from functools import partial

import torch

from dagsplit_profile import Trace, group, trace
from dagsplit_profile.execute import tensors
from dagsplit_profile.memory import Tracker, footprints, peak, working_set
from dagsplit_profile.stages import stage_modules
from families import FAMILIES, Made

BATCH = 8
LARGER = {
    "hidden_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 512,
    "vocab_size": 1000,
    "use_cache": False,
}


def _language_model(name: str, **options: object) -> Callable[[], Made]:
    """A model whose activations weigh as much as its parameters, so that a small mistake in either shows."""

    def make() -> Made:
        transformers = importlib.import_module("transformers")
        config = getattr(transformers, f"{name}Config")(**(LARGER | options))
        head = "ForMaskedLM" if name == "Bert" else "LMHeadModel" if name == "GPT2" else "ForCausalLM"
        return getattr(transformers, name + head)(config), {"input_ids": torch.randint(1000, (BATCH, 64))}

    return make


MODELS: dict[str, Callable[[], Made]] = {
    **{
        name: partial(FAMILIES[name], batch=BATCH)
        for name in ("resnet18", "mobilenet_v3_small", "densenet121", "unet_2d_condition")
    },
    "bert": _language_model("Bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0),
    "bert with dropout": _language_model("Bert"),
    "gpt2 with dropout": _language_model("GPT2", n_embd=128, n_layer=4, n_head=4),
    "llama": _language_model("Llama", num_key_value_heads=2),
}


def halves(traced: Trace) -> list[list[str]]:
    """Two stages of equally many nodes; the pieces of a tuple stay with it."""
    groups = group(traced)
    parts: list[list[str]] = [[], []]
    stage = 0
    for index, entry in enumerate(groups):
        if entry.nodes[0].target is not operator.getitem:
            stage = 2 * index // len(groups)
        parts[stage].append(entry.name)
    return parts


def of_model(name: str, training: bool) -> list[tuple[int, int, int]]:
    """The comparison for one of `MODELS` in two stages."""
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    args, kwargs = ((), inputs) if isinstance(inputs, dict) else (inputs, {})
    traced = trace(model.train(training), args, kwargs)
    return compared(traced, halves(traced), training)


def compared(trace: Trace, nodes: list[list[str]], training: bool) -> list[tuple[int, int, int]]:
    """For each stage, in bytes: the predicted peak, the most that its instance's nodes may take, the measured peak."""
    groups = group(trace)
    memory = footprints(trace, groups, training)
    reserve = working_set(memory)
    rows: list[tuple[int, int, int]] = []
    values = [value.detach().clone() for value in trace.example]
    for module, names in zip(stage_modules(trace, groups, nodes), nodes, strict=True):
        here = [index for index, entry in enumerate(groups) if entry.name in set(names)]
        state = {held.name: held for index in here for held in groups[index].state}.values()
        gradients = sum(held.bytes for held in state if held.tensor.requires_grad) if training else 0
        total = sum(held.bytes for held in state)
        own = [memory[index] for index in here]
        additive = total + gradients + sum(entry.held for entry in own) + reserve
        predicted = peak(memory, here, total, gradients)
        # The first stage is given the model's inputs; the others make room for what they receive.
        received = sum(value.untyped_storage().nbytes() for value in values) if rows else 0
        allocated, values = _step(module, values, training)
        rows.append((predicted, additive, total + gradients + received + allocated))
    return rows


def _step(module: torch.nn.Module, values: list[torch.Tensor], training: bool) -> tuple[int, list[torch.Tensor]]:
    """The peak of what one forward and backward pass allocate beside the parameters' gradients; and the outputs.

    The gradients are there from the microbatch before, and are added to.
    """
    inputs = [value.requires_grad_(training and value.is_floating_point()) for value in values]
    gradients = []
    for parameter in filter(lambda parameter: parameter.requires_grad, module.parameters() if training else ()):
        parameter.grad = torch.zeros_like(parameter)
        gradients.append(parameter.grad)
    known = [*inputs, *module.parameters(), *module.buffers(), *gradients]
    with torch.set_grad_enabled(training), Tracker(known) as tracker:
        outputs = tensors(module(*inputs))
        results = [value.detach() for value in outputs]
        if training:
            ends = [value for value in outputs if value.requires_grad]
            torch.autograd.backward(ends, [torch.ones_like(value) for value in ends])
    return tracker.peak, results


def main() -> None:
    """Prints the table."""
    print("| model | pass | stage | predicted | measured | ratio | bound |\n|---|---|---|---|---|---|---|")
    for name in MODELS:
        for training in (False, True):
            for stage, sizes in enumerate(of_model(name, training)):
                predicted, most, measured = (f"{size / 1e6:.2f} MB" for size in sizes)
                ratio = f"{sizes[0] / sizes[2]:.3f}"
                kind = "training" if training else "inference"
                print(f"| {name} | {kind} | {stage} | {predicted} | {measured} | {ratio} | {most} |", flush=True)


if __name__ == "__main__":
    main()
