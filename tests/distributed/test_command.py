"""`python -m workers`: a sweep measured without service or Ray."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(120)


def test_the_command_measures_a_sweep_without_service_or_ray(tmp_path: Path) -> None:
    sweep = {
        "models": [
            {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 6, "head_dim": 8}
        ],
        "blocks": ["mlp", "attention"],
        "tp_degree": [1, 2, 4],
        "batch": 2,
        "replicates": 2,
        "sampling": {"max_time_s": 0.05},
        "collective_impl": ["auto", "two_shot"],
    }
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps(sweep))
    done = subprocess.run(
        [sys.executable, "-m", "workers", str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 2 * 5, "two replicates of all but attention at degree 4"
    assert len({line["group_id"] for line in lines}) == 2, "fresh processes for each replicate"
    assert "num_attention_heads=6 is not divisible by tp_degree=4" in done.stderr
    assert "devices lack two_shot; they have backend, shared_memory" in done.stderr


def test_the_command_refuses_a_bad_sweep_naming_the_field(tmp_path: Path) -> None:
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps({"models": ["gpt2"], "blocks": [], "tp_degree": 1, "batch": 1}))
    done = subprocess.run(
        [sys.executable, "-m", "workers", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "blocks" in done.stderr
