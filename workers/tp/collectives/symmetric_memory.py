"""The buffer behind one_shot and two_shot: GPU memory that the peers' kernels read over NVLink.

Torch's symmetric memory is an alpha (`torch.distributed._symmetric_memory`). Its kernels know
float32 and bfloat16 alone. For 2, 4 and 8 ranks they add in order of rank; for other sizes in an
order of each rank's own, whose last bits differ, or not at all.
"""

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
from torch import Tensor

from workers.contract.errors import CollectiveUnavailableError, DeviceMemoryError
from workers.contract.implementations import SYMMETRIC_ALIGNMENT, SYMMETRIC_DEGREES
from workers.tp.collectives.members import Members

KERNEL_DTYPES = (torch.float32, torch.bfloat16)
PROOF_DTYPES = (torch.float64, torch.int32, torch.int64)
"""Of verdicts and bits, which only the proof sends: no measured message has them."""

SMALLEST_BYTES = 1 << 20


class SymmetricBuffer:
    """Room for one message, the same on every rank; grows when a larger one comes."""

    def __init__(self, impl: str, members: Members) -> None:
        """Refuse on all ranks alike what the kernels cannot do, by CollectiveUnavailableError."""
        self._impl = impl
        if members.device.type != "cuda":
            raise self._unavailable(f"it needs CUDA, and this is {members.device.type}")
        if members.size not in SYMMETRIC_DEGREES:
            raise self._unavailable(f"it knows {SYMMETRIC_DEGREES} ranks, not {members.size}")
        if not members.share_a_host:
            raise self._unavailable("the ranks sit on several hosts")
        if members.size != members.world_size:
            raise self._unavailable(
                f"a rendezvous of {members.size} ranks in a group of {members.world_size} would "
                f"hang the group's next one (pytorch#196082); it works in a group of {members.size}"
            )
        self._device = members.device
        self._process_group = members.process_group
        self.group_name = members.process_group.group_name
        self._memory = torch.empty(0, dtype=torch.uint8)

    def room_for(self, message: Tensor) -> Tensor:
        """Return symmetric memory of the message's shape and dtype, from the buffer's beginning.

        All ranks must ask for equal sizes: growing is a rendezvous.
        """
        if message.dtype not in KERNEL_DTYPES or message.nbytes % SYMMETRIC_ALIGNMENT:
            raise self._unavailable(
                f"its kernels take float32 and bfloat16, in whole {SYMMETRIC_ALIGNMENT} bytes, "
                f"not {message.numel()} elements of {message.dtype}"
            )
        if self._memory.nbytes < message.nbytes:
            self._grow(message.nbytes)
        return self._memory[: message.nbytes].view(message.dtype).view(message.shape)

    def close(self) -> None:
        """Free the memory, once this rank's kernels are done with it."""
        torch.cuda.synchronize(self._device)
        self._memory = torch.empty(0, dtype=torch.uint8)

    def _grow(self, num_bytes: int) -> None:
        rounded = max(SMALLEST_BYTES, 1 << (num_bytes - 1).bit_length())
        torch.cuda.synchronize(self._device)
        dist.barrier(self._process_group)
        try:
            memory = symm_mem.empty(rounded, dtype=torch.uint8, device=self._device)
            symm_mem.rendezvous(memory, self.group_name)
        except RuntimeError as error:
            if isinstance(error, torch.OutOfMemoryError) or "out of memory" in str(error):
                msg = f"{self._impl}: no room for {rounded} bytes of symmetric memory: {error}"
                raise DeviceMemoryError(msg) from error
            raise self._unavailable(str(error)) from error
        self._memory = memory

    def _unavailable(self, reason: str) -> CollectiveUnavailableError:
        return CollectiveUnavailableError(
            f"{self._impl}: {reason}; collective_impl backend works everywhere"
        )
