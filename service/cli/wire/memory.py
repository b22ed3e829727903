from service.cli.wire.base import Wire
from service.cli.wire.spec import Model


class MemoryPlan(Wire):
    """What one GPU of one combination holds."""

    tp_degree: int
    zero_stage: int
    data_parallel: int
    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int
    activations_bytes: int
    kv_cache_bytes: int
    passing_bytes: int
    total_bytes: int
    fits: bool | None = None


class MemoryLayer(Wire):
    """Whose layer it is."""

    layer: Model


class Memory(Wire):
    """Plans of one model."""

    model: MemoryLayer
    num_parameters: int
    phase: str
    precision: str
    plans: tuple[MemoryPlan, ...]
