"""What to measure next so that a TP degree of a model can be advised on hardware that is here."""

from typing import Annotated, Literal

from pydantic import Field, Strict
from sqlalchemy.orm import Session

from service.analysis.advice.plan import Machine, Measurement, Question, measurement, probe
from service.analysis.advice.speed import Seen, Speed, speed_of
from service.errors import FieldError, InvalidRequestError
from service.store import fleet, sweeps
from service.store.fleet import Node
from service.store.result_filter import ResultFilter
from service.store.results import measured
from workers.contract.axes import Dtype, Phase
from workers.contract.catalogue import AnyWholeModel
from workers.contract.frozen import Frozen
from workers.contract.shapes import ModelShape
from workers.contract.sweep import Extent, SweepSpec

DECODE_SEQ, OTHER_SEQ = 512, 64
LEAST_START_S, MOST_START_S = 3.0, 20.0
"""A probe may find a group that is warm, or wait behind other sweeps."""


class AdvicePlanRequest(Frozen):
    """What advice is asked about, and in which time."""

    model: AnyWholeModel
    phase: Phase = Phase.DECODE
    batch: tuple[Extent, ...] = Field(
        default=(), max_length=20, description="None: as many as there is time for."
    )
    seq: Extent | None = Field(
        default=None,
        description=f"Tokens of one sequence; in decode the cached ones. {DECODE_SEQ} in decode, "
        f"{OTHER_SEQ} else.",
    )
    dtype: Dtype | None = Field(
        default=None, description="bfloat16 on a GPU and float32 on a CPU where not given."
    )
    time_s: Annotated[float, Strict(), Field(gt=0, le=3600)] = Field(
        default=75.0, description="For all that is measured after the probe."
    )
    probe: str | None = Field(
        default=None, max_length=36, description="Id of the sweep that an earlier plan asked for."
    )


class AdvicePlanReport(Frozen):
    """The next sweep. First a probe that says how fast the hardware is, then the sweep itself."""

    stage: Literal["probe", "sweep"]
    sweep: SweepSpec
    hardware: str
    layer: ModelShape
    scale: float = Field(description="Widths of the layer over those of the asked one.")
    estimated_s: float | None = Field(description="Null for the probe.")
    reason: str


def plan(session: Session, request: AdvicePlanRequest) -> AdvicePlanReport:
    """Plan for the node that was seen last. InvalidRequestError where nothing can be measured."""
    node = _newest(fleet.nodes(session))
    machine = _machine(node)
    question = _question(request, node)
    if request.probe is None:
        sweep = probe(question, machine)
        return AdvicePlanReport(
            stage="probe",
            sweep=sweep,
            hardware=machine.accelerator,
            layer=sweep.models[0],
            scale=sweep.models[0].hidden_size / question.layer.hidden_size,
            estimated_s=None,
            reason="nothing says yet how fast this hardware is",
        )
    speed = _speed(session, request.probe)
    found = measurement(question, machine, speed, time_s=request.time_s)
    if found is None:
        detail = (
            f"not even the smallest layer of {question.layer.name or 'this'}'s ratios can be "
            f"measured within {request.time_s:g} s here; fewer or smaller batches may"
        )
        raise InvalidRequestError(detail, errors=(FieldError("/batch", detail),))
    return AdvicePlanReport(
        stage="sweep",
        sweep=found.sweep,
        hardware=machine.accelerator,
        layer=found.layer,
        scale=found.scale,
        estimated_s=found.estimated_s,
        reason=_reason(question, found),
    )


def _newest(nodes: list[Node]) -> Node:
    if not nodes:
        detail = "no node was seen yet; a dispatcher brings them"
        raise InvalidRequestError(detail, errors=(FieldError("", detail),))
    return max(nodes, key=lambda node: node.last_seen_at)


def _machine(node: Node) -> Machine:
    facts = node.facts
    return Machine(
        num_devices=min(facts.hardware.num_devices, facts.num_slots),
        slot_memory_bytes=facts.slot_memory_bytes,
        accelerator=facts.hardware.accelerator,
    )


def _question(request: AdvicePlanRequest, node: Node) -> Question:
    is_decode = request.phase is Phase.DECODE
    usual = Dtype.BFLOAT16 if node.facts.hardware.memory_class_gib else Dtype.FLOAT32
    return Question(
        layer=request.model.layer,
        phase=request.phase,
        seq=request.seq or (DECODE_SEQ if is_decode else OTHER_SEQ),
        dtype=request.dtype or usual,
        batches=tuple(sorted(set(request.batch))),
    )


def _speed(session: Session, sweep_id: str) -> Speed:
    """By the probe's trials, and by how long after its submission the first of them began."""
    asked = sweeps.find(session, sweep_id)
    trials = measured(session, ResultFilter(sweep_ids=(sweep_id,), tp_degrees=(1,)))
    if not trials:
        detail = f"sweep {sweep_id} measured nothing on one rank"
        raise InvalidRequestError(detail, errors=(FieldError("/probe", detail),))
    seen = [
        Seen(
            spec=one.spec,
            step_s=one.summary.step_time_us / 1e6,
            beside_s=(one.wall_ns - one.timed_ns) / 1e9,
        )
        for one in trials
    ]
    first = min(trials, key=lambda one: one.created_at)
    waited_s = (first.created_at - asked.created_at).total_seconds() - first.wall_ns / 1e9
    return speed_of(seen, start_s=min(max(waited_s, LEAST_START_S), MOST_START_S))


def _reason(question: Question, found: Measurement) -> str:
    name = question.layer.name or "the model"
    if found.scale == 1:
        return f"one layer of {name} as it is"
    return (
        f"the largest layer of {name}'s ratios that time and memory here allow: "
        f"{found.scale:.3g} of its widths (hidden {found.layer.hidden_size} for "
        f"{question.layer.hidden_size}), as many heads"
    )
