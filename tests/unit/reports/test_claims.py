"""What stored trials say of the claims."""

from dataclasses import replace

import pytest

from service.analysis.nccl_tests.operation import Operation
from service.reports.claim_facts import facts
from service.store.results import MeasuredTrial
from tests.unit.analysis.trials import PROOF, SHAPE, point
from tests.unit.reports.measured import measured_trial
from tests.unit.reports.test_collective_curves import PLACEMENTS, curve
from workers.contract.axes import Arrangement, Block, CollectiveImpl, Phase
from workers.contract.point import PointSpec


def counted(trial: MeasuredTrial, num_collectives: int) -> MeasuredTrial:
    proof = PROOF.model_copy(update={"num_collectives": num_collectives})
    return replace(trial, proof=proof)


def decode(**more: object) -> PointSpec:
    usual: dict[str, object] = {
        "model": SHAPE,
        "block": Block.MLP,
        "phase": Phase.DECODE,
        "tp_degree": 2,
        "batch": 1,
        "seq": 8,
    }
    return PointSpec.model_validate({**usual, **more})


def test_nothing_measured_says_nothing() -> None:
    assert facts([], []) == {}


def test_collectives_are_said_as_they_were_counted() -> None:
    trials = [counted(measured_trial(point(), replicate=r), 2) for r in range(3)]
    assert facts(trials, [])[1] == "2 counted in each of 3 trials"
    odd = [*trials, counted(measured_trial(point(), replicate=3), 3)]
    assert facts(odd, [])[1] == "2 or 3 counted in each of 4 trials"


def test_arrangements_are_compared_within_a_replicate() -> None:
    rows = point().model_copy(update={"arrangement": Arrangement.ROW_ROW})
    trials = [
        *(measured_trial(point(), replicate=r, step_us=100 * (1 + r)) for r in range(3)),
        *(measured_trial(rows, replicate=r, step_us=150 * (1 + r)) for r in range(4)),
    ]
    assert facts(trials, [])[4] == "step time over column_row's, median (trials): row_row 1.50 (3)"


def test_ranks_that_wait_for_layers_say_how_long() -> None:
    split = point(tp_degree=2).model_copy(update={"arrangement": Arrangement.LAYER_SPLIT})
    trial = measured_trial(split)
    waiting = trial.summary.model_copy(update={"idle_shares": (0.5, 0.6)})
    assert facts([replace(trial, summary=waiting)], []) == {
        **facts([trial], []),
        8: "median idle share of a layer split, and (P-1)/P: 55.0% at P=2 (50.0%)",
    }


def test_small_messages_have_their_median_time_by_hardware() -> None:
    """A tenth of a step each, 1 KiB."""
    found = facts([measured_trial(decode(), step_us=200)], [])
    assert found[16] == "median up to 8 KiB on Test CPU over host_memory: 20.0 us"


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_curve_says_how_long_small_messages_take_whichever_placement_it_has(
    placement: str,
) -> None:
    known = curve(Operation.ALL_REDUCE, 4, placement)
    assert facts([], [known])[16] == "median up to 8 KiB on h100, 4 ranks: 10.0 us"


def test_decode_of_one_sequence_says_where_communication_is_longer() -> None:
    trials = [
        measured_trial(decode(), replicate=0, step_us=100, compute_us=30),
        measured_trial(decode(), replicate=1, step_us=100, compute_us=70),
        measured_trial(decode(batch=4), step_us=100, compute_us=1),
    ]
    found = facts(trials, [])
    assert found[18] == "communication was longer in trials of mlp at tp_degree 2 1 of 2"
    assert found[25] == "above 15% in 3 of 3 trials"
    assert found[20] == "median exposed share of the step, decode, overlap none: 50%"


def test_other_collectives_are_held_against_the_backends_in_the_same_replicate() -> None:
    shared = decode(collective_impl=CollectiveImpl.SHARED_MEMORY)
    trials = [measured_trial(decode(), step_us=120), measured_trial(shared, step_us=100)]
    assert facts(trials, [])[21] == (
        "decode against the backend's, median (trials): shared_memory 1.20x (1)"
    )


def test_only_a_network_says_anything_of_nodes() -> None:
    here = measured_trial(decode(), step_us=100, compute_us=60)
    assert 24 not in facts([here], [])
    apart = replace(here, link_class="network 10 Gb/s")
    assert facts([apart], [])[24] == ("median communication share over network 10 Gb/s: 40%")


@pytest.mark.parametrize(("number", "degrees"), [(27, (1, 2)), (23, (2, 4))])
def test_break_evens_are_said_in_their_own_sentences(number: int, degrees: tuple[int, int]) -> None:
    trials = [
        measured_trial(
            point(tp_degree=degree, batch=batch),
            replicate=r,
            step_us=10 * batch / degree + 100 * (degree > degrees[0]) * (1 + r / 50),
            compute_us=10 * batch / degree,
        )
        for degree in degrees
        for batch in (1, 16, 256)
        for r in range(3)
    ]
    assert "faster than tp_degree" in facts(trials, [])[number]


def test_links_are_held_against_one_another_by_the_same_message_and_point() -> None:
    def over(link: str, step_us: float, *, batch: int = 8) -> MeasuredTrial:
        trial = measured_trial(decode(batch=batch), step_us=step_us, compute_us=400)
        return replace(trial, link_class=link)

    trials = [
        over("network_100mbit", 1600),
        over("host_memory", 500),
        over("host_memory", 9, batch=64),
    ]
    found = facts(trials, [])
    size_mb = trials[0].summary.collectives[0].message_bytes / 1e6
    assert found[12].startswith(f"{size_mb:.3g} MB between 2 ranks: network_100mbit 0.16 ms (")
    assert found[12].endswith("; the slowest takes 3.2 times the fastest")
    assert found[13].endswith("mlp decode, batch 8, median: network_100mbit 25%, host_memory 80%")


def test_break_evens_across_a_network_say_over_which() -> None:
    trials = [
        replace(
            measured_trial(
                point(tp_degree=degree, batch=batch),
                replicate=r,
                step_us=10 * batch / degree + 100 * (degree > 1) * (1 + r / 50),
                compute_us=10 * batch / degree,
            ),
            link_class="network_1gbit",
        )
        for degree in (1, 2)
        for batch in (1, 64)
        for r in range(3)
    ]
    assert facts(trials, [])[23].startswith("network_1gbit: ")


def test_a_degree_is_held_against_one_rank_in_the_same_replicate() -> None:
    trials = [
        measured_trial(decode(tp_degree=degree), replicate=r, step_us=100 * (1 + r) * slower)
        for degree, slower in ((1, 1.0), (2, 1.8))
        for r in range(2)
    ]
    assert "1.80 at tp_degree 2 (2)" in facts(trials, [])[26]


def test_peak_memory_in_training_is_held_against_one_rank() -> None:
    one, two = (
        replace(measured_trial(point(tp_degree=degree)), peak_memory_bytes=peak)
        for degree, peak in ((1, 1000), (2, 700))
    )
    assert "column_row 0.70 at P=2" in facts([one, two], [])[28]
