"""Curves that calibrations measured here, in the form of those brought in from elsewhere."""

from collections.abc import Sequence
from statistics import median

from sqlalchemy.orm import Session

from service.analysis.nccl_tests.operation import Operation
from service.analysis.nccl_tests.table import Row, Table
from service.store import probes
from service.store.curves import Curve, Origin
from service.store.probes import MeasuredProbe
from service.store.result_filter import ResultFilter
from workers.contract.axes import Collective, Dtype
from workers.contract.probe import CollectiveProbe

DTYPE_NAMES = {Dtype.FLOAT32: "float", Dtype.BFLOAT16: "bfloat16", Dtype.FLOAT16: "half"}
"""As nccl-tests has them."""


def found(
    session: Session, *, hardware: str | None = None, operation: Operation | None = None
) -> list[Curve]:
    """Those of a hardware, by its name or key, and of an operation; of each size the newest."""
    which = ResultFilter() if hardware is None else ResultFilter.on(hardware)
    curves = of_probes(probes.newest(session, which))
    return [curve for curve in curves if operation in (None, curve.table.operation)]


def of_probes(trials: Sequence[MeasuredProbe]) -> list[Curve]:
    """One for each collective, number of ranks, implementation, element type and link. Pure."""
    groups: dict[tuple[str, ...], list[tuple[CollectiveProbe, MeasuredProbe]]] = {}
    for one in trials:
        spec = one.spec
        if isinstance(spec, CollectiveProbe):
            key = (one.hardware_key, one.link_class, spec.op, f"{spec.tp_degree:03}", spec.dtype)
            groups.setdefault((*key, spec.collective_impl), []).append((spec, one))
    return [_curve(groups[key]) for key in sorted(groups)]


def _curve(trials: Sequence[tuple[CollectiveProbe, MeasuredProbe]]) -> Curve:
    spec, last = max(trials, key=lambda one: one[1].measured_at)
    return Curve(
        id=f"{last.sweep_id}.{spec.op}.{spec.tp_degree}.{spec.dtype}.{spec.collective_impl}",
        hardware=last.hardware.accelerator,
        table=Table(
            operation=Operation(spec.op),
            dtype=DTYPE_NAMES[spec.dtype],
            num_ranks=spec.tp_degree,
            num_nodes=1,
            accelerator=last.hardware.accelerator,
            rows=_rows(trials),
        ),
        source=f"sweep {last.sweep_id}",
        imported_by=last.created_by,
        imported_at=last.measured_at,
        origin=Origin.MEASURED,
        collective_impl=spec.collective_impl,
        link_class=last.link_class,
        readings=tuple((spec.message_bytes, one.time_us) for spec, one in trials),
    )


def _rows(trials: Sequence[tuple[CollectiveProbe, MeasuredProbe]]) -> tuple[Row, ...]:
    """Medians over trials; as torch has it an all-reduce works in place, the others do not."""
    times: dict[int, list[float]] = {}
    for spec, one in trials:
        times.setdefault(spec.message_bytes, []).append(one.time_us)
    medians = [(size, median(several)) for size, several in sorted(times.items())]
    if trials[0][0].op is Collective.ALL_REDUCE:
        return tuple(Row(size, None, time_us) for size, time_us in medians)
    return tuple(Row(size, time_us, None) for size, time_us in medians)
