"""Verdicts over the ratios of groups, and the part that is named."""

from math import exp, log, log1p
from statistics import median

import numpy as np
import pytest
from scipy import stats

from service.analysis.comparison import Verdict
from service.analysis.pairs import FALSE_CLAIMS, Groups, Part, judge_pairs, ratios_of
from service.analysis.summary import TrialSummary
from tests.unit.analysis.trials import point
from tests.unit.reports.measured import summary
from workers.contract.axes import Pass

SPEC = point(tp_degree=2)
TOLERANCE = 0.02


def step(*, compute: float = 60, wire: float = 20, host: float = 1) -> TrialSummary:
    """Compute, and two collectives of which `wire` is the first's, on a host so slow."""
    whole = summary(SPEC, step_us=(compute + wire + 20) * host, compute_us=compute * host)
    times = zip(whole.collectives, (wire * host, 20 * host), strict=True)
    collectives = tuple(item.model_copy(update={"time_us": us}) for item, us in times)
    return whole.model_copy(update={"collectives": collectives})


def judged(*pairs: Groups) -> list[dict[str, Part]]:
    found = judge_pairs(pairs, tolerance=TOLERANCE, rng=np.random.default_rng(1))
    return [{part.name: part for part in parts} for parts in found]


def noisy(
    second: TrialSummary, *, sigma: float, groups: int = 7, seed: int = 1
) -> list[tuple[TrialSummary, TrialSummary]]:
    """Groups of very different speed, and within each the pair's own noise in the compute."""
    rng = np.random.default_rng(seed)
    return [
        (
            step(host=host),
            step(
                compute=second.compute_time_us * exp(rng.normal(0, sigma)),
                wire=second.collectives[0].time_us * exp(rng.normal(0, sigma)),
                host=host,
            ),
        )
        for host in rng.uniform(1, 3, size=groups)
    ]


def test_slow_and_fast_groups_do_not_hide_a_small_change() -> None:
    (found,) = judged(noisy(step(compute=66), sigma=0.01))
    assert found["compute"].verdict is Verdict.SLOWER
    assert found["compute"].ratio.median == pytest.approx(1.1, abs=0.02)
    assert found["step_time"].ratio.median == pytest.approx(1.06, abs=0.02)


def test_the_part_that_changed_is_the_one_that_is_named() -> None:
    (found,) = judged(noisy(step(wire=30), sigma=0.01))
    moved = {name for name, part in found.items() if part.verdict is Verdict.SLOWER}
    assert moved == {"step_time", "exposed_communication", "all_reduce mlp.forward"}
    assert found["exposed_communication"].ratio.median == pytest.approx(1.1, abs=0.01)
    assert found["all_reduce mlp.backward"].verdict is Verdict.SAME


def test_parts_are_ratios_of_the_second_to_the_first() -> None:
    ratios = ratios_of(step(), step(compute=30, wire=40))
    assert ratios == pytest.approx(
        {
            "step_time": 0.9,
            "compute": 0.5,
            "exposed_communication": 1.2,
            "all_reduce mlp.forward": 2,
            "all_reduce mlp.backward": 1,
        }
    )


def test_collectives_under_compute_have_no_part_in_the_step() -> None:
    """What one takes alone against what the other's takes in the step is no ratio of anything."""
    overlapped = step()
    first, second = overlapped.collectives
    bare = second.model_copy(update={"timed_in": Pass.STANDALONE, "time_us": 1})
    overlapped = overlapped.model_copy(update={"collectives": (first, bare)})
    for ratios in (ratios_of(step(), overlapped), ratios_of(overlapped, step())):
        assert "all_reduce mlp.forward" in ratios
        assert "all_reduce mlp.backward" not in ratios


def test_a_rank_alone_has_its_step_and_nothing_else() -> None:
    alone = summary(point(tp_degree=1), step_us=100)
    assert ratios_of(alone, alone) == {"step_time": 1}


def test_one_group_can_tell_nothing() -> None:
    (found,) = judged(noisy(step(compute=600), sigma=0, groups=1))
    assert found["compute"].verdict is Verdict.INCONCLUSIVE
    assert (found["compute"].p, found["compute"].detectable) == (None, None)


def test_the_p_value_is_that_of_a_t_test_against_the_tolerance() -> None:
    spec, rng = point(tp_degree=1), np.random.default_rng(1)
    times = [103 * exp(rng.normal(0, 0.02)) for _ in range(6)]
    (found,) = judged([(summary(spec, step_us=100), summary(spec, step_us=us)) for us in times])
    logs = [log(us / 100) for us in times]
    one_sided = stats.ttest_1samp(logs, log1p(TOLERANCE), alternative="greater").pvalue
    assert found["step_time"].p == pytest.approx(2 * one_sided)


def test_pairs_that_do_not_differ_are_hardly_ever_told_apart() -> None:
    """Each of 400 pairs alone, with noise far above the tolerance, where errors are likeliest."""
    false = 0
    for seed in range(400):
        (found,) = judged(noisy(step(), sigma=0.1, groups=5, seed=seed))
        false += any(p.verdict in {Verdict.FASTER, Verdict.SLOWER} for p in found.values())
    assert false / 400 <= 2 * FALSE_CLAIMS


def test_a_change_of_the_detectable_size_is_found_that_often() -> None:
    """The size is itself an estimate, which a single set of groups may have too small."""

    def compute(second: TrialSummary, seed: int) -> Part:
        return judged(noisy(second, sigma=0.03, groups=9, seed=seed))[0]["compute"]

    sizes = [compute(step(), seed).detectable or 0 for seed in range(100, 150)]
    slower = step(compute=60 * (1 + median(sizes)))
    verdicts = [compute(slower, seed).verdict for seed in range(100)]
    assert verdicts.count(Verdict.SLOWER) >= 90
