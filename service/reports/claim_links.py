"""What stored results say of the links between ranks: claims 12, 13, 23 and 24."""

from collections.abc import Iterator, Sequence
from statistics import median

from service.reports.breakeven import BreakEvenReport
from service.store.results import MeasuredTrial
from workers.contract.axes import Collective
from workers.contract.bandwidth import bus_factor

NETWORK = "network"
MOST_SAID = 4


def all_reduce_times(trials: Sequence[MeasuredTrial]) -> str | None:
    """The largest AllReduce of two ranks that every link carried, and the rate it went at."""
    by_link = _by_link(trials)
    sizes = [{size for trial in own for size, _ in _all_reduces(trial)} for own in by_link.values()]
    common = set.intersection(*sizes) if sizes else set()
    if not common:
        return None
    size = max(common)
    times = {
        link: median(t for trial in own for s, t in _all_reduces(trial) if s == size)
        for link, own in by_link.items()
    }
    each = [f"{link} {_rate(size, time)}" for link, time in _slowest_first(times)]
    slow, fast = max(times.values()), min(times.values())
    ratio = f"; the slowest takes {slow / fast:.1f} times the fastest" if len(times) > 1 else ""
    return f"{size / 1e6:.3g} MB between 2 ranks: {', '.join(each)}{ratio}"


def efficiencies(trials: Sequence[MeasuredTrial]) -> str | None:
    """T_c over step of two ranks, at the point of most compute that every link measured."""
    by_link = _by_link(trials)
    keys = [{trial.spec_key for trial in own} for own in by_link.values()]
    common = set.intersection(*keys) if keys else set()
    candidates = [trial for own in by_link.values() for trial in own if trial.spec_key in common]
    if not candidates:
        return None
    most = max(candidates, key=lambda trial: trial.summary.compute_time_us).spec
    shares = {
        link: median(
            trial.summary.compute_time_us / trial.summary.step_time_us
            for trial in own
            if trial.spec_key == most.spec_key
        )
        for link, own in by_link.items()
    }
    each = [f"{link} {share:.0%}" for link, share in sorted(shares.items(), key=lambda i: i[1])]
    return f"{most.model.name} {most.block} {most.phase}, batch {most.batch}, median: " + ", ".join(
        each
    )


def across_nodes(trials: Sequence[MeasuredTrial]) -> str | None:
    """The share of communication over each network that was measured."""
    shares: dict[str, list[float]] = {}
    for trial in trials:
        if trial.link_class.startswith(NETWORK):
            shares.setdefault(trial.link_class, []).append(trial.summary.communication_share)
    each = [f"{link}: {median(values):.0%}" for link, values in sorted(shares.items())]
    return f"median communication share over {'; '.join(each)}" if each else None


def pays(series: Sequence[BreakEvenReport], trials: Sequence[MeasuredTrial]) -> str | None:
    """Where 4 ranks beat 2; over networks also where 2 beat 1."""
    links = {trial.hardware_key: trial.link_class for trial in trials}
    said = [
        f"{links.get(one.hardware_key, 'unknown link')}: {one.sentence}"
        for one in series
        if one.pays_against is not None
        and (
            (one.tp_degree, one.pays_against) == (4, 2)
            or links.get(one.hardware_key, "").startswith(NETWORK)
        )
    ]
    rest = f". And {len(said) - MOST_SAID} more" if len(said) > MOST_SAID else ""
    return ". ".join(said[:MOST_SAID]) + rest if said else None


def _by_link(trials: Sequence[MeasuredTrial]) -> dict[str, list[MeasuredTrial]]:
    """Trials of two ranks by what is between them."""
    found: dict[str, list[MeasuredTrial]] = {}
    for trial in trials:
        if trial.spec.tp_degree == 2:  # noqa: PLR2004 - the fewest that send anything
            found.setdefault(trial.link_class, []).append(trial)
    return found


def _all_reduces(trial: MeasuredTrial) -> Iterator[tuple[int, float]]:
    """Bytes and time of each."""
    for one in trial.summary.collectives:
        if one.op is Collective.ALL_REDUCE and one.time_us > 0:
            yield one.message_bytes, one.time_us


def _rate(size: int, time_us: float) -> str:
    rate = size * bus_factor(Collective.ALL_REDUCE, num_ranks=2) / time_us / 1e3
    return f"{time_us / 1e3:.3g} ms ({rate:.3g} GB/s)"


def _slowest_first(times: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(times.items(), key=lambda item: -item[1])
