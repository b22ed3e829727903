"""Random small points that can be sharded, every kind of them."""

from collections.abc import Sequence

from hypothesis import strategies as st

from workers.contract.axes import Activation, Arrangement, Block, Dtype, Overlap, Phase
from workers.contract.layouts import LAYOUTS, Layout
from workers.contract.overlapping import judge_overlap
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.contract.sharding import judge


@st.composite
def point_specs(
    draw: st.DrawFn,
    *,
    largest_tp_degree: int = 4,
    arrangements: Sequence[Arrangement] = tuple(Arrangement),
) -> PointSpec:
    """Heads grouped or not, key-value heads divided or copied, heads*head_dim not hidden."""
    tp_degree = draw(st.integers(1, largest_tp_degree))
    arrangement = draw(st.sampled_from(arrangements))
    layout = LAYOUTS[arrangement]
    overlap = draw(st.sampled_from(layout.overlaps))
    phases = [Phase.TRAIN] if overlap is Overlap.BACKWARD else list(Phase)
    kv_heads, copies = draw(st.sampled_from(_splits(tp_degree)))
    heads_per_group = copies * draw(st.integers(1, 3))
    spec = PointSpec(
        model=ModelShape(
            hidden_size=draw(_sizes(9, of=tp_degree if layout.cuts_hidden else 1)),
            intermediate_size=draw(_sizes(20, of=tp_degree if layout.cuts_inner else 1)),
            num_attention_heads=kv_heads * heads_per_group,
            num_key_value_heads=kv_heads,
            head_dim=draw(st.integers(1, 5)),
            gated=draw(st.booleans()),
            activation=draw(st.sampled_from(Activation)),
        ),
        block=draw(st.sampled_from([block for block in Block if block in layout.blocks])),
        arrangement=arrangement,
        phase=draw(st.sampled_from(phases)),
        tp_degree=tp_degree,
        batch=draw(_sizes(3, of=_batches_of(layout, overlap, tp_degree))),
        seq=draw(st.integers(1, 5)),
        dtype=Dtype.FLOAT32,
        overlap=overlap,
    )
    assert judge(spec) is judge_overlap(spec) is None
    return spec


def _batches_of(layout: Layout, overlap: Overlap, tp_degree: int) -> int:
    """What divides the batch."""
    if layout.has_token_shards:
        return tp_degree
    return 2 if overlap is Overlap.CHUNKED else 1


def _sizes(about: int, *, of: int) -> st.SearchStrategy[int]:
    """Multiples of a number, from itself to somewhat above `about`."""
    return st.integers(1, max(2, about // of)).map(lambda factor: factor * of)


def _splits(tp_degree: int) -> list[tuple[int, int]]:
    """Key-value heads of the model and copies of each: divided, and every even replication."""
    divided = [(tp_degree * factor, 1) for factor in (1, 2)]
    return divided + [(n, tp_degree // n) for n in range(1, tp_degree) if tp_degree % n == 0]
