"""The unsharded twin: whole weights, plain torch, no group. What a sharded block must agree with.

Legend: B batch, S sequence, T = B*S tokens, H hidden, F intermediate, D head_dim, A query heads, K
key-value heads (both of the whole model), P ranks, N tokens that attention sees.

Written apart from the sharded blocks on purpose: three matrices where they have one, softmax
spelled out where they call a kernel.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from workers.contract.axes import Block
from workers.contract.layouts import Cut
from workers.contract.point import PointSpec
from workers.tp.activation import activate
from workers.tp.kv_cache import KvCache, needs_cache

LARGEST_POOL = 16_777_213
"""Random numbers drawn at most: the largest prime below 2**24, so that what repeats never lines up
with a row or a shard. Drawing every weight of a large layer would take longer than measuring it."""


@dataclass(frozen=True, slots=True)
class Twin:
    """A block as a single device holds it."""

    spec: PointSpec
    weights: tuple[Tensor, ...]
    """MLP: [gate,] up [F, H], down [H, F]. Attention: query [A*D, H], key and value [K*D, H],
    output [H, A*D]. Layer: norm [H], attention's, norm [H], MLP's."""
    cache: tuple[Tensor, Tensor] | None = None
    """In decode, keys and values [B, K, C, D] of the C = `seq` tokens that came before."""

    def forward(self, x_BSH: Tensor) -> Tensor:
        """Return the block's output, [B, S, H]."""
        match self.spec.block:
            case Block.MLP:
                return self._mlp(x_BSH, self.weights)
            case Block.ATTENTION:
                return self._attention(x_BSH, self.weights)
            case Block.LAYER:
                attention_norm, *attention, mlp_norm = self.weights[:6]
                x_BSH = x_BSH + self._attention(_norm(x_BSH, attention_norm), attention)
                return x_BSH + self._mlp(_norm(x_BSH, mlp_norm), self.weights[6:])
            case _:
                assert_never(self.spec.block)

    def _mlp(self, x_BSH: Tensor, weights: Sequence[Tensor]) -> Tensor:
        *gate, up_FH, down_HF = weights
        up_BSF = x_BSH @ up_FH.T
        if gate:
            inner_BSF = activate(x_BSH @ gate[0].T, self.spec.model.activation) * up_BSF
        else:
            inner_BSF = activate(up_BSF, self.spec.model.activation)
        return inner_BSF @ down_HF.T

    def _attention(self, x_BSH: Tensor, weights: Sequence[Tensor]) -> Tensor:
        shape = self.spec.model
        batch, seq, _ = x_BSH.shape
        q, k, v = (
            (x_BSH @ weight.T).view(batch, seq, -1, shape.head_dim).transpose(1, 2)
            for weight in weights[:3]
        )
        group = shape.num_attention_heads // shape.num_key_value_heads
        if self.cache is not None:
            k, v = (torch.cat(pair, dim=2) for pair in zip(self.cache, (k, v), strict=True))
        k, v = (heads.repeat_interleave(group, dim=1) for heads in (k, v))
        earlier = k.shape[2] - seq
        future = torch.ones(seq, k.shape[2], dtype=torch.bool, device=x_BSH.device).triu(
            1 + earlier
        )
        scores_BASN = (q @ k.transpose(2, 3) / math.sqrt(shape.head_dim)).masked_fill(
            future, -math.inf
        )
        attended_BASD = scores_BASN.softmax(dim=-1) @ v
        return attended_BASD.transpose(1, 2).reshape(batch, seq, -1) @ weights[3].T


def _norm(x_BSH: Tensor, weight_H: Tensor) -> Tensor:
    return F.layer_norm(x_BSH, weight_H.shape, weight_H)


def draw_twin(spec: PointSpec, *, seed: int, device: torch.device, dtype: torch.dtype) -> Twin:
    """Draw the whole block, normal with variance 1/fan_in; norms about one.

    From the CPU's generator, whatever the device: every rank that asks gets the same numbers.
    """
    shapes, cached = _whole_shapes(spec), _cache_shapes(spec)
    size = sum(map(math.prod, (*shapes, *cached)))
    stream = _Stream(size, seed=seed, device=device, dtype=dtype)
    weights = []
    for shape in shapes:
        weight = stream.take(shape)
        if len(shape) == 1:
            weight.mul_(0.1).add_(1)
        else:
            weight.mul_(shape[1] ** -0.5)
        weights.append(weight.requires_grad_(spec.phase.has_backward))
    if not cached:
        return Twin(spec, tuple(weights))
    keys, values = (stream.take(shape) for shape in cached)
    return Twin(spec, tuple(weights), (keys, values))


