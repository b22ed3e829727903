import json
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name

import pytest
import torch

from workers.runtime.host import torch_for_cpus
from workers.runtime.probe import BY_TORCH, probe_node

SAY = """
import dataclasses, json, sys
from workers.runtime.host import torch_for_cpus
from workers.runtime.probe import BY_TORCH, probe_node
from workers.runtime import probe
facts = torch_for_cpus()
known = facts and dataclasses.asdict(facts)
print(json.dumps({"facts": known, "is_loaded": "torch" in sys.modules}))
"""


def said(packages: Path) -> dict[str, object]:
    """What a process says that would load its torch from that folder."""
    done = subprocess.run(
        [sys.executable, "-c", SAY],
        env={"PYTHONPATH": f"{packages}:{Path(__file__).parents[3]}"},
        stdout=subprocess.PIPE,
        check=True,
    )
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def install(packages: Path, versions: str) -> None:
    (packages / "torch").mkdir()
    (packages / "torch" / "__init__.py").write_text("raise RuntimeError('loaded')\n")
    (packages / "torch" / "version.py").write_text(versions)


def test_of_a_torch_without_gpus_a_node_is_known_without_loading_it(tmp_path: Path) -> None:
    install(tmp_path, "__version__ = '9.1+cpu'\ncuda = None\nhip: str | None = None\n")
    answer = said(tmp_path)
    assert answer["is_loaded"] is False
    assert answer["facts"] == {
        "version": "9.1+cpu",
        "cuda": None,
        "nccl": None,
        "num_threads": 1,
        "flush_denormal": True,
    }


@pytest.mark.parametrize("kind", ["cuda", "hip", "xpu"])
def test_a_torch_that_may_find_a_gpu_must_be_asked(tmp_path: Path, kind: str) -> None:
    install(tmp_path, f"__version__ = '9.1'\n{kind} = '13.0'\n")
    assert said(tmp_path)["facts"] is None


@pytest.mark.skipif(torch.version.cuda is not None, reason="this torch knows GPUs")
def test_what_is_read_of_torch_is_what_it_says_itself() -> None:
    facts = torch_for_cpus()
    assert facts is not None
    assert facts.version == torch.__version__


@pytest.mark.skipif(torch.cuda.is_available(), reason="here is a GPU")
def test_a_torch_that_is_asked_and_finds_no_gpu_gives_the_same_node() -> None:
    asked = resolve_name(BY_TORCH)("here", address="127.0.0.1", num_cpu_slots=2)
    known = probe_node("here", address="127.0.0.1", num_cpu_slots=2)
    assert asked.hardware == known.hardware
    assert asked.num_slots == known.num_slots
    assert asked.environment.torch == known.environment.torch
