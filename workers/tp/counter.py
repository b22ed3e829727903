"""Counts what a step really sends, below all of our own code: at torch's dispatcher."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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
    ("send", Collective.SEND_RECV),
    ("recv", Collective.SEND_RECV),
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

    Independent of `workers.tp.group` and of the implementation: whatever way a tensor is sent, it
    passes here. Either torch has a name for it, or it is copied into one of `wires`, memory that
    other ranks read; that is an all-reduce, the one collective with an implementation of this kind.
    """

    def __init__(self, *, wires: Sequence[Tensor] = ()) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.messages: list[CountedMessage] = []
        self._wires = frozenset(wire.untyped_storage().data_ptr() for wire in wires)
        self._last_piece: Tensor | None = None  # kept, so that nothing else takes its address

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
            self._last_piece = None
        elif self._wires and namespace == "aten" and name == "copy_":
            self._note_copy(*args)
        return func(*args, **(kwargs or {}))

    def _note_copy(self, target: object, source: object, *_: object) -> None:
        if (
            isinstance(target, Tensor)
            and isinstance(source, Tensor)
            and target.untyped_storage().data_ptr() in self._wires
        ):
            self._note_piece(source)

    def _note_piece(self, piece: Tensor) -> None:
        """Note a message, or another piece of the last one, where that ended in memory."""
        last = self._last_piece
        if last is not None and piece.data_ptr() == last.data_ptr() + last.nbytes:
            size = self.messages[-1].message_bytes + piece.nbytes
            self.messages[-1] = replace(self.messages[-1], message_bytes=size)
        else:
            self.messages.append(CountedMessage(Collective.ALL_REDUCE, piece.nbytes))
        self._last_piece = piece


def _collective(name: str) -> str:
    return next((str(op) for spelling, op in SPELLINGS if spelling in name), name)


def _tensors_in(arg: object) -> Iterator[Tensor]:
    """Tensors of one argument; lists of lists where a gather names each rank's output."""
    if isinstance(arg, Tensor):
        yield arg
    elif isinstance(arg, list | tuple):
        for item in arg:
            yield from _tensors_in(item)
