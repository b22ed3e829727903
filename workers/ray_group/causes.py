"""From what Ray and the kernel say to one named cause. Pure.

Ray's errors do not share one root worth catching (OutOfMemoryError and NodeDiedError stand beside
RayActorError), so everything under RayError is judged here; what is unknown is the cluster's.
"""

import re
import signal
from collections.abc import Sequence

from ray.exceptions import (
    ActorDiedError,
    ActorUnavailableError,
    NodeDiedError,
    OutOfMemoryError,
    RayActorError,
    RayError,
    RayTaskError,
    RuntimeEnvSetupError,
    WorkerCrashedError,
)

from workers.contract.errors import WorkerError
from workers.contract.group_events import Blame, Loss
from workers.ray_group.last_words import LastWords
from workers.ray_group.request import GroupRequest

LONGEST_MESSAGE = 1_000
LONGEST_LOG = 8 * 1024

_BLAME_OF_CODE = {
    "rendezvous_failed": Blame.RANK,
    "rank_lost": Blame.RANK,
    "device_mismatch": Blame.HOST,
    "order_mismatch": Blame.CLUSTER,
}
_PEER_COMPLAINTS = re.compile(
    r"closed by peer|[Cc]onnection reset|Broken pipe|Timed out waiting|timed out|NCCL.*aborted"
)
_SHAPE_ABORT = re.compile(r"EnforceNotMet|preamble\.(length|nbytes)|op\.nbytes")
_TRACES = (
    (signal.SIGABRT, re.compile(r"Fatal Python error: Aborted|\*\*\* SIGABRT received")),
    (signal.SIGSEGV, re.compile(r"Fatal Python error: Segmentation|\*\*\* SIGSEGV received")),
    (signal.SIGBUS, re.compile(r"Fatal Python error: Bus error|\*\*\* SIGBUS received")),
)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST_TRACE = 900
"""The end of a traceback says what went wrong."""
_SELF_DESTRUCT = re.compile(r"^Timeout \(\d+:\d\d:\d\d", re.MULTILINE)  # faulthandler's first line


def is_death(error: RayError) -> bool:
    """Whether the rank itself is gone; otherwise it lives and complains."""
    return not isinstance(error, RayTaskError)


def is_final_complaint(error: RayError) -> bool:
    """Whether a living rank says that the point can not be measured at all."""
    cause = _cause(error)
    return isinstance(cause, WorkerError) and cause.is_final


def loss_of(error: RayError, *, rank: int, words: LastWords | None) -> Loss:
    """Name the cause of one rank's error, with what its process left behind."""
    if isinstance(error, RayTaskError):
        return _complaint(error, rank=rank, words=words)
    if isinstance(error, OutOfMemoryError):
        message = f"rank {rank}: Ray ended it because the host ran out of memory"
        return _loss(Blame.RANK, "host_memory", message, rank=rank, words=words)
    if _host_is_lost(error, words):
        message = f"the host of rank {rank} is lost: {_first_lines(str(error))}"
        return _loss(Blame.HOST, "host_lost", message, rank=rank, words=words)
    if isinstance(error, RuntimeEnvSetupError) or _never_came_to_be(error):
        message = f"rank {rank} could not be made: {_COLOURS.sub('', str(error))[-_LONGEST_TRACE:]}"
        return _loss(Blame.CLUSTER, "start_failed", message, rank=rank, words=words)
    if isinstance(error, RayActorError | WorkerCrashedError):
        return _death(str(error), rank=rank, words=words)
    message = f"rank {rank}: {type(error).__name__}: {error}"
    return _loss(Blame.CLUSTER, "cluster_error", message, rank=rank, words=words)


def hang(rank: int, *, silent_for_s: float, words: LastWords | None) -> Loss:
    """The rank answers no ping: stopped, or something holds the GIL."""
    state = f" (process state {words.state})" if words and words.state else ""
    message = f"rank {rank} did not answer for {silent_for_s:.1f} s{state} and was killed"
    return _loss(Blame.RANK, "rank_hung", message, rank=rank, words=words)


def overrun(step: str, *, late: Sequence[int], limit_s: float, words: LastWords | None) -> Loss:
    """Ranks that answer pings, but not the call."""
    message = f"{step}: rank {', '.join(map(str, late))} did not finish within {limit_s:.0f} s"
    code = "deadline_exceeded" if step == "measure" else "start_timeout"
    return _loss(Blame.RANK, code, message, rank=late[0], words=words)


def not_placed(scheduling_state: str, *, request: GroupRequest) -> Loss:
    """The cluster did not set the devices aside: it has none such, or they are taken."""
    wanted = f"{request.num_ranks} {request.device_kind} ranks on node {request.address}"
    if scheduling_state == "INFEASIBLE":
        message = f"no room for {wanted}: the cluster has no such node or devices any more"
        return Loss(blame=Blame.HOST, code="infeasible", message=message)
    message = f"no room for {wanted}: the devices are taken ({scheduling_state})"
    return Loss(blame=Blame.CLUSTER, code="no_resources", message=message)


