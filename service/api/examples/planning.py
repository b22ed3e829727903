"""What to reckon before anything is measured, and what to make of it then."""

from fastapi.openapi.models import Example

MEMORY: dict[str, Example] = {
    "training": Example(
        summary="What 70 billion parameters take on each of 16 to 64 GPUs of 80 GB",
        value={
            "model": "llama-2-70b",
            "tp_degree": [2, 8],
            "zero_stage": [0, 1, 3],
            "data_parallel": 8,
            "recomputation": "selective",
            "sequence_parallel": True,
            "seq": 4096,
            "device_memory_gb": 80,
        },
    ),
    "decode": Example(
        summary="Weights in one byte, and 64 sequences of 4096 cached tokens",
        value={
            "model": "llama-3-70b",
            "phase": "decode",
            "precision": "float8",
            "tp_degree": [1, 2, 4, 8],
            "batch": 64,
            "seq": 4096,
        },
    ),
}

ADVICE_PLANS: dict[str, Example] = {
    "latency": Example(
        summary="What to measure here to advise on a model's decode",
        value={"model": "llama-2-7b", "phase": "decode"},
    )
}

ADVICE: dict[str, Example] = {
    "latency": Example(
        summary="What the sweep says that was measured for it",
        value={
            "model": "llama-2-7b",
            "sweep": "01990000-0000-7000-8000-000000000001",
            "objective": "latency",
        },
    )
}

PREDICTIONS: dict[str, Example] = {
    "decode": Example(
        summary="A layer of a 70B model that decodes on four H100",
        value={
            "hardware": "H100 SXM",
            "model": "llama-2-70b",
            "block": "layer",
            "phase": "decode",
            "tp_degree": 4,
            "batch": 16,
            "seq": 2048,
        },
    )
}
