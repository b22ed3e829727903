"""Causal self-attention cut by heads (Megatron-LM, arXiv:1909.08053).

Grouped key-value heads: arXiv:2305.13245.

Legend: B batch, S sequence, T = B*S tokens, H hidden, D head_dim, P ranks; of one rank: A query
heads, K key-value heads, W = A + 2*K. A*D over all ranks need not be H.

    q, k, v = f(x_TH) @ query_key_value^T       column-parallel, heads whole
    y_TH = g(softmax(q k^T / sqrt(D) + causal) v @ output^T)       row-parallel

In decode each sequence has one token, whose k and v are put behind those of the C = `seq` earlier
ones in a cache [B, K, C+1, D] and which sees all of them: no mask. Heads are cut as above.

Key-value heads fewer than ranks are replicated: rank r of P holds head r // (P / heads), and the
gradient of such a copy is its rank's part of the head's gradient.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from workers.tp.arrangements.column_row import COLUMN_ROW
from workers.tp.arrangements.products import Products
from workers.tp.group import TensorParallelGroup
from workers.tp.kv_cache import KvCache


@dataclass(frozen=True, slots=True)
class AttentionShard:
    """One rank's heads."""

    query_key_value: Tensor
    """[W*D, H]: A heads of q, then K of k, then K of v. One product, so that x has one reader."""
    output: Tensor
    """[H, A*D]."""
    num_heads: int
    """A."""
    num_kv_heads: int
    """K, of which each serves A / K query heads."""
    head_dim: int
    cache: KvCache | None = None
    """In decode."""
    products: Products = COLUMN_ROW
    """Shapes are given for column-row; `workers.tp.blocks` plans those of other arrangements."""
    num_sequences: int = 0
    """B, where a rank is given only its share of the tokens and cannot see it; else 0."""

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """query_key_value, output."""
        return self.query_key_value, self.output

    def forward(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        """Return y_TH of contiguous x_TH, both replicated unless tokens are dealt to the ranks."""
        first, second = self.products.first, self.products.second
        (mixed_TWD,) = first(x_TH, self.query_key_value, group=group, block="attention")
        attended_TAD = self._attend_all(mixed_TWD, batch=self.num_sequences or batch)
        return second(attended_TAD, self.output, group=group, block="attention")

    def _attend_all(self, mixed_TWD: Tensor, *, batch: int) -> Tensor:
        heads, kv_heads = self.num_heads, self.num_kv_heads
        mixed_BSWD = mixed_TWD.view(batch, -1, heads + 2 * kv_heads, self.head_dim)
        # Split before transposing: backward then joins the three gradients where the product reads
        # them, instead of copying them once more.
        q_BASD, k_BKSD, v_BKSD = [
            part_BSWD.transpose(1, 2)
            for part_BSWD in mixed_BSWD.split((heads, kv_heads, kv_heads), dim=2)
        ]
        if self.cache is None:
            attended_BASD = attend(q_BASD, k_BKSD, v_BKSD)
        else:
            attended_BASD = attend_to_cache(q_BASD, *self.cache.append(k_BKSD, v_BKSD))
        return attended_BASD.transpose(1, 2).reshape(mixed_TWD.shape[0], -1)


def attend(q_BASD: Tensor, k_BKSD: Tensor, v_BKSD: Tensor) -> Tensor:
    """Return causal attention, [B, A, S, D]; each key-value head serves A / K query heads.

    torch's kernels read grouped heads as they are, but for float32 on CUDA: only its kernel that
    wants equal heads runs there without writing out all S*S scores, so they are repeated for it.
    """
    repeats = q_BASD.shape[1] // k_BKSD.shape[1]
    if repeats > 1 and q_BASD.is_cuda and q_BASD.dtype is torch.float32:
        k_BKSD = k_BKSD.repeat_interleave(repeats, dim=1)
        v_BKSD = v_BKSD.repeat_interleave(repeats, dim=1)
    grouped = q_BASD.shape[1] != k_BKSD.shape[1]
    return F.scaled_dot_product_attention(
        q_BASD, k_BKSD, v_BKSD, is_causal=True, enable_gqa=grouped
    )


def attend_to_cache(q_BA1D: Tensor, k_BKND: Tensor, v_BKND: Tensor) -> Tensor:
    """Return what one new token of each sequence sees of N = C+1 cached ones, [B, A, 1, D].

    The A / K query heads that share a key-value head stand where tokens stand otherwise: all of
    them see the same keys, so that any kernel reads each key and value once for the whole group.
    """
    q_BKGD = q_BA1D.reshape(k_BKND.shape[0], k_BKND.shape[1], -1, k_BKND.shape[3])
    return F.scaled_dot_product_attention(q_BKGD, k_BKND, v_BKND).reshape(q_BA1D.shape)
