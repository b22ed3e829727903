from typing import Literal, assert_never

from pydantic import Field, JsonValue, StrictInt

from workers.contract.axes import (
    Arrangement,
    Block,
    CollectiveImpl,
    Dtype,
    Kind,
    Launch,
    Overlap,
    Phase,
)
from workers.contract.canonical import sha256_of
from workers.contract.frozen import Frozen
from workers.contract.layouts import LAYOUTS, Layout
from workers.contract.shapes import ModelShape

METHOD_VERSION = 1
"""Raised when the way of measuring changes so that old and new numbers must not be compared."""

LARGEST_TP_DEGREE = 64
LARGEST_EXTENT = 1 << 20


class PointSpec(Frozen):
    """One combination of axis values: all that a worker group needs to measure one block."""

    kind: Literal[Kind.BLOCK] = Kind.BLOCK
    model: ModelShape
    block: Block
    arrangement: Arrangement = Arrangement.COLUMN_ROW
    phase: Phase
    tp_degree: StrictInt = Field(ge=1, le=LARGEST_TP_DEGREE)
    batch: StrictInt = Field(ge=1, le=LARGEST_EXTENT)
    seq: StrictInt = Field(ge=1, le=LARGEST_EXTENT)
    dtype: Dtype = Dtype.FLOAT32
    collective_impl: CollectiveImpl = CollectiveImpl.BACKEND
    overlap: Overlap = Overlap.NONE
    launch: Launch = Launch.EAGER

    @property
    def num_tokens(self) -> int:
        """Tokens that one step works on: in decode one for each sequence, and `seq` are cached."""
        return self.batch * self.step_seq

    @property
    def step_seq(self) -> int:
        """Tokens of one sequence that one step works on."""
        match self.phase:
            case Phase.TRAIN | Phase.PREFILL:
                return self.seq
            case Phase.DECODE:
                return 1
            case _:
                assert_never(self.phase)

    @property
    def layout(self) -> Layout:
        """What the arrangement cuts and sends."""
        return LAYOUTS[self.arrangement]

    @property
    def num_shards(self) -> int:
        """Ranks that the weights, and the work on them, are divided among."""
        return 1 if self.layout.is_whole else self.tp_degree

    @property
    def num_layers(self) -> int:
        """Layers that one step passes through, one after the other."""
        return self.tp_degree if self.layout.splits_layers else 1

    @property
    def input_shape(self) -> tuple[int, int, int]:
        """Sequences, tokens and width of what one rank is given, and gives.

        A share of the tokens is cut out of all of them, sequence after sequence, wherever that is.
        """
        if self.layout.has_token_shards and self.tp_degree > 1:
            return 1, self.num_tokens // self.tp_degree, self.model.hidden_size
        return self.batch, self.step_seq, self.model.hidden_size

    @property
    def kv_copies(self) -> int:
        """How many ranks hold a copy of each key-value head; 1 where the heads are divided.

        1 as well where all of the weights are replicated.
        """
        if self.block is Block.MLP or self.layout.is_whole:
            return 1
        return max(1, self.tp_degree // self.model.num_key_value_heads)

    @property
    def identity(self) -> dict[str, JsonValue]:
        """What is measured, not what it is called: all that `spec_key` is a hash of.

        A field at its default is left out, so that a new axis never changes the keys of old points.
        """
        identity: dict[str, JsonValue] = self.model_dump(
            mode="json", exclude_defaults=True, exclude={"model": {"name"}}
        )
        identity["method_version"] = METHOD_VERSION
        return identity

    @property
    def spec_key(self) -> str:
        """Identity of the point along time: 128 bits over `identity`."""
        return key_of(self.identity)


def key_of(identity: dict[str, JsonValue]) -> str:
    """128 bits over what is measured."""
    return "p1:" + sha256_of(identity)[:32]
