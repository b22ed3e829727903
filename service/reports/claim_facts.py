"""What stored results say of the articles' claims, one sentence by the claim's number."""

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median

from service.analysis.claims.memory import bubble_share
from service.analysis.nccl_tests.operation import Operation
from service.analysis.recommendation.choice import DEFAULT_THRESHOLD
from service.reports import breakeven, claim_degrees, claim_links
from service.reports.breakeven import BreakEvenReport
from service.reports.twins import beside
from service.store.curves import Curve
from service.store.results import MeasuredTrial
from workers.contract.axes import Arrangement, Block, CollectiveImpl, Phase

SMALL_BYTES = 8 << 10
MOST_SAID = 3

Fact = Callable[[Sequence[MeasuredTrial]], str | None]


def facts(trials: Sequence[MeasuredTrial], curves: Sequence[Curve]) -> dict[int, str]:
    """Say what there is to say; a claim that nothing was measured for is not in it."""
    sharded = [trial for trial in trials if trial.spec.tp_degree > 1]
    found = {number: fact(sharded) for number, fact in FACTS.items()}
    found[16] = _floor(sharded, curves)
    series = breakeven.reports(trials)
    found[23] = claim_links.pays(series, sharded)
    found[26] = claim_degrees.decode_of_one(trials)
    found[28] = claim_degrees.peak_memory(trials)
    found[27] = _break_evens(series)
    return {number: said for number, said in found.items() if said is not None}


def _counted(block: Block) -> Fact:
    def fact(trials: Sequence[MeasuredTrial]) -> str | None:
        own = [
            trial.proof.num_collectives
            for trial in trials
            if trial.spec.block is block
            and trial.spec.phase is Phase.TRAIN
            and trial.spec.arrangement is Arrangement.COLUMN_ROW
        ]
        if not own:
            return None
        counts = " or ".join(map(str, sorted(set(own))))
        return f"{counts} counted in each of {len(own)} trials"

    return fact


def _arrangements(trials: Sequence[MeasuredTrial]) -> str | None:
    """Step times of the same point otherwise arranged, replicate by replicate."""
    ratios: dict[Arrangement, list[float]] = {}
    for trial, usual in beside(trials, "arrangement", Arrangement.COLUMN_ROW):
        if trial.spec.arrangement is not Arrangement.LAYER_SPLIT:
            ratio = trial.summary.step_time_us / usual.summary.step_time_us
            ratios.setdefault(trial.spec.arrangement, []).append(ratio)
    each = [f"{name} {median(own):.2f} ({len(own)})" for name, own in sorted(ratios.items())]
    return f"step time over column_row's, median (trials): {', '.join(each)}" if each else None


def _idle(trials: Sequence[MeasuredTrial]) -> str | None:
    """Of ranks that hold one layer each and wait for one another's."""
    shares: dict[int, list[float]] = {}
    for trial in trials:
        if own := trial.summary.idle_shares:
            shares.setdefault(trial.spec.tp_degree, []).append(fmean(own))
    each = [
        f"{median(own):.1%} at P={degree} ({bubble_share(degree):.1%})"
        for degree, own in sorted(shares.items())
    ]
    return f"median idle share of a layer split, and (P-1)/P: {', '.join(each)}" if each else None


def _floor(trials: Sequence[MeasuredTrial], curves: Sequence[Curve]) -> str | None:
    by_hardware: dict[str, list[float]] = {}
    for trial in trials:
        name = f"{trial.hardware.accelerator} over {trial.link_class}"
        by_hardware.setdefault(name, []).extend(
            one.time_us
            for one in trial.summary.collectives
            if one.message_bytes <= SMALL_BYTES and one.time_us > 0
        )
    for curve in curves:
        if curve.table.operation is Operation.ALL_REDUCE:
            name = f"{curve.hardware}, {curve.table.num_ranks} ranks"
            by_hardware.setdefault(name, []).extend(_small_times(curve))
    each = [f"{name}: {median(own):.1f} us" for name, own in by_hardware.items() if own]
    return f"median up to 8 KiB on {'; '.join(each)}" if each else None


def _small_times(curve: Curve) -> Iterable[float]:
    for row in curve.table.rows:
        if 0 < row.message_bytes <= SMALL_BYTES:
            yield from row.times_us[:1]


def _batch_1(trials: Sequence[MeasuredTrial]) -> str | None:
    """In how many points communication is the longer one, by block and degree."""
    by_series: dict[tuple[Block, int], list[bool]] = {}
    for trial in trials:
        if trial.spec.phase is Phase.DECODE and trial.spec.batch == 1:
            longer = trial.summary.exposed_communication_us > trial.summary.compute_time_us
            by_series.setdefault((trial.spec.block, trial.spec.tp_degree), []).append(longer)
    each = [
        f"{block} at tp_degree {degree} {sum(own)} of {len(own)}"
        for (block, degree), own in sorted(by_series.items())
    ]
    return f"communication was longer in trials of {', '.join(each)}" if each else None


def _hidden(trials: Sequence[MeasuredTrial]) -> str | None:
    shares: dict[str, list[float]] = {}
    for trial in trials:
        spec = trial.spec
        if spec.phase is Phase.PREFILL or (spec.phase is Phase.DECODE and spec.batch == 1):
            name = f"{spec.phase}, overlap {spec.overlap}"
            shares.setdefault(name, []).append(trial.summary.communication_share)
    each = [f"{name}: {median(own):.0%}" for name, own in sorted(shares.items())]
    return f"median exposed share of the step, {'; '.join(each)}" if each else None


def _implementations(trials: Sequence[MeasuredTrial]) -> str | None:
    """Decode with the backend's collectives over the same with others."""
    decode = [trial for trial in trials if trial.spec.phase is Phase.DECODE]
    ratios: dict[CollectiveImpl, list[float]] = {}
    for trial, usual in beside(decode, "collective_impl", CollectiveImpl.BACKEND):
        ratio = usual.summary.step_time_us / trial.summary.step_time_us
        ratios.setdefault(trial.spec.collective_impl, []).append(ratio)
    each = [f"{impl} {median(own):.2f}x ({len(own)})" for impl, own in sorted(ratios.items())]
    return f"decode against the backend's, median (trials): {', '.join(each)}" if each else None


def _above_threshold(trials: Sequence[MeasuredTrial]) -> str | None:
    if not trials:
        return None
    above = sum(trial.summary.communication_share > DEFAULT_THRESHOLD for trial in trials)
    return f"above {DEFAULT_THRESHOLD:.0%} in {above} of {len(trials)} trials"


def _break_evens(series: Sequence[BreakEvenReport]) -> str | None:
    return _sentences(series)


def _sentences(series: Sequence[BreakEvenReport]) -> str | None:
    said = [one.sentence for one in series[:MOST_SAID]]
    rest = len(series) - len(said)
    return ". ".join([*said, *([f"And {rest} more"] if rest else [])]) if said else None


FACTS: dict[int, Fact] = {
    1: _counted(Block.MLP),
    2: _counted(Block.ATTENTION),
    3: _counted(Block.LAYER),
    4: _arrangements,
    8: _idle,
    18: _batch_1,
    20: _hidden,
    21: _implementations,
    12: claim_links.all_reduce_times,
    13: claim_links.efficiencies,
    24: claim_links.across_nodes,
    25: _above_threshold,
}
