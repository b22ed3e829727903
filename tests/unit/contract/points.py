from workers.contract.axes import Activation, Block, CollectiveImpl, Dtype, Phase
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape


def shape(
    *,
    hidden: int = 64,
    ffn: int = 256,
    heads: int = 8,
    kv_heads: int | None = None,
    head_dim: int | None = None,
    gated: bool = False,
    parallel: bool = False,
    name: str = "",
) -> ModelShape:
    return ModelShape(
        name=name,
        hidden_size=hidden,
        intermediate_size=ffn,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads or heads,
        head_dim=head_dim or hidden // heads,
        gated=gated,
        activation=Activation.SILU if gated else Activation.GELU,
        parallel_block=parallel,
    )


def point(
    model: ModelShape | None = None,
    *,
    block: Block = Block.MLP,
    phase: Phase = Phase.TRAIN,
    tp_degree: int = 2,
    batch: int = 4,
    seq: int = 1,
    dtype: Dtype = Dtype.FLOAT32,
    collective_impl: CollectiveImpl = CollectiveImpl.BACKEND,
) -> PointSpec:
    return PointSpec(
        model=model or shape(),
        block=block,
        phase=phase,
        tp_degree=tp_degree,
        batch=batch,
        seq=seq,
        dtype=dtype,
        collective_impl=collective_impl,
    )
