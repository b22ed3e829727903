"""What to measure."""

from fastapi.openapi.models import Example

SWEEPS: dict[str, Example] = {
    "small": Example(
        summary="Does a small model gain from two ranks? Runs on a laptop",
        value={
            "name": "pythia-31m on two cores",
            "models": "pythia-31m",
            "blocks": ["mlp", "attention"],
            "phase": ["train", "prefill"],
            "tp_degree": [1, 2],
            "batch": [1, 32, 1024],
            "sampling": {"max_time_s": 1},
        },
    ),
    "shapes": Example(
        summary="A preset beside an explicit shape, on GPUs of one kind",
        value={
            "name": "70b and a friend",
            "models": [
                "llama-2-70b",
                {
                    "name": "friend",
                    "hidden_size": 4096,
                    "intermediate_size": 11008,
                    "num_attention_heads": 32,
                    "gated": True,
                },
            ],
            "blocks": "layer",
            "tp_degree": [1, 2, 4, 8],
            "batch": [1, 8, 32],
            "seq": 2048,
            "dtype": "bfloat16",
            "where": {"accelerator": "H100"},
            "tags": {"commit": "abc123"},
        },
    ),
    "pair": Example(
        summary="Two implementations of the collectives by turns in the same processes",
        value={
            "models": "pythia-31m",
            "blocks": "mlp",
            "tp_degree": 2,
            "batch": 64,
            "replicates": 5,
            "sampling": {"max_time_s": 1},
            "pair": {"axis": "collective_impl", "values": ["backend", "shared_memory"]},
        },
    ),
    "config": Example(
        summary="A config.json as Hugging Face has it",
        value={
            "models": [
                {
                    "architectures": ["Qwen2ForCausalLM"],
                    "model_type": "qwen2",
                    "hidden_act": "silu",
                    "hidden_size": 3584,
                    "intermediate_size": 18944,
                    "num_attention_heads": 28,
                    "num_key_value_heads": 4,
                    "vocab_size": 152064,
                }
            ],
            "blocks": "mlp",
            "tp_degree": [1, 2, 4],
            "batch": 16,
        },
    ),
}

CALIBRATIONS: dict[str, Example] = {
    "everything": Example(summary="All that follows from the devices that are known", value={}),
    "large": Example(
        summary="Up to 256 MiB among eight GPUs of one kind",
        value={"tp_degree": [2, 4, 8], "max_bytes": 1 << 28, "where": {"accelerator": "H100"}},
    ),
}
