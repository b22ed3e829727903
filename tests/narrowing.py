"""What a trial or a sweep is of, for tests that know it."""

from workers.contract.calibration import AnySweepSpec
from workers.contract.point import PointSpec
from workers.contract.probe import Measurable
from workers.contract.sweep import SweepSpec


def block_of(spec: Measurable) -> PointSpec:
    """The point of a block."""
    assert isinstance(spec, PointSpec)
    return spec


def grid_of(spec: AnySweepSpec) -> SweepSpec:
    """The grid of such points."""
    assert isinstance(spec, SweepSpec)
    return spec
