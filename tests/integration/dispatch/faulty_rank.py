"""The real rank, with planned faults. Loads torch."""

from tests.integration.dispatch.stand_in_rank import commit, planned_fault
from workers.contract.group import RankSetup
from workers.contract.trial import RankResult, TrialOrder
from workers.rank import Rank


class FaultyRank(Rank):
    """Measures for real, but for what the fault plan says."""

    def __init__(self, setup: RankSetup) -> None:
        super().__init__(setup)
        self._number = setup.rank

    def measure(self, order: TrialOrder) -> RankResult:
        if fault := planned_fault(order, rank=self._number):
            commit(fault)
        return super().measure(order)
