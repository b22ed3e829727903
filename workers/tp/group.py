"""The ranks that share one block, and what carries their tensors between them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Protocol, Self

from torch import Tensor


class Pending(Protocol):
    """A collective that was started and goes on by itself."""

    def wait(self) -> Tensor:
        """Return its result once it is there: for the current stream, on CUDA."""
        ...


class Collectives(Protocol):
    """The operations a sharded block asks of its group; one class for each way of running them."""

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        """Return the sum of `tensor` over all ranks, the same bits on each of them.

        Takes ownership: the tensor must be contiguous, and the caller must not read it afterwards,
        since it may be summed in place. `where` names the call: mlp.forward, attention.backward.
        """
        ...

    def all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Tensor:
        """Fill `whole` with every rank's `part`, one behind the other in order of rank; return it.

        Both are contiguous; `whole` has as many rows as all parts together. `part` is only read.
        """
        ...

    def reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Tensor:
        """Fill `part` with this rank's rows of the sum of `whole` over all ranks; return it.

        Both are contiguous. Takes ownership of `whole`, which may be summed in place.
        """
        ...

    def send_recv(self, tensor: Tensor, *, source: int, target: int, where: str) -> Tensor:
        """Fill `tensor` of rank `target` with that of rank `source`; return it.

        Called by these two alone, with contiguous tensors of one shape.
        """
        ...

    def start_all_reduce(self, tensor: Tensor, *, where: str) -> Pending:
        """Start what `all_reduce` does. Nobody may touch the tensor before it was waited for.

        All ranks start collectives in the same order; so with the other two.
        """
        ...

    def start_all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Pending:
        """Start what `all_gather` does."""
        ...

    def start_reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Pending:
        """Start what `reduce_scatter` does."""
        ...


@dataclass(frozen=True, slots=True)
class TensorParallelGroup:
    """One rank's view of the ranks among which a block is cut. Passed in, never global."""

    rank: int
    size: int
    collectives: Collectives
    wires: tuple[Tensor, ...] = ()
    """Memory through which `collectives` send past torch's dispatcher, for the proof's counter."""

    def with_collectives(self, collectives: Collectives) -> Self:
        """Return the same ranks over other collectives: timed ones, or none."""
        return replace(self, collectives=collectives)


@dataclass(frozen=True, slots=True)
class Done:
    """A collective that was over when it had been started."""

    result: Tensor

    def wait(self) -> Tensor:
        """Return the result."""
        return self.result


class DoneAtOnce(ABC):
    """The starting half of collectives that cannot go on by themselves."""

    @abstractmethod
    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        """Sum over ranks."""

    @abstractmethod
    def all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Tensor:
        """Parts of all ranks."""

    @abstractmethod
    def reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Tensor:
        """This rank's part of the sum over ranks."""

    def start_all_reduce(self, tensor: Tensor, *, where: str) -> Pending:
        """Sum over ranks, at once."""
        return Done(self.all_reduce(tensor, where=where))

    def start_all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Pending:
        """Gather, at once."""
        return Done(self.all_gather(part, whole, where=where))

    def start_reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Pending:
        """Scatter, at once."""
        return Done(self.reduce_scatter(whole, part, where=where))


class PassedOn(DoneAtOnce):
    """Others' collectives as they are; a subclass changes one of them."""

    def __init__(self, inner: Collectives) -> None:
        self._inner = inner

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        """As it was."""
        return self._inner.all_reduce(tensor, where=where)

    def all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Tensor:
        """As it was."""
        return self._inner.all_gather(part, whole, where=where)

    def reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Tensor:
        """As it was."""
        return self._inner.reduce_scatter(whole, part, where=where)

    def send_recv(self, tensor: Tensor, *, source: int, target: int, where: str) -> Tensor:
        """As it was."""
        return self._inner.send_recv(tensor, source=source, target=target, where=where)


class NoCollectives(DoneAtOnce):
    """Nothing is sent: each rank keeps its own part, of equal shape. Times compute alone."""

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:  # noqa: ARG002 - as the protocol
        """Return `tensor` untouched."""
        return tensor

    def all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Tensor:  # noqa: ARG002
        """Put `part` at the front of `whole`. The rest stays what the allocator handed out.

        That is what earlier steps left there: filling it would be time that no product takes.
        """
        whole[: part.shape[0]] = part
        return whole

    def reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Tensor:  # noqa: ARG002
        """Put the front of `whole` into `part`."""
        return part.copy_(whole[: part.shape[0]])

    def send_recv(self, tensor: Tensor, *, source: int, target: int, where: str) -> Tensor:  # noqa: ARG002
        """Return `tensor` untouched."""
        return tensor
