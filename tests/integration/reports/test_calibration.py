"""Which of the stored trials the cost model is fitted to, on both databases."""

from service.reports.calibration import Calibration, Stored, calibrated
from service.store import sweeps
from service.store.engine import Sessions
from tests.integration.api.measuring import measure_all
from tests.unit.analysis.trials import HARDWARE, SHAPE
from workers.contract.axes import Arrangement, Block, Phase
from workers.contract.point import PointSpec
from workers.contract.sweep import SweepSpec


def measure(
    sessions: Sessions,
    degrees: tuple[int, ...],
    *,
    arrangement: Arrangement = Arrangement.COLUMN_ROW,
    quality: tuple[str, ...] = (),
) -> None:
    """A whole layer; ranks that share cores take twice as long."""
    spec = SweepSpec(
        models=(SHAPE,),
        blocks=(Block.LAYER,),
        phase=(Phase.PREFILL,),
        arrangement=(arrangement,),
        tp_degree=degrees,
        batch=(1, 4, 16, 64),
        replicates=2,
    )
    with sessions.writing() as session:
        sweeps.create(session, spec, created_by="test", seed=1, expansion=spec.expand())
    slower = 2 if "oversubscribed" in quality else 1
    assert measure_all(sessions, lambda one: slower * step_us(one), quality=quality)


def step_us(spec: PointSpec) -> float:
    return spec.num_layers * (50 + 10 * spec.batch / spec.num_shards)


def known(sessions: Sessions, tp_degree: int) -> Calibration:
    point = PointSpec(
        model=SHAPE, block=Block.LAYER, phase=Phase.PREFILL, tp_degree=tp_degree, batch=8, seq=1
    )
    with sessions.reading() as session:
        return calibrated(Stored(session, HARDWARE.accelerator), point)


def test_stacked_layers_and_shared_cores_are_kept_out_of_every_fit(sessions: Sessions) -> None:
    measure(sessions, (1, 2))
    alone = known(sessions, 2)
    measure(sessions, (4,), arrangement=Arrangement.LAYER_SPLIT)
    measure(sessions, (2, 4), quality=("busy_host", "oversubscribed"))
    beside = known(sessions, 2)
    assert alone.steps is not None
    assert alone.steps.degrees == {1, 2}
    assert beside.steps == alone.steps
    assert [one.num_ranks for one in alone.collectives.curves] == [2]
    assert beside.collectives == alone.collectives
    assert known(sessions, 4).steps == alone.steps
