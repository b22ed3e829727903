"""deploy/environment.sh with a stand-in for Python and pip, so that nothing is installed."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FAKE = Path(__file__).with_name("fake_python")
TORCH = next(
    line.strip()
    for line in (ROOT / "deploy" / "constraints.txt").read_text().splitlines()
    if line.startswith("torch==")
)


@dataclass(frozen=True)
class Checkout:
    """A copy of what an installation is made from, in a folder with a space in its name."""

    path: Path

    def ensure(self, purpose: str, *, refuses: str = "", path: str | None = None) -> str:
        """Run ensure_environment; returns what it said."""
        done = self.attempt(purpose, refuses=refuses, path=path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def attempt(
        self, purpose: str, *, refuses: str = "", path: str | None = None, python: str = str(FAKE)
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                "bash",
                "-euo",
                "pipefail",
                "-c",
                f". deploy/environment.sh; ensure_environment {purpose}",
            ],
            cwd=self.path,
            check=False,
            capture_output=True,
            text=True,
            env={
                "PATH": path or os.environ["PATH"],
                "PYTHON": python,
                "FAKE_PYTHON": str(FAKE),
                "FAKE_LOG": str(self.path / "log"),
                "FAKE_REFUSES": refuses,
            },
        )

    def asked(self) -> list[str]:
        """What Python was asked for since the last time, arguments in short."""
        log = self.path / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [line.replace("-c deploy/constraints.txt ", "") for line in lines]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    path = tmp_path / "a checkout"
    shutil.copytree(ROOT / "deploy", path / "deploy")
    shutil.copy(ROOT / "pyproject.toml", path)
    return Checkout(path)


def test_a_machine_without_python_is_told_so_and_keeps_what_it_has(
    checkout: Checkout, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "rm"):
        (tools / name).symlink_to(str(shutil.which(name)))
    (checkout.path / ".venv").mkdir()
    done = checkout.attempt("test", path=str(tools), python="")
    assert done.returncode == 1
    assert [line for line in done.stderr.splitlines() if line.startswith("failed:")] == [
        "failed: no Python 3.11 or newer found; install one, or name it: PYTHON=/path/to/python3"
    ]
    assert (checkout.path / ".venv").exists()


def test_bare_machine_gets_pip_torch_then_the_rest(checkout: Checkout) -> None:
    checkout.ensure("test")
    venv, pip, torch, package, tests = checkout.asked()
    assert venv == "venv"
    assert pip == "pip --upgrade pip>=25.1"
    assert torch.startswith(f"pip {TORCH}")
    assert package == "pip -e .[workers]"
    assert tests == "pip --group test"


def test_second_run_installs_nothing(checkout: Checkout) -> None:
    checkout.ensure("runtime")
    checkout.asked()
    assert "nothing to install" in checkout.ensure("runtime")
    assert checkout.asked() == []


def test_environment_for_tests_is_good_for_the_quickstart_but_not_the_other_way(
    checkout: Checkout,
) -> None:
    checkout.ensure("runtime")
    checkout.asked()
    checkout.ensure("test")
    assert checkout.asked()[-1] == "pip --group test"
    assert "nothing to install" in checkout.ensure("runtime")


@pytest.mark.parametrize("name", ["pyproject.toml", "deploy/constraints.txt"])
def test_changed_inputs_are_installed_again(checkout: Checkout, name: str) -> None:
    checkout.ensure("runtime")
    checkout.asked()
    with (checkout.path / name).open("a") as file:
        file.write("# changed\n")
    checkout.ensure("runtime")
    assert "pip -e .[workers]" in checkout.asked()


def test_failed_installation_is_not_taken_for_done(checkout: Checkout) -> None:
    failed = checkout.attempt("runtime", refuses="workers")
    assert failed.returncode == 1
    assert "no such wheel" in failed.stderr
    assert "pip install -c deploy/constraints.txt -e .[workers]" in failed.stderr
    checkout.asked()
    checkout.ensure("runtime")
    assert "pip -e .[workers]" in checkout.asked()


def test_without_a_cpu_build_of_torch_the_usual_one_serves(checkout: Checkout) -> None:
    said = checkout.ensure("runtime", refuses=r"\+cpu")
    tries = [line for line in checkout.asked() if TORCH in line]
    if len(tries) > 1:
        assert tries[1].startswith("pip --extra-index-url")
        assert "taking the usual one" in said
    assert tries[-1] == f"pip {TORCH}"


def test_machine_with_a_gpu_gets_the_usual_build(checkout: Checkout, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    smi = tools / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'GPU 0: NVIDIA H200 (UUID: GPU-0)'\n")
    smi.chmod(0o755)
    said = checkout.ensure("runtime", path=f"{tools}:{os.environ['PATH']}")
    assert f"pip {TORCH}" in checkout.asked()
    assert "gpu build" in said


@pytest.mark.parametrize("script", ["quickstart", "test"])
def test_help_does_nothing_but_explain(script: str, checkout: Checkout) -> None:
    done = subprocess.run(
        [checkout.path / "deploy" / script, "--help"], check=True, capture_output=True, text=True
    )
    assert f"./deploy/{script}" in done.stdout
    assert not (checkout.path / ".venv").exists()
