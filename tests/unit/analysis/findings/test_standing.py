import numpy as np
import pytest

from service.analysis.control import ControlSummary, ControlTime, NoiseGrade
from service.analysis.findings.history import Reading, raw_history_of
from service.analysis.findings.standing import Basis, Standings, standings

NIGHTS = 30


def judged(nodes: str, *, slow: str = "", from_night: int = 20, until: int = NIGHTS) -> Standings:
    """Nodes that measure a computing and a communicating case; the slow one by 8 % from a night."""
    rng = np.random.default_rng(5)
    gemm = ControlTime(median_us=50, min_us=50, dispersion=0.2, num_steps=9)
    control = ControlSummary(version=1, gemm=gemm, collective=None)
    readings = [
        Reading(
            night,
            node,
            case,
            2,
            100 * (1 + 0.005 * rng.standard_normal()) * (1.08 if is_slow else 1),
            share,
            control,
            {},
        )
        for night in range(NIGHTS)
        for node in nodes
        for case, share in (("mlp", 0.0), ("reduce", 0.5))
        for is_slow in [node in slow and night >= from_night]
        if node != "z" or night < until
    ]
    return standings(raw_history_of(readings, num_nights=NIGHTS), readings)


def test_a_slow_node_stands_out_among_its_peers() -> None:
    found = judged("abcdef", slow="b")
    assert found.basis is Basis.PEERS
    assert [one.node for one in found.nodes if one.stands_out[-1]] == ["b"]
    (slow,) = [one for one in found.nodes if one.node == "b"]
    assert slow.score[-1] == pytest.approx(0.077, abs=0.01)
    assert slow.link_score[-1] == pytest.approx(0.077, abs=0.01)
    assert not any(slow.stands_out[:20])


def test_with_few_nodes_each_is_held_against_its_own_past() -> None:
    found = judged("ab", slow="b", from_night=25)
    assert found.basis is Basis.OWN_PAST
    assert [one.node for one in found.nodes if one.stands_out[-1]] == ["b"]
    assert found.nodes[0].score[:6] == (None,) * 6


def test_a_node_that_measured_no_more_is_missing() -> None:
    found = judged("abcdez", until=27)
    assert {one.node: one.missing_since for one in found.nodes if one.missing_since} == {"z": 27}


def test_noise_is_graded_by_the_controls() -> None:
    found = judged("ab")
    assert {grade for one in found.nodes for grade in one.noise_grade} == {NoiseGrade.B}
