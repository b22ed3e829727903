"""`python -m tests.integration.cli.supervised PATIENCE_S ROLE...`: a supervisor of children.py."""

import sys
from pathlib import Path

from service.cli.commands.up import supervise
from service.cli.supervise.child import ChildSpec
from service.cli.supervise.narration import narrator
from service.cli.supervise.supervisor import Supervisor

CHILDREN = str(Path(__file__).with_name("children.py"))


def main() -> None:
    """Supervise a child for each role until a signal."""
    patience_s, *roles = sys.argv[1:]
    report = narrator(as_json=True)
    specs = [ChildSpec(name=role, arguments=(CHILDREN, role)) for role in roles]
    supervise(Supervisor(specs, report=report, patience_s=float(patience_s)), report=report)


if __name__ == "__main__":
    main()
