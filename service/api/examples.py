"""Requests as people send them, shown in the OpenAPI document and executed by a test."""

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

TOKENS: dict[str, Example] = {
    "nightly": Example(
        summary="A job that submits and reads",
        value={
            "name": "nightly",
            "scopes": ["read", "submit"],
            "expires_at": "2099-01-01T00:00:00Z",
        },
    )
}

SCHEDULES: dict[str, Example] = {
    "nightly": Example(
        summary="Every night at 02:00 in Berlin; a night that was missed is made up for once",
        value={
            "name": "nightly",
            "cron": "0 2 * * *",
            "zone": "Europe/Berlin",
            "sweep": {
                "models": "pythia-31m",
                "blocks": "mlp",
                "tp_degree": [1, 2],
                "batch": [1, 64],
                "sampling": {"max_time_s": 1},
            },
        },
    )
}

PAUSES: dict[str, Example] = {
    "holiday": Example(
        summary="The machines are away",
        value={"reason": "the machines are moved", "until": "2099-01-01T00:00:00Z"},
    )
}

BASELINES: dict[str, Example] = {
    "release": Example(
        summary="What the next nights are held against",
        value={
            "name": "release-1.4",
            "sweep": "01990000-0000-7000-8000-000000000001",
            "note": "as it was shipped",
            "expires_at": "2099-01-01T00:00:00Z",
        },
    )
}

BASELINE_CHANGES: dict[str, Example] = {
    "renamed": Example(summary="Another name, and no end", value={"name": "v1", "expires_at": None})
}

COMPARISONS: dict[str, Example] = {
    "commits": Example(
        summary="Two commits, on one kind of hardware",
        value={
            "baseline": {"tag": {"commit": "abc123"}, "hardware": "H100"},
            "candidate": {"tag": {"commit": "def456"}, "hardware": "H100"},
        },
    ),
    "hardware": Example(
        summary="This month's nights on two kinds of hardware",
        value={
            "baseline": {"hardware": "A100", "since": "2026-11-01"},
            "candidate": {"hardware": "H100", "since": "2026-11-01"},
            "allow_different": ["hardware"],
        },
    ),
}

FINDING_NOTES: dict[str, Example] = {
    "ticket": Example(summary="Known, and where", value={"reason": "PERF-12: the fan of host05"})
}

DISMISSALS: dict[str, Example] = {
    "backup": Example(
        summary="Nothing was wrong with what is measured",
        value={"dismissal": "false_positive", "reason": "a backup ran that night"},
    )
}

WEBHOOKS: dict[str, Example] = {
    "signed": Example(
        summary="Confirmed findings and their end, signed as Standard Webhooks says",
        value={"name": "ops", "target": "https://ops.example/hooks/tpsweep"},
    ),
    "slack": Example(
        summary="What one schedule finds, to a channel",
        value={
            "name": "perf-channel",
            "kind": "slack",
            "target": "https://hooks.slack.example/services/T0/B0/x",
            "events": ["suspect", "confirmed", "recovered"],
            "policy": "nightly",
        },
    ),
    "mail": Example(
        summary="By e-mail",
        value={"name": "alice", "kind": "email", "target": "alice@example.org"},
    ),
}

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

TOPOLOGY = """\
        GPU0    GPU1    GPU2    GPU3
GPU0     X      NV4     NODE    NODE
GPU1    NV4      X      NODE    NODE
GPU2    NODE    NODE     X      NV4
GPU3    NODE    NODE    NV4      X
"""

NCCL_TESTS_TEXT = """\
# Collective test starting: all_reduce_perf
#       size         count    type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
     1048576        262144   float     sum      -1    28.56   36.71   64.24      0    28.37   36.96   64.68      0
     2097152        524288   float     sum      -1    43.45   48.27   84.47      0    43.39   48.34   84.59      0
"""  # noqa: E501 - as it is printed

NCCL_TESTS_JSON: dict[str, object] = {
    "version": 3,
    "args": ["all_reduce_perf", "-J", "out.json"],
    "results": [
        {
            "size": 1048576,
            "count": 262144,
            "type": "float",
            "redop": "sum",
            "root": "    -1",
            "out_of_place": {"time": 28.56, "alg_bw": 36.714846, "bus_bw": 64.25098, "nwrong": 0},
            "in_place": {"time": 28.37, "alg_bw": 36.960733, "bus_bw": 64.681283, "nwrong": 0},
        }
    ],
}
