"""Brings what the ranks of one trial saw together. Pure."""

from collections.abc import Iterable, Sequence
from statistics import mean

from workers.contract.axes import GroupKind, Pass
from workers.contract.probe import Measurable
from workers.contract.trial import (
    CollectiveTiming,
    RankResult,
    Span,
    TrialOrder,
    TrialResult,
)
from workers.contract.workload import expected_messages


def gather(
    order: TrialOrder,
    results: Sequence[RankResult],
    *,
    group_kind: GroupKind,
    group_id: str,
    hardware_key: str,
    link_class: str,
    node: str,
) -> TrialResult:
    """One trial over all its ranks, with both points of a pair. `results` may come in any order."""
    ranks = sorted(results, key=lambda result: result.rank)
    first = ranks[0]
    pair = None
    if order.pair_point is not None:
        pair = gather(
            order.model_copy(update={"point": order.pair_point, "pair_point": None}),
            [result.pair for result in ranks if result.pair is not None],
            group_kind=group_kind,
            group_id=group_id,
            hardware_key=hardware_key,
            link_class=link_class,
            node=node,
        )
    return TrialResult(
        point=order.point,
        group_kind=group_kind,
        group_id=group_id,
        hardware_key=hardware_key,
        link_class=link_class,
        node=node,
        environment=first.environment,
        devices=tuple(result.device for result in ranks),
        samples={kind: tuple(result.passes[kind] for result in ranks) for kind in first.passes},
        collectives=tuple(
            _across_ranks(spans, shared_clock=all(result.shared_clock for result in ranks))
            for spans in _by_collective(order.point, ranks)
        ),
        busy_ns=tuple(map(_busy_ns, ranks)) if order.point.num_layers > 1 else (),
        proof=max((result.proof for result in ranks), key=lambda proof: proof.max_rel_error),
        num_warmup_steps=first.num_warmup_steps,
        stop_rule=first.stop_rule,
        peak_memory_bytes=max(result.peak_memory_bytes for result in ranks),
        quality=tuple(sorted({flag for result in ranks for flag in result.quality})),
        hosts=tuple(result.host for result in ranks if result.host),
        profile=first.profile,
        wall_ns=max(result.wall_ns for result in ranks),
        timed_ns=first.timed_ns,
        control_version=first.control_version,
        pair=pair,
    )


def _by_collective(spec: Measurable, ranks: Sequence[RankResult]) -> Iterable[tuple[Span, ...]]:
    """Bring the spans of each collective together, from all ranks that took part in it."""
    if spec.num_layers == 1:
        return zip(*(result.spans for result in ranks), strict=True)
    every = [span for result in ranks for span in result.spans]
    return [
        tuple(span for span in every if span.where == message.where)
        for message in expected_messages(spec)
    ]


def _busy_ns(result: RankResult) -> tuple[int, ...]:
    """Take from each step what the rank spent in sending and in waiting for what is sent."""
    sent = zip(
        *(zip(span.enter_ns, span.exit_ns, strict=True) for span in result.spans), strict=True
    )
    return tuple(
        step - sum(leave - enter for enter, leave in calls)
        for step, calls in zip(result.passes[Pass.SPLIT].step_ns, sent, strict=True)
    )


def _across_ranks(spans: tuple[Span, ...], *, shared_clock: bool) -> CollectiveTiming:
    """Split each step's collective into wire and wait.

    On one clock: wire = last exit - last entry, wait of a rank = last entry - own entry. Else only
    durations compare: the rank that came last waited for nobody, so the shortest duration is wire
    and what the others' exceed it by is wait (as DeepSpeed's communication logger does).
    """
    enter = list(zip(*(span.enter_ns for span in spans), strict=True))
    leave = list(zip(*(span.exit_ns for span in spans), strict=True))
    if shared_clock:
        wire = [max(out) - max(into) for into, out in zip(enter, leave, strict=True)]
        wait = [max(into) - mean(into) for into in enter]
    else:
        own = [
            [end - begin for begin, end in zip(into, out, strict=True)]
            for into, out in zip(enter, leave, strict=True)
        ]
        wire = [min(durations) for durations in own]
        wait = [mean(durations) - min(durations) for durations in own]
    return CollectiveTiming(
        op=spans[0].op,
        where=spans[0].where,
        message_bytes=spans[0].message_bytes,
        timed_in=spans[0].timed_in,
        wire_ns=tuple(wire),
        wait_ns=tuple(round(value) for value in wait),
    )
