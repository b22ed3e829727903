"""Memory that the ranks of one host share, without a name that could outlive them.

Rank 0 makes it with memfd_create(2) and the others open it through /proc/PID/fd: it never stands in
/dev/shm, needs no unlinking, and is gone with the last process that maps it, however that ends. Nor
does it count against the size of /dev/shm, which containers often limit to 64 MiB.
"""

import errno
import mmap
import os
import secrets

from workers.contract.errors import CollectiveUnavailableError
from workers.tp.collectives.members import Members

NAME = "tpsweep-collectives"
"""As /proc/PID/maps shows it."""

WORD = 8
"""Bytes of the mark at the beginning of the segment, which says that it is the right one."""


def map_together(members: Members, num_bytes: int) -> mmap.mmap:
    """Return zeroed memory of all members but for its first word; called on each at once.

    CollectiveUnavailableError on all of them where one cannot map it.
    """
    mark = secrets.randbits(62) + 1
    mapping, descriptor, fault = None, -1, 0
    if members.rank == 0:
        mapping, descriptor, fault = _attempt_create(num_bytes, mark)
    (pid, number, mark), *_ = members.exchange([os.getpid(), descriptor, mark])
    if members.rank > 0 and number >= 0:
        mapping, fault = _attempt_open(f"/proc/{pid}/fd/{number}", num_bytes, mark)
    faults = [fault for (fault,) in members.exchange([fault])]
    if descriptor >= 0:
        os.close(descriptor)
    if mapping is None or any(faults):
        rank, fault = next((rank, fault) for rank, fault in enumerate(faults) if fault)
        raise CollectiveUnavailableError(
            f"shared_memory: rank {rank} could not map {num_bytes} bytes of rank 0's memory: "
            f"{os.strerror(fault)}. The ranks must be processes of one user in one container; "
            "collective_impl backend works everywhere"
        )
    return mapping


def _attempt_create(num_bytes: int, mark: int) -> tuple[mmap.mmap | None, int, int]:
    """Return mapping, descriptor and 0, or none, -1 and the errno."""
    descriptor = -1
    try:
        descriptor = os.memfd_create(NAME)
        os.ftruncate(descriptor, num_bytes)
        mapping = mmap.mmap(descriptor, num_bytes)
    except OSError as error:
        if descriptor >= 0:
            os.close(descriptor)
        return None, -1, error.errno or errno.EIO
    mapping[:WORD] = mark.to_bytes(WORD, "little")
    return mapping, descriptor, 0


def _attempt_open(path: str, num_bytes: int, mark: int) -> tuple[mmap.mmap | None, int]:
    """Return mapping and 0, or none and the errno; EXDEV where the path leads to other memory."""
    try:
        descriptor = os.open(path, os.O_RDWR)
        try:
            mapping = mmap.mmap(descriptor, num_bytes)
        finally:
            os.close(descriptor)
    except OSError as error:
        return None, error.errno or errno.EIO
    except ValueError:  # shorter than asked for
        return None, errno.EXDEV
    if mapping[:WORD] != mark.to_bytes(WORD, "little"):
        mapping.close()
        return None, errno.EXDEV
    return mapping, 0
