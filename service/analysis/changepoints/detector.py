"""Judges a series of nights; pure, and without a random number, so that it can be repeated.

Tier 1 names nights that look wrong the same night, to be measured again. Tier 2 confirms changes of
level, drift and changes of spread, and takes a few nights to do so.
"""

from collections.abc import Sequence

from service.analysis.changepoints.judgement import judge
from service.analysis.changepoints.ledger import Ledger, Reported
from service.analysis.changepoints.parameters import DEFAULTS, Parameters
from service.analysis.changepoints.series import Series
from service.analysis.changepoints.suspects import find_suspects
from service.analysis.changepoints.telling import tell, tell_too_few
from service.analysis.changepoints.verdict import Verdict


def detect(values: Sequence[float | None], parameters: Parameters = DEFAULTS) -> Verdict:
    """Judge the whole series at once. None and NaN are nights without a value.

    Values are finite and at most 1e150 in size, so that their squares are too.
    """
    series = Series.of(values)
    suspects = find_suspects(series, parameters)
    if len(series) < parameters.fewest_points:
        return tell_too_few(series, suspects, parameters)
    found = judge(series, parameters)
    ledger = Ledger(
        changes=tuple(Reported(change, None) for change in found.regimes.changes),
        drift=None if found.drift is None else Reported(found.drift, None),
        dispersion=None if found.dispersion is None else Reported(found.dispersion, None),
    )
    return tell(found, ledger, suspects, parameters)


def replay(values: Sequence[float | None], parameters: Parameters = DEFAULTS) -> Verdict:
    """Judge the series as it was each night, and tell which night first told of each finding.

    What was reported stays, also where later nights withdrew it; its place is the last one found.
    """
    series = Series.of(values)
    suspects = find_suspects(series, parameters)
    if len(series) < parameters.fewest_points:
        return tell_too_few(series, suspects, parameters)
    ledger = Ledger()
    for end in range(parameters.fewest_points, len(series) + 1):
        first = max(0, end - parameters.replay_nights)
        found = judge(series.between(first, end), parameters)
        settled = first and first + parameters.nights_per_side
        night = int(series.nights[end - 1])
        ledger = ledger.with_night(found, night=night, first=first, settled=settled)
    return tell(judge(series, parameters), ledger, suspects, parameters)
