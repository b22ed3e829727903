from service.analysis.memory_plan.precision import Precision
from service.analysis.memory_plan.question import MemoryQuestion
from workers.contract.axes import Phase


def question(model: object = "llama-2-7b", **more: object) -> MemoryQuestion:
    """Training in float32 on one GPU, unless told otherwise."""
    usual: dict[str, object] = {
        "model": model,
        "phase": Phase.TRAIN,
        "precision": Precision.FLOAT32,
        "tp_degree": 1,
        "batch": 1,
        "seq": 128,
    }
    return MemoryQuestion.model_validate({**usual, **more})
