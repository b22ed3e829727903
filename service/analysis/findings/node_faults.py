"""What is wrong with a node although none of its levels changed: it is flaky, or gone.

Both are told against peers: without any, a node cannot be told from its night.
"""

from collections.abc import Iterator

import numpy as np

from service.analysis.changepoints.robust import Values, median
from service.analysis.findings.absence import absences
from service.analysis.findings.evidence import LEVEL_NIGHTS, Evidence, FindingKind, Measure
from service.analysis.findings.fleet import Shift
from service.analysis.findings.history import History
from service.analysis.findings.scores import residuals, unsteadiness
from service.analysis.findings.times import Times, times_of

FLAKY_NIGHTS = 30
"""The newest so many say whether a node is flaky."""
UNUSUAL_ABSENCE, CONFIRMED_ABSENCE = 0.05, 1e-3
"""Largest chance of nights without a node that make it suspect, and that confirm it."""


def node_faults(history: History) -> list[Evidence]:
    """Every case of the nodes that are flaky or missing."""
    times = times_of(history)
    return [*_flaky(times), *_missing(times)]


def _flaky(times: Times) -> Iterator[Evidence]:
    found = unsteadiness(residuals(times.us)[:, :, -FLAKY_NIGHTS:])
    first = times.us.shape[2] - found.excess.shape[2]
    for i in np.flatnonzero(found.is_flaky() & ~np.isnan(found.p)):
        for j in np.flatnonzero(found.is_wild[i].any(axis=1)):
            wild, excess = found.is_wild[i, j], found.excess[i, j]
            us = times.us[i, j, first:]
            usual = us[~wild & ~np.isnan(us)]
            night = first + int(np.argmax(wild))
            effect = float(np.expm1(median(excess[wild])))
            yield Evidence(
                kind=FindingKind.FLAKY,
                shift=Shift(times.nodes[i], times.cases[j], night, effect),
                measure=Measure.RAW,
                is_confirmed=True,
                p=float(found.p[i]),
                z=None,
                before=median(usual) if usual.size else None,
                after=median(us[wild]),
                num_before=usual.size,
                num_after=int(wild.sum()),
            )


def _missing(times: Times) -> Iterator[Evidence]:
    for i, gone in enumerate(absences(times.us)):
        if gone is None or gone.p > UNUSUAL_ABSENCE:
            continue
        is_confirmed = gone.p <= CONFIRMED_ABSENCE
        for j, case in enumerate(times.cases):
            us = _known(times.us[i, j])
            if not us.size:
                continue
            yield Evidence(
                kind=FindingKind.MISSING,
                shift=Shift(times.nodes[i], case, gone.since, 1.0),
                measure=Measure.RAW,
                is_confirmed=is_confirmed,
                p=gone.p if is_confirmed else None,
                z=None,
                before=median(us[-LEVEL_NIGHTS:]),
                after=None,
                num_before=gone.num_before,
                num_after=gone.num_nights,
            )


def _known(values: Values) -> Values:
    return values[~np.isnan(values)]
