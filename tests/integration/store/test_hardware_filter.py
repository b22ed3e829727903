"""Hardware is named by its key or by its accelerator; of several any is meant."""

from dataclasses import replace

import pytest

from service.store import failed_points, queue, results
from service.store.engine import Sessions
from service.store.leases import Failure
from service.store.result_filter import ResultFilter
from tests.integration.store.builders import (
    OFFER,
    claimed,
    node,
    register,
    result_of,
    submit,
    sweep_spec,
)
from tests.unit.analysis.trials import HARDWARE
from workers.contract.hardware import Hardware

OTHER, THIRD = (
    Hardware(**{**HARDWARE.model_dump(), "accelerator": name}) for name in ("Other CPU", "Third")
)
FINAL = Failure(code="out_of_memory", message="no room", is_final=True)


@pytest.fixture
def filled(sessions: Sessions) -> Sessions:
    """Of a sweep on each hardware one point was measured and one failed."""
    for hardware in (HARDWARE, OTHER, THIRD):
        submit(sessions, sweep_spec(batches=2, degrees=(1,)))
        register(sessions, node(hardware, name=hardware.accelerator))
        offer = replace(OFFER, hardware_key=hardware.hardware_key)
        lease = claimed(sessions, offer=offer)
        told = result_of(lease).model_copy(update={"hardware_key": offer.hardware_key})
        with sessions.writing() as session:
            queue.complete(session, lease, told)
        lease = claimed(sessions, offer=offer)
        with sessions.writing() as session:
            queue.fail(session, lease, FINAL, retry=False)
    return sessions


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ((HARDWARE.hardware_key, OTHER.accelerator), {HARDWARE, OTHER}),
        ((HARDWARE.hardware_key, OTHER.hardware_key), {HARDWARE, OTHER}),
        ((HARDWARE.accelerator, OTHER.accelerator), {HARDWARE, OTHER}),
        ((HARDWARE.hardware_key, HARDWARE.accelerator), {HARDWARE}),
        ((HARDWARE.hardware_key, "H100"), {HARDWARE}),
        ((), {HARDWARE, OTHER, THIRD}),
    ],
)
def test_any_hardware_that_is_named_is_meant(
    filled: Sessions, named: tuple[str, ...], meant: set[Hardware]
) -> None:
    which = ResultFilter.on(*named)
    keys = sorted(hardware.hardware_key for hardware in meant)
    with filled.reading() as session:
        assert sorted(one.hardware_key for one in results.measured(session, which)) == keys
        assert sorted(one.hardware_key for one in failed_points.find(session, which)) == keys
        assert len(failed_points.trials(session, which, limit=10).items) == len(meant)
