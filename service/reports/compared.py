"""The object types of a comparison, as HTTP answers them and the CLI prints them."""

from pydantic import Field

from service.analysis.comparison import Ratio, Verdict
from service.reports.covariates import Difference
from workers.contract.frozen import Frozen
from workers.contract.point import PointSpec


class RatioReport(Frozen):
    """Candidate over baseline step time; below 1 is faster."""

    ratio: float
    ci_low: float | None = Field(
        description="95 % interval over replicates, as measured and normalised; null with one."
    )
    ci_high: float | None
    p: float | None = Field(
        description="Of a change beyond the tolerance; for a point, after correction for the "
        "number of points (Benjamini-Hochberg)."
    )
    normalised_ratio: float | None = Field(
        description="The ratio with the host's slowdown, as the control shows it, taken out of "
        "both sides; null without a control on both, and where the same trials measured both. The "
        "interval and p are of both ratios."
    )
    normalised_ci_low: float | None = Field(
        description="95 % interval of the normalised ratio alone."
    )
    normalised_ci_high: float | None
    detectable: float | None = Field(
        description="Relative change that as many such replicates would show with 95 % "
        "probability; null where none can be promised."
    )
    verdict: Verdict

    @classmethod
    def of(cls, ratio: Ratio) -> "RatioReport":
        """Publish a ratio."""
        return RatioReport(
            ratio=ratio.value,
            ci_low=ratio.low,
            ci_high=ratio.high,
            p=ratio.p,
            normalised_ratio=ratio.normalised,
            normalised_ci_low=ratio.normalised_low,
            normalised_ci_high=ratio.normalised_high,
            detectable=ratio.detectable,
            verdict=ratio.verdict,
        )


class SideReport(Frozen):
    """One of the two sides at one point."""

    point_ids: tuple[str, ...]
    step_time_us: float = Field(description="Median over trials.")
    n: int = Field(description="Trials.")
    num_sweeps: int = Field(
        description="Sweeps that they are of: with several, the spread between them counts too."
    )
    quality: tuple[str, ...] = Field(description="Flags of any trial.")


class ComparedPoint(RatioReport):
    """A point that both sides measured on the same kind of hardware."""

    spec: PointSpec
    spec_key: str
    hardware_key: str
    baseline: SideReport
    candidate: SideReport
    quality: tuple[str, ...] = Field(description="Flags of any trial on either side.")


class UnmatchedPoint(Frozen):
    """A point that only one side measured."""

    point_id: str
    spec: PointSpec
    spec_key: str
    hardware_key: str


class Coverage(Frozen):
    """How many points are on which side."""

    common: int
    only_baseline: int
    only_candidate: int
    failed_baseline: int = Field(description="Points whose trials failed and gave no result.")
    failed_candidate: int


class ComparisonReport(Frozen):
    """Baseline against candidate, point by point and over all."""

    baseline: str
    candidate: str
    tolerance: float
    overall: RatioReport | None = Field(
        description="Geometric mean over the matched points; null without any."
    )
    counts: dict[Verdict, int] = Field(description="Matched points by verdict.")
    points: tuple[ComparedPoint, ...]
    unmatched_baseline: tuple[UnmatchedPoint, ...]
    unmatched_candidate: tuple[UnmatchedPoint, ...]
    failed_baseline: tuple[UnmatchedPoint, ...] = ()
    failed_candidate: tuple[UnmatchedPoint, ...] = ()
    coverage: Coverage
    differences: tuple[Difference, ...] = Field(
        description="What else differs between the sides: versions, nodes, settings."
    )
    allowed_different: tuple[str, ...] = Field(
        description="Fields of the points' identity that may differ; matched by all others."
    )
    is_interleaved: bool = Field(
        description="Whether the same trials measured both sides by turns, so that a change of "
        "the host falls on both: what is judged is then the ratio of twin steps in each trial. "
        "`/v1/sweeps/{id}/pairs` judges the parts of the step too."
    )
    sentence: str