def cut(spec: PointSpec, tensors: Sequence[Tensor], *, rank: int, size: int) -> tuple[Tensor, ...]:
    """Cut whole weights, or their gradients, to those of one rank, in the order of `plan_weights`.

    Columns and rows are those of the paper's x @ W: stored [out, in], a column is a row here.
    Key-value heads fewer than `size` are copied.
    """
    match spec.block:
        case Block.MLP:
            return _cut_mlp(spec, tensors, rank=rank, size=size)
        case Block.ATTENTION:
            return _cut_attention(spec, tensors, rank=rank, size=size)
        case Block.LAYER:
            attention_norm, *attention, mlp_norm = tensors[:6]
            return (
                attention_norm,
                *_cut_attention(spec, attention, rank=rank, size=size),
                mlp_norm,
                *_cut_mlp(spec, tensors[6:], rank=rank, size=size),
            )
        case _:
            assert_never(spec.block)


def cut_cache(twin: Twin, *, rank: int, size: int) -> KvCache | None:
    """Copy the key-value heads that one rank holds, with room for the step's own token."""
    if twin.cache is None:
        return None
    kv_heads = twin.spec.model.num_key_value_heads
    if twin.spec.layout.is_whole:
        rank, size = 0, 1
    start, length = rank * kv_heads // size, max(1, kv_heads // size)
    keys, values = (heads.narrow(1, start, length) for heads in twin.cache)
    return KvCache.of(keys, values)


def cut_tokens(spec: PointSpec, whole_BSH: Tensor, *, rank: int) -> Tensor:
    """Cut what the block is given or gives to what one rank sees of it."""
    if whole_BSH.shape == spec.input_shape:
        return whole_BSH
    return whole_BSH.flatten(0, 1).chunk(spec.tp_degree)[rank].unsqueeze(0)


def _cut_mlp(
    spec: PointSpec, tensors: Sequence[Tensor], *, rank: int, size: int
) -> tuple[Tensor, ...]:
    *first, down_HF = tensors
    layout = spec.layout
    return (
        *(_cut_matrix(t, layout.first, rank=rank, size=size) for t in first),
        _cut_matrix(down_HF, layout.second, rank=rank, size=size),
    )


def _cut_matrix(matrix: Tensor, cut: Cut, *, rank: int, size: int) -> Tensor:
    match cut:
        case Cut.WHOLE:
            return matrix
        case Cut.COLUMN:
            return matrix.chunk(size, dim=0)[rank]
        case Cut.ROW:
            return matrix.chunk(size, dim=1)[rank]
        case _:
            assert_never(cut)


def _cut_attention(
    spec: PointSpec, tensors: Sequence[Tensor], *, rank: int, size: int
) -> tuple[Tensor, ...]:
    query, key, value, output = tensors
    if spec.layout.is_whole:
        return torch.cat((query, key, value)), output
    head_dim, kv_heads = spec.model.head_dim, spec.model.num_key_value_heads
    start = rank * kv_heads // size * head_dim
    length = max(1, kv_heads // size) * head_dim
    parts = (query.chunk(size)[rank], key.narrow(0, start, length), value.narrow(0, start, length))
    return torch.cat(parts), _cut_matrix(output, spec.layout.second, rank=rank, size=size)


def _whole_shapes(spec: PointSpec) -> tuple[tuple[int, ...], ...]:
    shape = spec.model
    hidden, inner = shape.hidden_size, shape.intermediate_size
    queries = shape.num_attention_heads * shape.head_dim
    key_values = shape.num_key_value_heads * shape.head_dim
    mlp = ((inner, hidden),) * (2 if shape.gated else 1) + ((hidden, inner),)
    attention = (queries, hidden), (key_values, hidden), (key_values, hidden), (hidden, queries)
    match spec.block:
        case Block.MLP:
            return mlp
        case Block.ATTENTION:
            return attention
        case Block.LAYER:
            return ((hidden,), *attention, (hidden,), *mlp)
        case _:
            assert_never(spec.block)


def _cache_shapes(spec: PointSpec) -> tuple[tuple[int, ...], ...]:
    if not needs_cache(spec):
        return ()
    shape = spec.model
    return ((spec.batch, shape.num_key_value_heads, spec.seq, shape.head_dim),) * 2


class _Stream:
    """Normal numbers in sequence; starts over where more than LARGEST_POOL are taken."""

    def __init__(
        self, num_elements: int, *, seed: int, device: torch.device, dtype: torch.dtype
    ) -> None:
        generator = torch.Generator().manual_seed(seed % 2**63)
        size = min(num_elements, LARGEST_POOL)
        self._pool = torch.randn(size, generator=generator, dtype=dtype).to(device)
        self._position = 0

    def take(self, shape: tuple[int, ...]) -> Tensor:
        """Return the next numbers in a new tensor."""
        taken = torch.empty(shape, device=self._pool.device, dtype=self._pool.dtype)
        rest = taken.view(-1)
        while rest.numel():
            piece = self._pool[self._position :][: rest.numel()]
            rest[: piece.numel()] = piece
            rest = rest[piece.numel() :]
            self._position = (self._position + piece.numel()) % self._pool.numel()
        return taken
