"""One named cause out of what Ray and the kernel say."""

import signal

import pytest
from ray.core.generated.common_pb2 import ActorDiedErrorContext  # type: ignore[attr-defined]
from ray.exceptions import (
    ActorDiedError,
    ActorUnavailableError,
    NodeDiedError,
    OutOfMemoryError,
    RayError,
    RaySystemError,
    RayTaskError,
)

from workers.contract.errors import (
    DeviceMemoryError,
    DeviceMismatchError,
    NumericsError,
    RendezvousError,
)
from workers.contract.group_events import Blame
from workers.ray_group.causes import hang, is_death, loss_of, not_placed, overrun
from workers.ray_group.last_words import LastWords
from workers.ray_group.request import GroupRequest, Host


def died(message: str) -> ActorDiedError:
    return ActorDiedError(ActorDiedErrorContext(actor_id=b"0" * 16, error_message=message))


DIED = died("Worker exit detail: the connection closed. Some common causes include …")


NODE_DIED = NodeDiedError("dead")  # type: ignore[no-untyped-call]
OUT_OF_MEMORY = OutOfMemoryError("threshold")  # type: ignore[no-untyped-call]
SYSTEM_ERROR = RaySystemError("?")  # type: ignore[no-untyped-call]


def words(
    *,
    number: int | None = None,
    exit_code: int | None = None,
    log_tail: str = "",
    stacks: str = "",
    oom_kills: int = 0,
    is_alive: bool = False,
) -> LastWords:
    return LastWords(
        pid=1,
        is_alive=is_alive,
        signal=number,
        exit_code=exit_code,
        log_tail=log_tail,
        stacks=stacks,
        num_host_oom_kills=oom_kills,
    )


def complaint(cause: Exception) -> RayTaskError:
    return RayTaskError("measure", f"traceback: {cause}", cause)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("error", "found", "blame", "code", "says"),
    [
        (DIED, words(number=9), Blame.RANK, "rank_died", "rank 1 died by SIGKILL"),
        (DIED, words(exit_code=7), Blame.RANK, "rank_died", "exit code 7"),
        (DIED, words(number=6), Blame.POINT, "rank_aborted", "SIGABRT"),
        (DIED, words(number=11), Blame.POINT, "rank_aborted", "SIGSEGV"),
        (
            DIED,
            words(number=6, log_tail="gloo::EnforceNotMet op.preamble.length <= op.nbytes"),
            Blame.POINT,
            "shape_mismatch",
            "different shapes",
        ),
        (
            DIED,
            words(exit_code=1, stacks="Timeout (0:00:03)!\nThread …"),
            Blame.RANK,
            "deadline_exceeded",
            "deadline",
        ),
        (DIED, words(number=9, oom_kills=1), Blame.RANK, "host_memory", "memory"),
        (DIED, words(), Blame.RANK, "rank_died", "the connection closed"),
        (DIED, None, Blame.RANK, "rank_died", "the connection closed"),
        (died("its node has died"), None, Blame.HOST, "host_lost", "host of rank 1"),
        (ActorUnavailableError("gone", None), None, Blame.HOST, "host_lost", "host of rank 1"),
        (ActorUnavailableError("gone", None), words(number=9), Blame.RANK, "rank_died", "SIGKILL"),
        (NODE_DIED, None, Blame.HOST, "host_lost", "host of rank 1"),
        (OUT_OF_MEMORY, None, Blame.RANK, "host_memory", "out of memory"),
        (SYSTEM_ERROR, None, Blame.CLUSTER, "cluster_error", "RaySystemError"),
        (
            complaint(RuntimeError("Connection closed by peer [1.2.3.4]")),
            None,
            Blame.RANK,
            "collective_failed",
            "closed by peer",
        ),
        (complaint(ValueError("bug")), None, Blame.POINT, "unexpected_error", "ValueError: bug"),
        (complaint(RendezvousError("late")), None, Blame.RANK, "rendezvous_failed", "late"),
        (complaint(DeviceMismatchError("other")), None, Blame.HOST, "device_mismatch", "other"),
    ],
)
def test_each_kind_of_end_has_its_name(
    error: RayError, found: LastWords | None, blame: Blame, code: str, says: str
) -> None:
    loss = loss_of(error, rank=1, words=found)
    assert (loss.blame, loss.code, loss.rank) == (blame, code, 1)
    assert says in loss.message
    assert not loss.is_final


def test_ranks_that_never_came_to_be_are_the_clusters_fault() -> None:
    error = ActorDiedError(complaint(ImportError("no torch here")))
    loss = loss_of(error, rank=0, words=None)
    assert (loss.blame, loss.code) == (Blame.CLUSTER, "start_failed")
    assert "no torch here" in loss.message


@pytest.mark.parametrize("cause", [DeviceMemoryError("no room"), NumericsError("differs")])
def test_what_the_point_itself_cannot_do_is_final(cause: Exception) -> None:
    loss = loss_of(complaint(cause), rank=0, words=None)
    assert (loss.blame, loss.is_final) == (Blame.POINT, True)


def test_a_living_rank_that_complains_is_not_dead() -> None:
    assert not is_death(complaint(ValueError()))
    assert is_death(DIED)
    assert is_death(OUT_OF_MEMORY), "though it is no RayActorError"


def test_the_signal_is_read_from_the_log_where_the_kernel_does_not_say() -> None:
    loss = loss_of(DIED, rank=0, words=words(log_tail="Fatal Python error: Aborted\n"))
    assert loss.signal == signal.SIGABRT


def test_log_and_stacks_are_kept_with_the_cause() -> None:
    found = words(number=9, log_tail="last line\n", stacks="Thread 0x1")
    assert loss_of(DIED, rank=0, words=found).log_tail == "last line\n--- stacks ---\nThread 0x1"


def test_a_silent_rank_is_named_with_the_state_of_its_process() -> None:
    found = LastWords(pid=1, is_alive=True, state="stopped")
    loss = hang(1, silent_for_s=3.04, words=found)
    assert loss.code == "rank_hung"
    assert loss.message == "rank 1 did not answer for 3.0 s (process state stopped) and was killed"


def test_ranks_that_answer_but_do_not_finish_are_named() -> None:
    loss = overrun("measure", late=(1, 3), limit_s=5, words=None)
    assert (loss.code, loss.rank) == ("deadline_exceeded", 1)
    assert "rank 1, 3" in loss.message


@pytest.mark.parametrize(
    ("state", "blame", "code"),
    [
        ("INFEASIBLE", Blame.HOST, "infeasible"),
        ("NO_RESOURCES", Blame.CLUSTER, "no_resources"),
    ],
)
def test_what_nobody_has_is_told_from_what_is_taken(state: str, blame: Blame, code: str) -> None:
    request = GroupRequest(
        group_id="g",
        hosts=(Host(node_id="n", address="10.0.0.1"),),
        device_kind="cuda",
        num_ranks=8,
        degrees=(8,),
        cpus_per_rank=1,
        log_dir="/tmp",  # noqa: S108 - nothing is written
    )
    loss = not_placed(state, request=request)
    assert (loss.blame, loss.code) == (blame, code)
    assert "8 cuda ranks on node 10.0.0.1" in loss.message
