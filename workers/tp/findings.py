"""What each rank finds in its own part of a proof, and what all of them conclude from it together.

Pure: neither a group nor a tensor is touched here.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import Self

from workers.contract.axes import Arrangement, Block, Phase
from workers.contract.errors import CollectiveCountError, NumericsError, ProofError
from workers.contract.point import PointSpec
from workers.contract.workload import Message, messages_of_rank
from workers.tp.blocks import plan_weights
from workers.tp.comparison import Difference
from workers.tp.counter import CountedMessage

OUTPUT, INPUT_GRADIENT = 0, 1
"""The first of the compared tensors; the gradients of the weights follow."""


@dataclass(frozen=True, slots=True)
class Findings:
    """One rank's part as numbers, so that one sum over the ranks carries a row for each of them."""

    num_forward: float
    forward_bytes: float
    num_backward: float
    backward_bytes: float
    num_other_ops: float
    """Collectives that are another operation than is expected at their place."""
    num_changed: float
    """Tensors of the caller that the step wrote to."""
    num_odd_bits: float
    """Elements of output and input gradient that differ from rank 0's."""
    max_abs_error: float
    max_rel_error: float
    blamed: float
    """Index of the first compared tensor beyond the tolerance; of the worst where none is."""
    blamed_rel_error: float
    blamed_multiple: float
    """What the blamed tensor is its twin's times; 0 where it is no multiple of it, or the same."""

    @classmethod
    def of(
        cls,
        counted: tuple[Sequence[CountedMessage], Sequence[CountedMessage]],
        *,
        expected: Sequence[Message],
        num_changed: int,
        num_odd_bits: int,
        differences: Sequence[Difference],
        tolerance: float,
    ) -> Self:
        """Sum up one rank's step: what it sent forward and backward, how far each tensor is off."""
        forward, backward = counted
        errors = [difference.rel_error for difference in differences]
        beyond = (index for index, error in enumerate(errors) if error > tolerance)
        blamed = next(beyond, errors.index(max(errors)))
        return cls(
            num_forward=len(forward),
            forward_bytes=sum(message.message_bytes for message in forward),
            num_backward=len(backward),
            backward_bytes=sum(message.message_bytes for message in backward),
            num_other_ops=_num_other_ops(forward, _messages_of("forward", expected))
            + _num_other_ops(backward, _messages_of("backward", expected)),
            num_changed=num_changed,
            num_odd_bits=num_odd_bits,
            max_abs_error=max(difference.abs_error for difference in differences),
            max_rel_error=max(errors),
            blamed=blamed,
            blamed_rel_error=errors[blamed],
            blamed_multiple=differences[blamed].multiple,
        )

    def to_row(self) -> list[float]:
        """Return the numbers in the order of the fields."""
        return [float(value) for value in astuple(self)]

    @classmethod
    def from_row(cls, row: Sequence[float]) -> Self:
        """Read what `to_row` wrote."""
        return cls(**{field.name: value for field, value in zip(fields(cls), row, strict=True)})


