"""Llama's layers in plain PyTorch, and stages of a pipeline made of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint


@dataclass(frozen=True)
class Shape:
    """Widths of a model."""

    hidden: int
    heads: int
    key_heads: int
    inner: int
    vocabulary: int

    @property
    def width(self) -> int:
        """Width of a head."""
        return self.hidden // self.heads


SHAPES = {
    "llama2-7b": Shape(4096, 32, 32, 11_008, 32_000),
    "llama3.2-1b": Shape(2048, 32, 8, 8192, 128_256),
    "llama3-8b": Shape(4096, 32, 8, 14_336, 128_256),
    "llama3-70b": Shape(8192, 64, 8, 28_672, 128_256),
}


def turn_of(shape: Shape, sequence: int) -> tuple[Tensor, Tensor]:
    """Cosine and sine for each position and half of a head's width."""
    rate = 500_000.0 ** (-torch.arange(0, shape.width, 2).float() / shape.width)
    angle = torch.outer(torch.arange(sequence).float(), rate).repeat(1, 2)
    kind = torch.get_default_dtype()
    return angle.cos().to(kind), angle.sin().to(kind)


def turned(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """`x` with each head turned by its position."""
    low, high = x.chunk(2, dim=-1)
    return x * turn[0] + torch.cat((-high, low), dim=-1) * turn[1]


def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Causal attention in which several heads share keys and values."""
    shared = query.shape[1] != key.shape[1]
    return functional.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=shared)


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """As one writes it; PyTorch keeps what SiLU gives, too."""
    return functional.silu(gate) * up


class FusedSwiglu(torch.autograd.Function):
    """The same, keeping the two inputs alone, as fused kernels do."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, gate: Tensor, up: Tensor) -> Tensor:
        """The product."""
        ctx.save_for_backward(gate, up)
        return functional.silu(gate) * up

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of both inputs."""
        gate, up = ctx.saved_tensors
        of_gate = torch.ops.aten.silu_backward(gradient * up, gate)
        return of_gate, gradient * functional.silu(gate)


class Norm(nn.Module):
    """Normalization by the root of the mean square."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """As one kernel."""
        return functional.rms_norm(x, self.weight.shape, self.weight, 1e-5)


class Layer(nn.Module):
    """Attention and feed-forward sublayer."""

    def __init__(self, shape: Shape, turn: tuple[Tensor, Tensor], *, fused: bool) -> None:
        super().__init__()
        self.shape, self.turn, self.swiglu = shape, turn, FusedSwiglu.apply if fused else swiglu
        hidden, keys = shape.hidden, shape.key_heads * shape.width
        self.norms = nn.ModuleList([Norm(hidden), Norm(hidden)])
        self.query, self.key, self.value = linear(hidden, hidden), linear(hidden, keys), linear(hidden, keys)
        self.output, self.down = linear(hidden, hidden), linear(shape.inner, hidden)
        self.gate, self.up = linear(hidden, shape.inner), linear(hidden, shape.inner)

    def forward(self, x: Tensor) -> Tensor:
        """The layer's output."""
        x = x + self.attention(self.norms[0](x))
        normalized = self.norms[1](x)
        return x + self.down(self.swiglu(self.gate(normalized), self.up(normalized)))

    def attention(self, x: Tensor) -> Tensor:
        """What attention adds."""
        query, key, value = (self.by_head(project(x)) for project in (self.query, self.key, self.value))
        context = attend(turned(query, self.turn), turned(key, self.turn), value)
        return self.output(context.transpose(1, 2).flatten(2))

    def by_head(self, x: Tensor) -> Tensor:
        """Heads before positions."""
        return x.unflatten(-1, (-1, self.shape.width)).transpose(1, 2)


class Head(nn.Module):
    """The last norm, the vocabulary's logits and the loss; the norm may be computed again."""

    def __init__(self, shape: Shape, *, recomputed: bool) -> None:
        super().__init__()
        self.norm, self.vocabulary = Norm(shape.hidden), linear(shape.hidden, shape.vocabulary)
        self.recomputed = recomputed

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        """The loss of a microbatch."""
        x = again(self.norm, x) if self.recomputed else self.norm(x)
        return functional.cross_entropy(self.vocabulary(x).flatten(0, 1), labels.flatten())


class Stage(nn.Module):
    """The layers of these names; `embed_tokens` takes tokens, `lm_head` gives the loss."""

    def __init__(self, shape: Shape, turn: tuple[Tensor, Tensor], layers: list[dict], *, fused: bool) -> None:
        super().__init__()
        names = [layer["name"].removeprefix("model.") for layer in layers]
        self.is_first, self.is_last = names[0] == "embed_tokens", names[-1] == "lm_head"
        self.embedding = nn.Embedding(shape.vocabulary, shape.hidden) if self.is_first else None
        self.recomputed = [layer["recomputed"] for layer in layers if "layers." in layer["name"]]
        self.layers = nn.ModuleList(Layer(shape, turn, fused=fused) for _ in self.recomputed)
        self.head = Head(shape, recomputed=layers[-1]["recomputed"]) if self.is_last else None

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        """What the stage hands on, or the loss."""
        x = self.embedding(x) if self.embedding else x
        for layer, recomputed in zip(self.layers, self.recomputed, strict=True):
            x = again(layer, x) if recomputed else layer(x)
        return self.head(x, labels) if self.head else x


def again(module: nn.Module, x: Tensor) -> Tensor:
    """What the module makes of `x`, which keeps nothing and runs once more in the backward pass."""
    return checkpoint(module, x, use_reentrant=False, preserve_rng_state=False)


def linear(width: int, output: int) -> nn.Linear:
    """A product without a bias."""
    return nn.Linear(width, output, bias=False)


class Adam:
    """Adam with a copy of the weights and two moments in fp32; gradients are of the weights' type."""

    CHUNK = 1 << 24

    def __init__(self, parameters: list[nn.Parameter]) -> None:
        self.parameters = parameters
        zeros = partial(torch.zeros_like, dtype=torch.float)
        self.state = [[weight.detach().float(), zeros(weight), zeros(weight)] for weight in parameters]

    def step(self) -> None:
        """One step, piece by piece, so that it takes no memory to speak of."""
        for parameter, state in zip(self.parameters, self.state, strict=True):
            pieces = [tensor.detach().flatten().split(self.CHUNK) for tensor in (parameter, parameter.grad, *state)]
            for weight, gradient, master, mean, square in zip(*pieces, strict=True):
                gradient = gradient.float()
                mean.lerp_(gradient, 0.1)
                square.mul_(0.95).addcmul_(gradient, gradient, value=0.05)
                master.addcdiv_(mean, square.sqrt().add_(1e-8), value=-1e-4)
                weight.copy_(master)
            parameter.grad.zero_()
