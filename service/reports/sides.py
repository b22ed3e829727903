"""A side of a comparison becomes the trials it means, or an error that says what would work."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from service.errors import FieldError, InvalidRequestError, NotFoundError
from service.reports.selection import Selection
from service.store import baselines, fleet, sweeps, tags
from service.store.result_filter import ResultFilter
from service.store.results import count
from service.store.timed import TimedTrial, timed

MOST_TRIALS = 200_000
"""Of one side."""
MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class Side:
    """One side as it was asked for, and where in the request."""

    selection: Selection
    pointer: str

    @property
    def name(self) -> str:
        """What reports call it."""
        return self.selection.label


@dataclass(frozen=True, slots=True)
class Found:
    """What a side came to."""

    which: ResultFilter
    trials: Sequence[TimedTrial]


def find(session: Session, side: Side) -> Found:
    """Read a side's trials.

    NotFoundError where something it names is not there, or nothing fits all that it names; sweeps
    that have no results yet are an empty side. InvalidRequestError for more than can be compared.
    """
    which = filter_of(session, side.selection)
    if count(session, which, at_most=MOST_TRIALS + 1) > MOST_TRIALS:
        detail = f"{side.name} means more than {MOST_TRIALS} trials; narrow it, as by since:"
        raise InvalidRequestError(
            f"{side.pointer}: {detail}", errors=(FieldError(side.pointer, detail),)
        )
    trials = timed(session, which)
    if not trials and not side.selection.is_of_sweeps:
        detail = "; ".join(_missing(session, side.selection)) or (
            f"nothing was measured that fits {side.name}, though each part of it is known"
        )
        raise NotFoundError(detail, errors=(FieldError(side.pointer, detail),))
    return Found(which, trials)


def filter_of(session: Session, selection: Selection) -> ResultFilter:
    """Return the store's words for it. NotFoundError for a sweep or baseline that there is not."""
    sweeps.check_known(session, *selection.sweep)
    sweep_ids = (
        *selection.sweep,
        *(baselines.resolve(session, name) for name in selection.either),
        *(baselines.sweep_of(session, name) for name in selection.baseline),
    )
    return replace(
        ResultFilter.on(*selection.hardware),
        sweep_ids=sweep_ids,
        tags=tuple(selection.tag.items()),
        versions=tuple(selection.version.items()),
        nodes=selection.node,
        since=selection.since,
        until=selection.until,
        models=selection.model,
        blocks=selection.block,
        phases=selection.phase,
        arrangements=selection.arrangement,
        tp_degrees=selection.tp_degree,
        batches=selection.batch,
        seqs=selection.seq,
        dtypes=selection.dtype,
        collective_impls=selection.collective_impl,
        overlaps=selection.overlap,
        launches=selection.launch,
    )


def _missing(session: Session, selection: Selection) -> Iterator[str]:
    """What it names that there is not, each with what there is."""
    for key, value in selection.tag.items():
        if not tags.exists(session, key, value):
            known = tags.values(session, key)
            if known:
                yield f"no sweep has the tag {key}={value}; values of {key} are {_some(known)}"
            else:
                yield f"no sweep has a tag {key}; there are {_some(tags.keys(session))}"
    hardware = fleet.hardware(session)
    names = sorted({facts.accelerator for facts in hardware.values()})
    for name in selection.hardware:
        if name not in hardware and name not in names:
            yield f"there is no hardware {name!r}; there are {_some(names)}"
    nodes = [node.name for node in fleet.node_facts(session)]
    for name in selection.node:
        if name not in nodes and not count(session, ResultFilter(nodes=(name,)), at_most=1):
            yield f"nothing was measured on a node {name!r}; nodes are {_some(nodes)}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return (", ".join(names[:MOST_NAMED]) or "none yet") + more