@dataclass(frozen=True, slots=True)
class Judge:
    """Turns the findings of all ranks into a verdict, the same one on every rank."""

    spec: PointSpec
    """With the proof's shape and tokens."""
    tolerance: float

    def find_error(self, findings: Sequence[Findings]) -> ProofError | None:
        """Return what is wrong, or None. Counts come first: they explain most wrong numbers."""
        for rank, found in enumerate(findings):
            if fault := self._count_fault(found, messages_of_rank(self.spec, rank)):
                return CollectiveCountError(f"rank {rank}: {fault}")
        for rank, found in enumerate(findings):
            if fault := self._numeric_fault(found):
                return NumericsError(f"rank {rank}: {fault}")
        return None

    def _count_fault(self, found: Findings, messages: Sequence[Message]) -> str:
        forward = [m.message_bytes for m in _messages_of("forward", messages)]
        backward = [m.message_bytes for m in _messages_of("backward", messages)]
        if (found.num_forward, found.num_backward) != (len(forward), len(backward)):
            return (
                f"a step ran {found.num_forward:.0f} collectives forward and "
                f"{found.num_backward:.0f} backward instead of {len(forward)} and {len(backward)}; "
                + self._count_cause(found, num_forward=len(forward), num_backward=len(backward))
            )
        if found.num_other_ops:
            return (
                f"{found.num_other_ops:.0f} collectives of a step were of another kind than "
                f"{self.spec.arrangement} has there; likely another arrangement was built"
            )
        if (found.forward_bytes, found.backward_bytes) != (sum(forward), sum(backward)):
            return (
                f"a step sent {found.forward_bytes:.0f} bytes forward and "
                f"{found.backward_bytes:.0f} backward instead of {sum(forward)} and "
                f"{sum(backward)}; likely something else than tokens x hidden in "
                f"{self.spec.dtype} was reduced: another dtype, or an inner activation"
            )
        return ""

    def _count_cause(self, found: Findings, *, num_forward: int, num_backward: int) -> str:
        if self.spec.arrangement is Arrangement.COLUMN_ROW:
            return _count_cause(found, num_forward=num_forward, num_backward=num_backward)
        return (
            f"likely another arrangement than {self.spec.arrangement} was built, or the block's "
            "input does not require grad"
        )

    def _numeric_fault(self, found: Findings) -> str:
        if found.num_changed:
            return (
                "the step wrote to its input, to its output's gradient or to its weights; likely "
                "an all-reduce in place of a tensor that the block does not own"
            )
        if found.blamed_rel_error > self.tolerance:
            return (
                f"{self._name(int(found.blamed))} is off the unsharded twin's by "
                f"{found.blamed_rel_error:.3g} of its largest element, where {self.tolerance:.3g} "
                f"is allowed; likely {self._numeric_cause(found)}"
            )
        if found.num_odd_bits:
            return (
                "output and input gradient have other bits than rank 0's; likely the collective "
                "sums in another order on each rank, or the ranks were given different inputs"
            )
        return ""

    def _name(self, index: int) -> str:
        gradients = [f"the gradient of {plan.name}" for plan in plan_weights(self.spec)]
        return ["the output", "the input's gradient", *gradients][index]

    def _numeric_cause(self, found: Findings) -> str:
        if found.blamed_multiple:
            return (
                f"summed over the ranks once too often or once too few: it is "
                f"{found.blamed_multiple:.3g} times the twin's"
            )
        if int(found.blamed) == OUTPUT:
            return self._wrong_output_cause()
        if int(found.blamed) == INPUT_GRADIENT:
            return (
                "f summed the gradient before every matrix that reads the input had added to it, "
                "or it was changed in place while another still read it"
            )
        return (
            "backward read an activation or a gradient that was changed in place after it was "
            "saved, or a replicated weight's copies do not add up"
        )

    def _wrong_output_cause(self) -> str:
        causes = ["a weight was cut along the wrong axis or dealt to the wrong rank"]
        if self.spec.block is not Block.ATTENTION and self.spec.model.gated:
            causes.append("gate and up are swapped")
        if self.spec.block is not Block.MLP:
            causes.append("key-value heads serve the wrong query heads")
            if self.spec.phase is Phase.DECODE:
                causes.append("the cache lacks a token")
        return ", or ".join(causes)


def _messages_of(part: str, messages: Sequence[Message]) -> list[Message]:
    return [message for message in messages if message.where.endswith("." + part)]


def _num_other_ops(counted: Sequence[CountedMessage], expected: Sequence[Message]) -> int:
    """Compare place by place; how many there are is judged apart."""
    pairs = zip(counted, expected, strict=False)
    return sum(ran.op != message.op for ran, message in pairs)


def _count_cause(found: Findings, *, num_forward: int, num_backward: int) -> str:
    if found.num_forward < num_forward:
        return "likely g is missing after a row-parallel matrix: the output is a partial sum"
    if found.num_forward > num_forward:
        return "likely an output is reduced twice, or f and g are swapped"
    if found.num_backward < num_backward:
        return (
            "likely the block's input does not require grad, or was detached, so that autograd "
            "skips f's all-reduce; or f is missing before a column-parallel matrix"
        )
    return (
        "likely each matrix that reads the input has an f of its own, the gradient is reduced "
        "twice, or activations are recomputed"
    )
