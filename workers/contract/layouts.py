"""How each arrangement cuts a block's two matrices, and what it has to send for that.

Legend: T tokens of a step, H hidden, F inner width (MLP: intermediate; attention: heads*head_dim),
P tp_degree. In the papers' y = g(x @ W1) @ W2 a matrix is cut along its columns (its outputs) or
its rows (its inputs).

    arrangement        forward                     backward                        elements for T=1
    column_row         AR H                        AR H                            Megatron-LM
    column_column      AG F, AG H                  RS F, AR H
    row_column         AR F each, AG H             AR F, AG H
    row_row            RS F each, AR H             AG F each, AG H
    replicated         -                           -                               P times the work
    sequence_parallel  AG H, RS H                  AG H, AG H again, RS H          1/P of the tokens
    ..._kept           AG H, RS H                  AG H, RS H                      same
    layer_split        P-1 times SR H              P-1 times SR H                  P layers in turn

AR all-reduce, AG all-gather, RS reduce-scatter, SR from one rank to the next; "each" of the first
matrices, two where an MLP is gated. An AR moves twice what an AG or RS of the same
elements does (nccl-tests, PERFORMANCE.md).
Sources: arXiv:1909.08053 section 3, arXiv:2205.05198 section 4.2.2 for sequence parallelism.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from workers.contract.axes import Arrangement, Block, Collective, Overlap


class Cut(StrEnum):
    """Which part of a matrix a rank holds."""

    WHOLE = "whole"
    COLUMN = "column"
    ROW = "row"


class Width(StrEnum):
    """Elements of one token in a message, all ranks together."""

    HIDDEN = "hidden"
    INNER = "inner"


@dataclass(frozen=True, slots=True)
class Hop:
    """One collective of a block's step."""

    place: str
    """Behind the block's name; ends in forward or backward."""
    op: Collective
    width: Width
    is_for_each_first: bool = False
    """Whether each of the matrices that read the input needs one: two where an MLP is gated."""
    has_product_beside: bool = False
    """Whether a product of the first matrices' backward neither gives nor reads what is sent."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One arrangement."""

    first: Cut
    second: Cut
    forward: tuple[Hop, ...] = ()
    backward: tuple[Hop, ...] = ()
    is_inner_cut: bool = True
    """Whether a rank applies the activation to F/P of the inner width, or to all of it."""
    has_token_shards: bool = False
    """Whether a rank is given, and gives, T/P of the tokens in place of all of them."""
    keeps_gathered_input: bool = False
    """Whether backward finds the gathered input still there."""
    splits_layers: bool = False
    """Whether a rank holds a whole layer of a stack in place of its part of one."""
    blocks: frozenset[Block] = frozenset(Block)
    """What can be arranged so."""

    @property
    def cuts_inner(self) -> bool:
        """Whether F must be divisible by P."""
        return self.first is Cut.COLUMN or self.second is Cut.ROW

    @property
    def cuts_hidden(self) -> bool:
        """Whether H must be divisible by P."""
        return self.first is Cut.ROW or self.second is Cut.COLUMN

    @property
    def is_whole(self) -> bool:
        """Whether every rank holds everything."""
        return self.first is Cut.WHOLE

    @property
    def overlaps(self) -> tuple[Overlap, ...]:
        """What of its communication can run under compute.

        Halves of the batch are of use where nothing is sent between a block's two matrices: there
        the next product waits for what was sent last, and the other half would have to be taken
        apart as well.
        """
        possible = [Overlap.NONE]
        if any(hop.has_product_beside for hop in self.backward):
            possible.append(Overlap.BACKWARD)
        hops = (*self.forward, *self.backward)
        if hops and all(hop.op is Collective.ALL_REDUCE for hop in hops):
            possible.append(Overlap.CHUNKED)
        return tuple(possible)


_REDUCE, _GATHER, _SCATTER = (
    Collective.ALL_REDUCE,
    Collective.ALL_GATHER,
    Collective.REDUCE_SCATTER,
)
_H, _F = Width.HIDDEN, Width.INNER
_MLP_ONLY = frozenset({Block.MLP})
"""Rows first: queries, keys and values are sums over the ranks and cannot be used before they are
taken, so that heads are no longer independent, which is all that makes attention easy to cut."""

LAYOUTS: Mapping[Arrangement, Layout] = MappingProxyType(
    {
        Arrangement.COLUMN_ROW: Layout(
            Cut.COLUMN,
            Cut.ROW,
            forward=(Hop("forward", _REDUCE, _H),),
            backward=(Hop("backward", _REDUCE, _H, has_product_beside=True),),
        ),
        Arrangement.COLUMN_COLUMN: Layout(
            Cut.COLUMN,
            Cut.COLUMN,
            forward=(Hop("inner.forward", _GATHER, _F), Hop("output.forward", _GATHER, _H)),
            backward=(
                Hop("inner.backward", _SCATTER, _F),
                Hop("input.backward", _REDUCE, _H, has_product_beside=True),
            ),
        ),
        Arrangement.ROW_COLUMN: Layout(
            Cut.ROW,
            Cut.COLUMN,
            forward=(
                Hop("inner.forward", _REDUCE, _F, is_for_each_first=True),
                Hop("output.forward", _GATHER, _H),
            ),
            backward=(Hop("inner.backward", _REDUCE, _F), Hop("input.backward", _GATHER, _H)),
            is_inner_cut=False,
            blocks=_MLP_ONLY,
        ),
        Arrangement.ROW_ROW: Layout(
            Cut.ROW,
            Cut.ROW,
            forward=(
                Hop("inner.forward", _SCATTER, _F, is_for_each_first=True),
                Hop("output.forward", _REDUCE, _H),
            ),
            backward=(
                Hop("inner.backward", _GATHER, _F, is_for_each_first=True),
                Hop("input.backward", _GATHER, _H),
            ),
            blocks=_MLP_ONLY,
        ),
        Arrangement.REPLICATED: Layout(Cut.WHOLE, Cut.WHOLE, is_inner_cut=False),
        Arrangement.SEQUENCE_PARALLEL: Layout(
            Cut.COLUMN,
            Cut.ROW,
            forward=(Hop("input.forward", _GATHER, _H), Hop("output.forward", _SCATTER, _H)),
            backward=(
                Hop("output.backward", _GATHER, _H),
                Hop("input.again.backward", _GATHER, _H, has_product_beside=True),
                Hop("input.backward", _SCATTER, _H, has_product_beside=True),
            ),
            has_token_shards=True,
        ),
        Arrangement.SEQUENCE_PARALLEL_KEPT: Layout(
            Cut.COLUMN,
            Cut.ROW,
            forward=(Hop("input.forward", _GATHER, _H), Hop("output.forward", _SCATTER, _H)),
            backward=(
                Hop("output.backward", _GATHER, _H),
                Hop("input.backward", _SCATTER, _H, has_product_beside=True),
            ),
            has_token_shards=True,
            keeps_gathered_input=True,
        ),
        Arrangement.LAYER_SPLIT: Layout(
            Cut.WHOLE,
            Cut.WHOLE,
            is_inner_cut=False,
            splits_layers=True,
            blocks=frozenset({Block.LAYER}),
        ),
    }
)
