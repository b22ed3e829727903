import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
from workers.runtime.device import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
bytearray(96 << 20)
before = faults()
for _ in range(3):
    bytearray(96 << 20)
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_a_rank_takes_the_memory_of_its_steps_from_the_kernel_once() -> None:
    """96 MiB are beyond what glibc keeps on its own; calloc clears them, so every page is used."""

    def run(how: str) -> int:
        command = [sys.executable, "-c", FAULTS, how]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert run("keep") < 100
