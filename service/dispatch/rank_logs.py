import shutil
from pathlib import Path

KEPT_GROUPS = 50


def log_dir(home: Path, group_id: str) -> Path:
    """Where the ranks of one group write."""
    return home / "ranks" / group_id


def forget_old_logs(home: Path, *, keep: int = KEPT_GROUPS) -> None:
    """Delete the logs of all but the last groups; what mattered of them is in the attempts."""
    folder = home / "ranks"
    if not folder.is_dir():
        return
    newest_first = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in newest_first[keep:]:
        shutil.rmtree(old, ignore_errors=True)
