"""Counts what a step really sends, below all of our own code: at torch's dispatcher."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from workers.contract.axes import Collective

NAMESPACES = frozenset({"c10d", "_c10d_functional", "c10d_functional", "symm_mem"})
"""Where torch registers what a process group sends; backends are called from behind them."""

SPELLINGS = (
    ("reduce_scatter", Collective.REDUCE_SCATTER),
    ("all_gather", Collective.ALL_GATHER),
    ("allgather", Collective.ALL_GATHER),
    ("all_reduce", Collective.ALL_REDUCE),
    ("allreduce", Collective.ALL_REDUCE),
)


@dataclass(frozen=True, slots=True)
class CountedMessage:
    """One collective that ran."""

    op: str
    """A `Collective` where it is one of ours, else torch's name: it is unexpected then."""
    message_bytes: int
    """Of the total array, as `workers.contract.workload.Message` has it."""


class CollectiveCounter(TorchDispatchMode):
    """While entered, notes every collective of this thread and of its backward passes, in order.

    Independent of `workers.tp.group`: whatever way a tensor is sent, it passes here.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.messages: list[CountedMessage] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False: torch would import its compiler, which takes seconds, to keep it away."""
        return False

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        namespace, name, *_ = str(func).split(".")
        if namespace in NAMESPACES and name != "wait_tensor":
            sizes = [sum(tensor.nbytes for tensor in _tensors_in(arg)) for arg in args]
            # The larger side is the total array: a gather's output, a scatter's input.
            self.messages.append(CountedMessage(_collective(name), max(sizes, default=0)))
        return func(*args, **(kwargs or {}))


def _collective(name: str) -> str:
    return next((str(op) for spelling, op in SPELLINGS if spelling in name), name)


def _tensors_in(arg: object) -> Iterator[Tensor]:
    """Tensors of one argument; lists of lists where a gather names each rank's output."""
    if isinstance(arg, Tensor):
        yield arg
    elif isinstance(arg, list | tuple):
        for item in arg:
            yield from _tensors_in(item)
