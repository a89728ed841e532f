"""A mixture-of-experts transformer block whose shapes do not depend on the data, so that it can be traced."""

from __future__ import annotations

import torch
from torch import nn


class MixtureOfExperts(nn.Module):
    """Every token goes to its two best experts, up to a capacity for each expert, as in GShard (ICLR 2021).

    Tokens beyond an expert's capacity skip it. Input and output have the shape (batch, tokens, width).
    """

    def __init__(self, width: int, hidden: int, experts: int, capacity_factor: float = 1.25) -> None:
        super().__init__()
        self.capacity_factor = capacity_factor
        self.gate = nn.Linear(width, experts, bias=False)
        expert = lambda: nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))  # noqa: E731
        self.experts = nn.ModuleList(expert() for _ in range(experts))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Routes, computes and joins."""
        tokens = x.flatten(0, 1)
        experts = len(self.experts)
        capacity = int(2 * self.capacity_factor * tokens.shape[0] / experts)
        weight, choice = self.gate(tokens).softmax(-1).topk(2)
        chosen = nn.functional.one_hot(choice.flatten(), experts).to(x.dtype)
        place = (chosen.cumsum(0) - 1) * chosen
        fits = chosen * (place < capacity)
        slot = (place.unsqueeze(-1) == torch.arange(capacity, device=x.device)).to(x.dtype) * fits.unsqueeze(-1)
        slot = slot.view(tokens.shape[0], 2, experts, capacity)
        combine = (slot * weight.view(tokens.shape[0], 2, 1, 1)).sum(1)
        dispatched = torch.einsum("tec,tw->ecw", slot.sum(1), tokens)
        results = [expert(part) for expert, part in zip(self.experts, dispatched.unbind(0), strict=True)]
        return torch.einsum("tec,ecw->tw", combine, torch.stack(results)).view_as(x)


class MixtureOfExpertsBlock(nn.Module):
    """Self-attention and a mixture of experts, each after a normalization and with a residual connection."""

    def __init__(self, width: int = 1024, heads: int = 16, hidden: int = 4096, experts: int = 8) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.heads = heads
        self.projection = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.experts_norm = nn.LayerNorm(width)
        self.experts = MixtureOfExperts(width, hidden, experts)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One block."""
        batch, tokens, width = x.shape
        parts = self.projection(self.attention_norm(x)).view(batch, tokens, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        attention = nn.functional.scaled_dot_product_attention(query, key, value)
        x = x + self.output(attention.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.experts(self.experts_norm(x))
