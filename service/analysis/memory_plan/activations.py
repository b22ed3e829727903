"""What forward leaves for backward: Korthikanti et al. 2022, arXiv:2205.05198, section 4.

Their formulas for a layer of GPT (two matrices of width 4h, dropout, two bytes), in bytes with
s sequence, b micro-batch, h hidden, a heads, v vocabulary, t tp_degree:

    tensor parallel              sbh (10 + 24/t + 5as/(ht))
    and sequence parallel        sbh/t (34 + 5as/h)
    selective recomputation      the same without 5as/h
    full recomputation           2 sbh
    around the layers            sbh + 4 sbh (1 + v/(ht)), divided by t where sequence parallel

Counted here tensor by tensor, as they do, so that gated MLPs, grouped heads, other widths and no
dropout follow; a test holds the count against the formulas.
"""

from service.analysis.memory_plan.precision import WIDTHS
from service.analysis.memory_plan.question import MemoryQuestion, Recomputation
from workers.contract.axes import Phase
from workers.contract.workload import cached_per_token, heads_per_rank

BYTES_OF_A_LOGIT = 4
"""The loss is taken in float32."""


def kept_bytes(question: MemoryQuestion) -> int:
    """Bytes of a training step's activations on one GPU, all layers and what is around them."""
    layers = question.model.num_layers * kept_of_layer(question, question.recomputation)
    return layers + _around(question)


def kept_of_layer(question: MemoryQuestion, recomputation: Recomputation) -> int:
    """Bytes of one layer's activations between forward and backward."""
    width = WIDTHS[question.precision].activation
    between = _elements_between(question)
    match recomputation:
        case Recomputation.FULL:
            return width * between
        case Recomputation.SELECTIVE:
            scores = 0
        case Recomputation.NONE:
            scores = _score_bytes(question)
    # inputs of both norms, the same where the blocks are parallel, and what the norms give
    num_wide = 3 if question.model.layer.parallel_block else 4
    masks = 2 * between if question.dropout else 0
    return width * (num_wide * between + _elements_inside(question)) + masks + scores


def passing_bytes(question: MemoryQuestion) -> int:
    """Bytes that inference has at one moment: of one layer, and of one token's logits.

    An estimate from above: whether a tensor's memory is used again is up to the framework.
    """
    width = WIDTHS[question.precision].activation
    one_layer = 4 * _elements_between(question) + _elements_inside(question)
    return width * one_layer + _logit_bytes(question, num_tokens=question.batch)


def cached_bytes(question: MemoryQuestion) -> int:
    """Bytes of keys and values of all layers; in decode of `seq` tokens and the step's own."""
    if question.phase.has_backward:
        return 0
    num_tokens = question.batch * question.seq
    if question.phase is Phase.DECODE:
        num_tokens += question.batch
    per_token = question.model.num_layers * cached_per_token(
        question.model.layer, question.tp_degree
    )
    return num_tokens * per_token * WIDTHS[question.precision].cached


def _elements_between(question: MemoryQuestion) -> int:
    """Of the hidden width: on each rank, or cut by tokens."""
    whole = question.num_tokens * question.model.layer.hidden_size
    return whole // question.tp_degree if question.sequence_parallel else whole


def _elements_inside(question: MemoryQuestion) -> int:
    """Queries, keys, values and what attention gives; before and after the MLP's activation."""
    layer, degree = question.model.layer, question.tp_degree
    heads, kv_heads = heads_per_rank(layer, degree)
    attention = (2 * heads + 2 * kv_heads) * layer.head_dim
    # gated: gate, its activation, up and their product
    mlp = (4 if layer.gated else 2) * layer.intermediate_size // degree
    return question.num_tokens * (attention + mlp)


def _score_bytes(question: MemoryQuestion) -> int:
    """Softmax's output; with dropout its mask of one byte, and what is left."""
    width = WIDTHS[question.precision].activation
    heads, _ = heads_per_rank(question.model.layer, question.tp_degree)
    bytes_of_a_score = 2 * width + 1 if question.dropout else width
    return heads * question.num_tokens * question.seq * bytes_of_a_score


def _around(question: MemoryQuestion) -> int:
    """Embedding dropout's mask, inputs of the last norm and of the output layer, and logits."""
    between = _elements_between(question)
    masks = between if question.dropout else 0
    wide = 2 * WIDTHS[question.precision].activation * between
    return masks + wide + _logit_bytes(question, num_tokens=question.num_tokens)


def _logit_bytes(question: MemoryQuestion, *, num_tokens: int) -> int:
    rows = -(-question.model.vocab_size // question.tp_degree)
    return BYTES_OF_A_LOGIT * num_tokens * rows
