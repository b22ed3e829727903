import time
from dataclasses import replace

import numpy as np
import pytest

from service.analysis.comparison import Verdict
from service.reports.compared import ComparisonReport
from service.reports.comparison import report
from service.store.results import MeasuredTrial
from tests.unit.analysis.trials import point
from tests.unit.reports.measured import measured_trial, on_torch
from workers.contract.hardware import Hardware


def sweep(
    sweep_id: str, *, batches: tuple[int, ...] = (1, 2), factor: float = 1.0, replicates: int = 3
) -> list[MeasuredTrial]:
    return [
        measured_trial(
            point(batch=batch),
            replicate=r,
            sweep_id=sweep_id,
            step_us=100 * batch * factor * (1 + 0.001 * r),
        )
        for batch in batches
        for r in range(replicates)
    ]


def compared(baseline: list[MeasuredTrial], candidate: list[MeasuredTrial]) -> ComparisonReport:
    return report(baseline, candidate, baseline_name="a", candidate_name="b")


def test_points_are_matched_by_spec_and_judged() -> None:
    found = compared(sweep("a"), sweep("b", factor=1.3))
    assert [compared.verdict for compared in found.points] == [Verdict.SLOWER, Verdict.SLOWER]
    assert [compared.spec.batch for compared in found.points] == [1, 2]
    assert found.points[1].ratio == pytest.approx(1.3)
    assert found.points[1].baseline.step_time_us == pytest.approx(200.2)
    assert found.points[1].candidate.n == 3
    assert found.counts == {
        Verdict.FASTER: 0,
        Verdict.SLOWER: 2,
        Verdict.SAME: 0,
        Verdict.INCONCLUSIVE: 0,
    }
    assert found.overall is not None
    assert found.overall.verdict is Verdict.SLOWER
    assert found.sentence.startswith("slower: step time is 1.300 (")
    assert "2 points: 2 slower (tolerance 5%)" in found.sentence


def test_points_of_one_side_only_are_listed() -> None:
    found = compared(sweep("a", batches=(1, 2, 4)), sweep("b", batches=(2, 8)))
    assert [own.spec.batch for own in found.points] == [2]
    assert [own.spec.batch for own in found.unmatched_baseline] == [1, 4]
    assert [own.spec.batch for own in found.unmatched_candidate] == [8]


def test_the_same_spec_on_other_hardware_is_not_the_same_point() -> None:
    other = Hardware(accelerator="B", memory_class_gib=0, num_devices=2, fabric="host_memory")
    moved = [
        replace(trial, hardware=other, hardware_key=other.hardware_key) for trial in sweep("b")
    ]
    found = compared(sweep("a"), moved)
    assert (found.points, found.overall) == ((), None)
    assert len(found.unmatched_baseline) == len(found.unmatched_candidate) == 2
    assert found.sentence.endswith("nothing to compare")
    assert "hardware_key" in {difference.field for difference in found.differences}


def test_a_name_is_not_part_of_what_is_matched() -> None:
    renamed = [
        replace(
            trial,
            spec=trial.spec.model_copy(
                update={"model": trial.spec.model.model_copy(update={"name": "other"})}
            ),
        )
        for trial in sweep("b")
    ]
    assert len(compared(sweep("a"), renamed).points) == 2


def test_every_covariate_that_differs_is_stated_and_no_other() -> None:
    moved = [
        replace(on_torch(trial, "2.14.0"), node="node-2", link_class="network_25")
        for trial in sweep("b")
    ]
    settings = moved[0].environment.model_copy(
        update={"variables": {"NCCL_ALGO": "Ring"}, "nccl": "2.30.7", "load_average": 9.0}
    )
    moved[0] = replace(moved[0], environment=settings)
    found = {
        own.field: (own.baseline, own.candidate) for own in compared(sweep("a"), moved).differences
    }
    assert found == {
        "link_class": (("host_memory",), ("network_25",)),
        "node": (("node-1",), ("node-2",)),
        "torch": (("2.13.0",), ("2.14.0",)),
        "nccl": ((), ("2.30.7",)),
        "NCCL_ALGO": ((), ("Ring",)),
    }


def test_equal_environments_differ_in_nothing() -> None:
    assert compared(sweep("a"), sweep("b")).differences == ()


def test_one_replicate_on_a_side_is_inconclusive() -> None:
    found = compared(sweep("a"), sweep("b", factor=3, replicates=1))
    assert {own.verdict for own in found.points} == {Verdict.INCONCLUSIVE}
    assert found.sentence.startswith("inconclusive: step time is ")
    assert "(tolerance" in found.sentence


def test_nothing_against_nothing_is_nothing() -> None:
    assert compared([], []).overall is None
    assert len(compared(sweep("a"), []).unmatched_baseline) == 2


def test_flags_of_either_side_stand_beside_the_verdict() -> None:
    flagged = [replace(trial, quality=("oversubscribed",)) for trial in sweep("b", batches=(1,))]
    found = compared(sweep("a", batches=(1,)), flagged)
    assert found.points[0].quality == ("oversubscribed",)


def test_two_sweeps_of_ten_thousand_points_are_compared_in_seconds() -> None:
    rng = np.random.default_rng(0)
    spec = point()
    one = measured_trial(spec)
    sides = []
    for sweep_id in ("a", "b"):
        values = rng.lognormal(5, 0.1, (10_000, 3)).tolist()
        sides.append(
            [
                replace(
                    one,
                    sweep_id=sweep_id,
                    point_id=f"{sweep_id}{number}",
                    spec_key=str(number),
                    replicate=replicate,
                    summary=one.summary.model_copy(update={"step_time_us": value}),
                )
                for number, row in enumerate(values)
                for replicate, value in enumerate(row)
            ]
        )
    began = time.process_time()
    found = compared(*sides)
    assert time.process_time() - began < 10
    assert len(found.points) == 10_000
