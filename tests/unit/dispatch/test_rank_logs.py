"""Logs of ranks do not pile up."""

import os
from pathlib import Path

from service.dispatch.rank_logs import forget_old_logs, log_dir


def test_only_the_logs_of_the_last_groups_are_kept(tmp_path: Path) -> None:
    for number in range(5):
        folder = log_dir(tmp_path, f"g{number}")
        folder.mkdir(parents=True)
        (folder / "rank0.log").write_text("words")
        os.utime(folder, (number, number))
    forget_old_logs(tmp_path, keep=2)
    assert sorted(path.name for path in (tmp_path / "ranks").iterdir()) == ["g3", "g4"]


def test_a_home_without_logs_is_left_as_it_is(tmp_path: Path) -> None:
    forget_old_logs(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []
