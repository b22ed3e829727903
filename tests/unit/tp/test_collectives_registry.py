from typing import cast

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from workers.contract.axes import CollectiveImpl
from workers.contract.errors import CollectiveUnavailableError, NumericsError
from workers.tp.collectives import registry
from workers.tp.collectives.members import AllReduceOnly, Members
from workers.tp.group import NoCollectives


class SumsNothing(NoCollectives):
    """An implementation that does not reach its peers."""

    wires = ()
    is_closed = False

    def close(self) -> None:
        self.is_closed = True


def members(size: int) -> Members:
    return Members(
        rank=0,
        size=size,
        device=torch.device("cpu"),
        process_group=cast("dist.ProcessGroup", None),
        world_size=size,
        share_a_host=True,
        timeout_s=1,
    )


def test_every_implementation_is_registered() -> None:
    assert set(registry.REGISTRY) == set(CollectiveImpl)


def test_what_does_not_add_up_is_closed_and_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = SumsNothing()
    monkeypatch.setattr(registry, "REGISTRY", {CollectiveImpl.SHARED_MEMORY: lambda _: opened})
    with pytest.raises(NumericsError, match=r"shared_memory: .* ranks 0\.\.1 gave 1.0, not 3.0"):
        registry.open_collectives(CollectiveImpl.SHARED_MEMORY, members(2))
    assert opened.is_closed


class SumsAlone(AllReduceOnly):
    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:  # noqa: ARG002 - as the protocol
        return tensor


def test_an_all_reduce_alone_names_what_it_lacks_and_who_asks() -> None:
    part, whole = torch.ones(1, 3), torch.ones(2, 3)
    with pytest.raises(CollectiveUnavailableError, match=r"no all_gather, which mlp\.input"):
        SumsAlone().all_gather(part, whole, where="mlp.input.forward")
    with pytest.raises(CollectiveUnavailableError, match=r"no reduce_scatter, which mlp\.output"):
        SumsAlone().reduce_scatter(whole, part, where="mlp.output.forward")
