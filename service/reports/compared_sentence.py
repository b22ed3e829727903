"""What a comparison comes to, in one sentence."""

from collections.abc import Mapping

from service.analysis.comparison import Verdict
from service.reports.compared import RatioReport
from service.reports.sentences import could_be_found

BY_TURNS = "; the same trials measured both by turns, and each one's own ratio is what counts"


def sentence(
    overall: RatioReport | None,
    counts: Mapping[Verdict, int],
    *,
    tolerance: float,
    is_interleaved: bool,
) -> str:
    """Say the overall verdict, how sure it is, and what it rests on."""
    if overall is None:
        return "no point was measured on both sides on the same hardware: nothing to compare"
    known = ""
    if overall.ci_low is not None and overall.ci_high is not None:
        known = f" ({overall.ci_low:.3f} to {overall.ci_high:.3f})"
    parts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    total = sum(counts.values())
    return (
        f"{overall.verdict}: step time is {overall.ratio:.3f}{known} of the baseline's over "
        f"{total} {'point' if total == 1 else 'points'}: {parts} (tolerance {tolerance:.0%})"
        + (BY_TURNS if is_interleaved else _about_the_host(overall, tolerance=tolerance))
        + _what_could_be_found(overall)
    )


def _about_the_host(overall: RatioReport, *, tolerance: float) -> str:
    if overall.normalised_ratio is None:
        return "; without a control on both sides a change of the host may be part of it"
    told = f"; normalised by the control {_known(overall.normalised_ratio, overall)}"
    host = overall.ratio / overall.normalised_ratio
    if 1 - tolerance <= host <= 1 + tolerance:
        return told
    return f"{told}; the host alone, as the control shows it, changed by a factor of {host:.2f}"


def _known(normalised: float, overall: RatioReport) -> str:
    low, high = overall.normalised_ci_low, overall.normalised_ci_high
    if low is None or high is None:
        return f"{normalised:.3f}"
    return f"{normalised:.3f} ({low:.3f} to {high:.3f}, {high - low:.0%} wide)"


def _what_could_be_found(overall: RatioReport) -> str:
    if overall.verdict is not Verdict.INCONCLUSIVE or overall.detectable is None:
        return ""
    return f"; {could_be_found(overall.detectable)}"
