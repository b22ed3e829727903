"""A model as far as its memory goes: a layer, how many of them, and what stands around them."""

from typing import Annotated

from pydantic import Field, StrictBool, StrictInt

from workers.contract.frozen import Frozen
from workers.contract.shapes import LARGEST_DIMENSION, Dimension, ModelShape
from workers.contract.workload import attention_weights_per_rank, mlp_weights_per_rank

Vectors = Annotated[StrictInt, Field(ge=0, le=LARGEST_DIMENSION)]


class WholeModel(Frozen):
    """Layers between an embedding and an output layer. None of it enters a `spec_key`."""

    layer: ModelShape
    num_layers: Dimension
    vocab_size: Dimension
    tied_embeddings: StrictBool = False
    """Whether the output layer is the embedding, so that it is held once."""
    num_positions: Vectors = 0
    """Learned position embeddings."""
    vectors_per_layer: Vectors = 0
    """Elements of a layer's norms and biases: about a thousandth of all."""
    vectors_outside: Vectors = 0
    """The same of what stands around the layers."""

    @property
    def num_parameters(self) -> int:
        """All of them, as published counts have it."""
        return self.parameters_per_rank(tp_degree=1)

    def parameters_per_rank(self, *, tp_degree: int) -> int:
        """Elements that one rank holds: matrices and vocabulary cut, vectors and positions whole.

        The vocabulary is filled up to a multiple of tp_degree, as Megatron-LM does.
        """
        rows = -(-self.vocab_size // tp_degree)
        tables = (1 if self.tied_embeddings else 2) * rows + self.num_positions
        around = tables * self.layer.hidden_size + self.vectors_outside
        return self.num_layers * self.layer_per_rank(tp_degree=tp_degree) + around

    def layer_per_rank(self, *, tp_degree: int) -> int:
        """Elements of one layer on one rank."""
        mlp = mlp_weights_per_rank(self.layer, tp_degree)
        return mlp + attention_weights_per_rank(self.layer, tp_degree) + self.vectors_per_layer


def with_usual_vectors(
    layer: ModelShape,
    *,
    has_biases: bool,
    num_layers: int,
    vocab_size: int,
    tied_embeddings: bool = False,
    num_positions: int = 0,
) -> WholeModel:
    """Add the norms: two in each layer and one behind the last.

    With biases as GPT-2 and GPT-NeoX have them: one behind each matrix, and norms of two vectors.
    Without as Llama: norms of one vector.
    """
    vectors_per_norm, biases = 1, 0
    if has_biases:
        heads = layer.num_attention_heads + 2 * layer.num_key_value_heads
        biases = heads * layer.head_dim + layer.intermediate_size + 2 * layer.hidden_size
        vectors_per_norm = 2
    norm = vectors_per_norm * layer.hidden_size
    return WholeModel(
        layer=layer,
        num_layers=num_layers,
        vocab_size=vocab_size,
        tied_embeddings=tied_embeddings,
        num_positions=num_positions,
        vectors_per_layer=biases + 2 * norm,
        vectors_outside=norm,
    )
