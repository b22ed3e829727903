"""The closed sets a sweep ranges over. A value exists here only once it can be measured."""

from enum import StrEnum
from typing import assert_never


class Kind(StrEnum):
    """What a point measures."""

    BLOCK = "block"
    COLLECTIVE = "collective"
    GEMM = "gemm"
    COPY = "copy"


class Block(StrEnum):
    """The part of a transformer that is measured."""

    MLP = "mlp"
    ATTENTION = "attention"
    LAYER = "layer"


class Phase(StrEnum):
    """What a step is: forward and backward, or one forward without gradients.

    Prefill is causal over `seq` tokens of each sequence; decode adds one token to each, which
    attends to itself and to `seq` earlier ones through their cached keys and values.
    """

    TRAIN = "train"
    PREFILL = "prefill"
    DECODE = "decode"

    @property
    def has_backward(self) -> bool:
        """Whether a step takes gradients."""
        match self:
            case Phase.TRAIN:
                return True
            case Phase.PREFILL | Phase.DECODE:
                return False
            case _:
                assert_never(self)


class Arrangement(StrEnum):
    """How the two matrices of a block are cut."""

    COLUMN_ROW = "column_row"
    COLUMN_COLUMN = "column_column"
    ROW_COLUMN = "row_column"
    ROW_ROW = "row_row"
    REPLICATED = "replicated"
    """Nothing is cut: every rank does all of the work."""
    SEQUENCE_PARALLEL = "sequence_parallel"
    """Column, row, and between blocks each rank holds its share of the tokens; the gathered input
    is dropped after forward and gathered again in backward, as Megatron-LM does."""
    SEQUENCE_PARALLEL_KEPT = "sequence_parallel_kept"
    """The same, with the gathered input kept: less to send, more to hold."""
    LAYER_SPLIT = "layer_split"
    """Not a cut but a stack: rank r holds layer r of tp_degree whole ones, one after the other."""


class Dtype(StrEnum):
    """Element type of weights and activations."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"

    @property
    def num_bytes(self) -> int:
        """Bytes of one element."""
        return 4 if self is Dtype.FLOAT32 else 2


class CollectiveImpl(StrEnum):
    """What runs a collective."""

    BACKEND = "backend"
    """The process group's own: NCCL, gloo."""
    ONE_SHOT = "one_shot"
    TWO_SHOT = "two_shot"
    """Of torch's symmetric memory, between GPUs of one host."""
    SHARED_MEMORY = "shared_memory"
    """A one-shot all-reduce between CPU ranks of one host."""


class Overlap(StrEnum):
    """Which communication runs under which compute."""

    NONE = "none"
    BACKWARD = "backward"
    """The input gradient's collective under the product that gives the weights' gradients."""
    CHUNKED = "chunked"
    """The batch in two halves: the collective of one under the products of the other, within a
    block: the half that comes last in it has nothing to hide under."""


class Launch(StrEnum):
    """How the host starts a step's kernels."""

    EAGER = "eager"
    """One by one, as PyTorch code usually runs."""
    CUDA_GRAPH = "cuda_graph"
    """Recorded once, started as a whole: what the host costs is left out."""


class Collective(StrEnum):
    """The operation itself."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    SEND_RECV = "send_recv"
    """From one rank to another: not of all of them, but timed and counted in the same way."""


class Activation(StrEnum):
    """The MLP's pointwise function."""

    GELU = "gelu"
    GELU_TANH = "gelu_tanh"
    SILU = "silu"
    RELU = "relu"
    RELU_SQUARED = "relu_squared"


class GroupKind(StrEnum):
    """Whether a replicate runs in new processes or in a re-formed group of warm ones."""

    FRESH = "fresh"
    REGROUPED = "regrouped"


class Pass(StrEnum):
    """One way of running the same step: see `workers.timing.passes`."""

    CLEAN = "clean"
    SPLIT = "split"
    COMPUTE = "compute"
    STANDALONE = "standalone"
    CONTROL_GEMM = "control_gemm"
    CONTROL_COLLECTIVE = "control_collective"
    """Not the point's step but fixed work between its steps: `workers.contract.control`."""
