"""The real rank, with planned faults. Loads torch."""

import torch
import torch.distributed as dist

from tests.integration.dispatch.stand_in_rank import Fault, commit, planned_fault
from workers.contract.group import RankSetup
from workers.contract.trial import RankResult, TrialOrder
from workers.rank import Rank

HOG_BYTES = 6 << 30


class FaultyRank(Rank):
    """Measures for real, but for what the fault plan says."""

    def __init__(self, setup: RankSetup) -> None:
        super().__init__(setup)
        self._number = setup.rank

    def measure(self, order: TrialOrder) -> RankResult:
        fault = planned_fault(order, rank=self._number)
        if fault:
            with self._occupied(order):
                self._commit(fault)
        return super().measure(order)

    def _commit(self, fault: Fault) -> None:
        match fault.name:
            case "mismatch":  # gloo checks sizes by aborting the process
                dist.all_reduce(torch.zeros(1000 * (1 + self._number)))
            case "cuda_out_of_memory":
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 TiB")
            case "hog":
                torch.ones(HOG_BYTES // 4).sum()
            case _:
                commit(fault)
