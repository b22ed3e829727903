import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import (
    BeforeValidator,
    Field,
    Strict,
    StrictBool,
    StrictInt,
    ValidationInfo,
    field_validator,
)

from workers.contract.axes import (
    Arrangement,
    Block,
    CollectiveImpl,
    Dtype,
    GroupKind,
    Launch,
    Overlap,
    Phase,
)
from workers.contract.catalogue import Model
from workers.contract.expansion import Expansion, judged
from workers.contract.frozen import Frozen, Label
from workers.contract.implementations import judge_impl
from workers.contract.launching import judge_launch
from workers.contract.one_or_many import Axis
from workers.contract.overlapping import judge_overlap
from workers.contract.pair import Pair, PairAxis
from workers.contract.point import LARGEST_EXTENT, LARGEST_TP_DEGREE, PointSpec
from workers.contract.refine import MaybeRefine
from workers.contract.shapes import ModelShape
from workers.contract.sharding import Rejection, judge

AXES = (
    "models",
    "blocks",
    "arrangement",
    "phase",
    "tp_degree",
    "batch",
    "seq",
    "dtype",
    "collective_impl",
    "overlap",
    "launch",
)

LARGEST_NUM_REPLICATES = 50


def _without_auto(value: object) -> object:
    return CollectiveImpl.BACKEND if value == "auto" else value


Impl = Annotated[
    CollectiveImpl,
    BeforeValidator(_without_auto, json_schema_input_type=CollectiveImpl | Literal["auto"]),
]
Degree = Annotated[StrictInt, Field(ge=1, le=LARGEST_TP_DEGREE)]
Extent = Annotated[StrictInt, Field(ge=1, le=LARGEST_EXTENT)]


class Sampling(Frozen):
    """When a trial has seen enough steps."""

    target_rel_ci: Annotated[float, Strict()] = Field(default=0.02, gt=0, le=1)
    """Stop once the median's 95 % interval within the trial is this narrow, relative to it."""
    max_time_s: Annotated[float, Strict()] = Field(default=5, gt=0, le=600)
    """Stop at the latest after this much time in timed steps, all passes together."""
    min_steps: StrictInt = Field(default=10, ge=1, le=100_000)
    """Never judge fewer clean steps than this, whatever they take."""


class Where(Frozen):
    """Which hardware may measure the sweep."""

    accelerator: Label | None = None
    """Part of the accelerator's (or CPU's) model name; any where not given."""


class SweepFrame(Frozen):
    """What a sweep says beside what it measures."""

    name: Label = ""
    replicates: StrictInt = Field(default=3, ge=1, le=LARGEST_NUM_REPLICATES)
    group_kind: GroupKind = GroupKind.FRESH
    profile: StrictBool = False
    """Whether the first replicate of every point also gives a torch profiler's trace."""
    sampling: Sampling = Sampling()
    where: Where = Where()
    priority: StrictInt = Field(default=0, ge=-100, le=100)
    tags: dict[Label, Label] = Field(default_factory=dict, max_length=50)


class SweepSpec(SweepFrame):
    """A grid of points; every axis may be one value or a list of them."""

    models: Axis[Model]
    blocks: Axis[Block]
    arrangement: Axis[Arrangement] = (Arrangement.COLUMN_ROW,)
    phase: Axis[Phase] = (Phase.TRAIN,)
    tp_degree: Axis[Degree]
    batch: Axis[Extent]
    seq: Axis[Extent] = (1,)
    dtype: Axis[Dtype] = (Dtype.FLOAT32,)
    collective_impl: Axis[Impl] = (CollectiveImpl.BACKEND,)
    overlap: Axis[Overlap] = (Overlap.NONE,)
    """What communication runs under compute: `backward`, the input gradient's under the product for
    the weights' gradients; `chunked`, one half of a block's batch under the other half."""
    launch: Axis[Launch] = (Launch.EAGER,)
    pair: Pair | None = None
    """Measures every combination of the axes twice by turns: with either value."""
    refine: MaybeRefine = None
    """Whether to measure further batches where a break-even lies between two of these."""

    @field_validator(*AXES)
    @classmethod
    def _names_each_value_once(cls, values: tuple[object, ...]) -> tuple[object, ...]:
        times = Counter(values)
        repeated = next((value for value, count in times.items() if count > 1), None)
        if repeated is not None:
            shown = repeated.name if isinstance(repeated, ModelShape) else repeated
            raise ValueError(f"{shown!s} is named twice; each value once is enough")
        return values

    @field_validator("pair")
    @classmethod
    def _has_its_axis_for_itself(cls, pair: Pair | None, info: ValidationInfo) -> Pair | None:
        if pair is None or pair.axis is PairAxis.SAME:
            return pair
        axis = pair.axis.value
        usual = cls.model_fields[axis].default
        if info.data.get(axis, usual) != usual:
            given = ", ".join(info.data[axis])
            raise ValueError(
                f"{axis} is what the pair differs in, and the sweep gives it as {given} too; name "
                "its values in pair alone"
            )
        return pair

    @field_validator("refine")
    @classmethod
    def _has_a_range_to_refine(cls, refine: MaybeRefine, info: ValidationInfo) -> MaybeRefine:
        if refine is None:
            return refine
        if info.data.get("pair") is not None:
            raise ValueError("refine looks for break-evens, which a pair does not have")
        if len(info.data.get("batch", (1, 2))) < 2:  # noqa: PLR2004 - a bracket has two ends
            raise ValueError("refine needs at least two batches, between which it halves")
        return refine

    @property
    def num_combinations(self) -> int:
        """Size of the grid, by arithmetic: nothing is expanded."""
        count = 1 if self.pair is None else 2
        for axis in AXES:
            count *= len(getattr(self, axis))
        return count

    def combinations(self) -> Iterator[PointSpec]:
        """Every combination of axis values, whether it can be sharded or not."""
        for values in itertools.product(*(getattr(self, axis) for axis in AXES)):
            model, block, *others = values
            arrangement, phase, tp_degree, batch, seq, dtype, impl, overlap, launch = others
            yield PointSpec(
                model=model,
                block=block,
                arrangement=arrangement,
                phase=phase,
                tp_degree=tp_degree,
                batch=batch,
                seq=seq,
                dtype=dtype,
                collective_impl=impl,
                overlap=overlap,
                launch=launch,
            )

    def expand(self) -> Expansion:
        """Points that can be measured, each spec_key once, and the combinations that cannot.

        Of a pair whose one point cannot be measured, neither is.
        """
        grid = self.combinations()
        trials = ((spec,) for spec in grid) if self.pair is None else map(self.pair.points, grid)
        return judged(trials, _judge, is_paired=self.pair is not None)


def _judge(spec: PointSpec) -> Rejection | None:
    return judge(spec) or judge_overlap(spec) or judge_impl(spec) or judge_launch(spec)
