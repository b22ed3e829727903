"""The dispatcher is light: torch lives in the ranks alone."""

import subprocess
import sys


def test_the_dispatcher_never_loads_torch() -> None:
    code = "import sys, service.dispatch.__main__; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