def _complaint(error: RayTaskError, *, rank: int, words: LastWords | None) -> Loss:
    cause = _cause(error)
    if isinstance(cause, WorkerError):
        blame = Blame.POINT if cause.is_final else _BLAME_OF_CODE.get(cause.code, Blame.CLUSTER)
        return _loss(blame, cause.code, str(cause), rank=rank, words=words, is_final=cause.is_final)
    message = f"rank {rank}: {type(cause).__name__}: {cause}"
    if _PEER_COMPLAINTS.search(str(cause)):
        return _loss(Blame.RANK, "collective_failed", message, rank=rank, words=words)
    return _loss(Blame.POINT, "unexpected_error", message, rank=rank, words=words)


def _death(ray_message: str, *, rank: int, words: LastWords | None) -> Loss:
    if words is None or words.is_alive:
        message = f"rank {rank} is gone: {_exit_detail(ray_message)}"
        return _loss(Blame.RANK, "rank_died", message, rank=rank, words=words)
    ended_by = _signal_of(words)
    if words.num_host_oom_kills > 0 and ended_by in {None, signal.SIGKILL}:
        message = f"rank {rank}: the host's kernel killed it because memory ran out"
        return _loss(Blame.RANK, "host_memory", message, rank=rank, words=words)
    if ended_by in {signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}:
        return _crash(ended_by, rank=rank, words=words)
    if words.exit_code is not None and _SELF_DESTRUCT.search(words.stacks):
        message = f"rank {rank} ended itself: its deadline passed, or nobody pinged it"
        return _loss(Blame.RANK, "deadline_exceeded", message, rank=rank, words=words)
    how = f"by {signal.Signals(ended_by).name}" if ended_by else _how_it_exited(words, ray_message)
    return _loss(Blame.RANK, "rank_died", f"rank {rank} died {how}", rank=rank, words=words)


def _crash(ended_by: int, *, rank: int, words: LastWords) -> Loss:
    """The process ended itself on purpose or by accident: most likely because of the point."""
    name = signal.Signals(ended_by).name
    if _SHAPE_ABORT.search(words.log_tail):
        message = f"rank {rank} aborted ({name}): ranks sent messages of different shapes"
        return _loss(Blame.POINT, "shape_mismatch", message, rank=rank, words=words)
    return _loss(Blame.POINT, "rank_aborted", f"rank {rank} died by {name}", rank=rank, words=words)


def _loss(
    blame: Blame,
    code: str,
    message: str,
    *,
    rank: int | None,
    words: LastWords | None,
    is_final: bool = False,
) -> Loss:
    return Loss(
        blame=blame,
        code=code,
        message=message[:LONGEST_MESSAGE],
        rank=rank,
        signal=_signal_of(words) if words else None,
        log_tail=_evidence(words) if words else "",
        is_final=is_final,
    )


def _evidence(words: LastWords) -> str:
    parts = [words.log_tail[-LONGEST_LOG:].strip()]
    if words.stacks:
        parts.append("--- stacks ---\n" + words.stacks[-LONGEST_LOG:].strip())
    return "\n".join(part for part in parts if part)


def _signal_of(words: LastWords) -> int | None:
    """The kernel's word, or what the process could still write where the kernel does not say."""
    if words.is_alive or words.signal is not None or words.exit_code is not None:
        return words.signal
    return next((n for n, trace in _TRACES if trace.search(words.log_tail)), None)


def _how_it_exited(words: LastWords, ray_message: str) -> str:
    if words.exit_code is None:
        return f"without a trace ({_exit_detail(ray_message)})"
    return f"with exit code {words.exit_code}"


def _host_is_lost(error: RayError, words: LastWords | None) -> bool:
    """Also where Ray calls an actor unavailable and nobody on its host can be asked."""
    if isinstance(error, NodeDiedError):
        return True
    if isinstance(error, ActorDiedError) and "node has died" in str(error):
        return True
    return isinstance(error, ActorUnavailableError) and words is None


def _never_came_to_be(error: RayError) -> bool:
    return isinstance(error, RayActorError) and error.actor_init_failed


def _exit_detail(ray_message: str) -> str:
    found = re.search(r"Worker exit detail: (.*?)(?: Some common causes|$)", ray_message, re.DOTALL)
    return _first_lines(found.group(1) if found else ray_message)


def _first_lines(text: str) -> str:
    return " ".join(text.split())[:300]


def _cause(error: RayError) -> BaseException | None:
    return error.cause if isinstance(error, RayTaskError) else None
