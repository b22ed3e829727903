"""The check of a GPU, on a machine that has none."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[3]
NEEDS_GPU = {"symmetric memory", "CUDA graphs", "two ranks over NCCL"}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(torch.cuda.is_available(), reason="here is a GPU: run deploy/gpu_check itself")
def test_without_a_gpu_it_runs_to_its_end_and_says_what_it_skipped(tmp_path: Path) -> None:
    table = tmp_path / "kept" / "found.md"
    command = [f"{ROOT}/deploy/gpu_check", "--python", sys.executable, "--markdown", str(table)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {one["check"]: one for one in map(json.loads, done.stdout.splitlines())}
    assert {name for name, one in found.items() if one["status"] == "skipped"} == NEEDS_GPU
    assert all(found[name]["reason"] == "there is no GPU" for name in NEEDS_GPU)
    assert found["environment"]["facts"]["unwanted_modules"] == []
    assert found["two ranks over gloo"]["facts"]["num_proofs"] == 9
    assert found["spans"]["facts"]["clock"] == "host"
    assert all(name in table.read_text() for name in found)
