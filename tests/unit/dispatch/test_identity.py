"""Owners of leases: unique, and known to be dead only for sure."""

import subprocess
import sys
from dataclasses import replace

import pytest

from service.dispatch.identity import Owner


def test_every_start_is_another_owner() -> None:
    assert Owner.of_this_process() != Owner.of_this_process()


def test_an_owner_is_read_back_from_its_text() -> None:
    owner = Owner.of_this_process()
    assert Owner.parse(str(owner)) == owner
    assert len(str(owner)) <= 200, "it fits its column"


@pytest.mark.parametrize("text", ["", "somebody", "a/b/c/d"])
def test_what_others_wrote_is_nobody_we_know(text: str) -> None:
    assert Owner.parse(text) is None


def test_a_living_process_is_not_dead() -> None:
    assert not Owner.of_this_process().is_known_dead


def test_a_process_that_ended_is_known_dead_on_its_own_host() -> None:
    code = "from service.dispatch.identity import Owner; print(Owner.of_this_process())"
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    owner = Owner.parse(text.stdout.strip())
    assert owner is not None
    assert owner.is_known_dead


def test_a_pid_that_another_process_took_over_is_dead() -> None:
    assert replace(Owner.of_this_process(), started="1").is_known_dead


def test_nothing_is_known_of_other_hosts() -> None:
    assert not replace(Owner.of_this_process(), host="elsewhere", started="1").is_known_dead
