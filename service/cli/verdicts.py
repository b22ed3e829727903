"""Ratios and what may be said of them, as a person reads them."""

from service.cli.wire.comparison import Ratio

SLOWER, INCONCLUSIVE = "slower", "inconclusive"
STYLES = {"faster": "green", SLOWER: "bold red", INCONCLUSIVE: "yellow"}


def ratio_with_interval(ratio: Ratio) -> str:
    """The ratio, and its 95 % interval where there is one."""
    if ratio.ci_low is None or ratio.ci_high is None:
        return f"{ratio.ratio:.3f}"
    return f"{ratio.ratio:.3f} [{ratio.ci_low:.3f}, {ratio.ci_high:.3f}]"
