"""SmolLM2 (llama architecture) in GGUF's row order, with LoRA on every linear layer."""

import math

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, HEADS, KV_HEADS, HEAD, EPS, BASE = 576, 9, 3, 64, 1e-5, 100000.0
LINEAR = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]


class Linear(nn.Module):
    def __init__(self, weight, rank, alpha):
        super().__init__()
        self.register_buffer("weight", weight)
        self.rank = rank
        if rank:
            self.scale = alpha / rank
            self.a = nn.Parameter(torch.randn(rank, weight.shape[1]) / math.sqrt(weight.shape[1]))
            self.b = nn.Parameter(torch.zeros(weight.shape[0], rank))

    def forward(self, x):
        y = F.linear(x, self.weight)
        if self.rank:
            y = y + F.linear(F.linear(x, self.a.to(x.dtype)), self.b.to(x.dtype)) * self.scale
        return y


def norm(x, weight):
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPS)).to(x.dtype) * weight


def attention(q, k, v):
    """Of each token to itself and those before it. torch has it since 2.0; Debian's may be older."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    after = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).triu(1)
    weight = q @ k.transpose(-2, -1) / math.sqrt(HEAD)
    return weight.masked_fill(after, -math.inf).softmax(-1) @ v


def turned(x, cos, sin):
    """Rotary positions of neighbouring pairs, as GGUF has them."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


class Block(nn.Module):
    def __init__(self, weights, at, rank, alpha, dtype):
        super().__init__()
        of = lambda name: weights[f"blk.{at}.{name}.weight"].to(dtype)
        for name in LINEAR:
            setattr(self, name, Linear(of(name), rank, alpha))
        self.register_buffer("attn_norm", of("attn_norm"))
        self.register_buffer("ffn_norm", of("ffn_norm"))

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        h = norm(x, self.attn_norm)
        split = lambda y, heads: y.view(batch, length, heads, HEAD).transpose(1, 2)
        q = turned(split(self.attn_q(h), HEADS), cos, sin)
        k = turned(split(self.attn_k(h), KV_HEADS), cos, sin)
        v = split(self.attn_v(h), KV_HEADS)
        k, v = (y.repeat_interleave(HEADS // KV_HEADS, 1) for y in (k, v))
        y = attention(q, k, v)
        x = x + self.attn_output(y.transpose(1, 2).reshape(batch, length, WIDTH))
        h = norm(x, self.ffn_norm)
        return x + self.ffn_down(F.silu(self.ffn_gate(h)) * self.ffn_up(h))


class Model(nn.Module):
    def __init__(self, weights, rank=0, alpha=32, dtype=torch.float32):
        super().__init__()
        self.register_buffer("embedding", weights["token_embd.weight"].to(dtype))
        self.register_buffer("output_norm", weights["output_norm.weight"].to(dtype))
        layers = sum(name.endswith("attn_norm.weight") for name in weights)
        self.blocks = nn.ModuleList(Block(weights, i, rank, alpha, dtype) for i in range(layers))

    def hidden(self, ids):
        """Right-padded rows: what stands behind a token never counts for it."""
        x = self.embedding[ids]
        steps = torch.arange(ids.shape[1], device=ids.device, dtype=torch.float32)
        speeds = BASE ** (-torch.arange(0, HEAD, 2, device=ids.device, dtype=torch.float32) / HEAD)
        angles = torch.outer(steps, speeds)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for block in self.blocks:
            x = block(x, cos, sin)
        return norm(x, self.output_norm)

    def logits(self, hidden):
        return F.linear(hidden, self.embedding)

    def load_adapter(self, found):
        """Takes over `NAME.a` and `NAME.b` of an adapter with this rank and alpha."""
        for i, block in enumerate(self.blocks):
            for name in LINEAR:
                layer, key = getattr(block, name), f"blk.{i}.{name}.weight"
                layer.a.data = torch.from_numpy(found[key + ".a"]).float()
                layer.b.data = torch.from_numpy(found[key + ".b"]).float()

    def adapter(self):
        """Tensor name -> (a, b)."""
        return {
            f"blk.{i}.{name}.weight": (
                getattr(block, name).a.detach().float().cpu(),
                getattr(block, name).b.detach().float().cpu(),
            )
            for i, block in enumerate(self.blocks)
            for name in LINEAR
        }
