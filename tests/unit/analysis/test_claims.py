"""Every claim against the figures that were re-derived from the articles by hand."""

import shlex
from pathlib import Path

import pytest

from service.analysis.claims.claim import Claim, Verdict
from service.analysis.claims.computed import computed_claims
from service.cli.lazy import COMMANDS

ROOT = Path(__file__).parents[3]
CLAIMS = {claim.number: claim for claim in computed_claims()}

# number, figures, verdict
RE_DERIVED: list[tuple[int, tuple[float, ...], Verdict]] = [
    (1, (1, 1, 2), Verdict.HOLDS),
    (2, (1, 1, 2), Verdict.HOLDS),
    (3, (4, 2, 160), Verdict.HOLDS),
    (5, (280, 280, 560, 1120), Verdict.HOLDS),
    (6, (140,), Verdict.DOES_NOT_FOLLOW),
    (7, (350, 245, 192.5, 140), Verdict.DOES_NOT_FOLLOW),
    (8, (0.875,), Verdict.HOLDS),
    (9, (2, 4, 8), Verdict.IN_PART),
    (10, (1.0, 1.5, 1.75, 1.875), Verdict.HOLDS),
    (11, (1.5,), Verdict.HOLDS),
    (12, (4.295, 7.16, 171.8, 14.3, 12), Verdict.DOES_NOT_FOLLOW),
    (13, (676.6, 0.979, 0.959, 0.663), Verdict.IN_PART),
    (14, (16384, 24576, 0.0819), Verdict.HOLDS),
    (15, (10.49, 98.3), Verdict.HOLDS),
    (16, (), Verdict.DEPENDS),
    (17, (4.194, 11.3, 33.8), Verdict.IN_PART),
    (18, (33.8,), Verdict.DEPENDS),
    (19, (55.1, 83.9, 443.9, 0.159), Verdict.DOES_NOT_FOLLOW),
    (20, (), Verdict.DEPENDS),
    (21, (0.099,), Verdict.IN_PART),
    (22, (300, 450, 64, 32, 25), Verdict.HOLDS),
    (23, (9.4, 4.7), Verdict.DEPENDS),
    (24, (), Verdict.DEPENDS),
    (25, (0.15,), Verdict.DEPENDS),
    (26, (), Verdict.DEPENDS),
    (27, (), Verdict.DEPENDS),
    (29, (0.167, 0.071), Verdict.HOLDS),
    (30, (7.0, 12, 18), Verdict.HOLDS),
]


def test_there_are_thirty_claims_in_order() -> None:
    assert [claim.number for claim in computed_claims()] == list(range(1, 31))


@pytest.mark.parametrize(("number", "figures", "verdict"), RE_DERIVED)
def test_figures_are_the_re_derived_ones(
    number: int, figures: tuple[float, ...], verdict: Verdict
) -> None:
    assert CLAIMS[number].figures == pytest.approx(figures, rel=0.007)
    assert CLAIMS[number].verdict is verdict


def test_other_arrangements_send_more_or_the_same_in_more_calls() -> None:
    column_column, row_column, row_row, parallel, kept = CLAIMS[4].figures
    assert min(column_column, row_column, row_row) > 2
    assert parallel == 1
    assert kept < 1


def test_tensor_parallelism_alone_leaves_more_than_its_share_of_activations() -> None:
    (share,) = CLAIMS[28].figures
    assert 0.25 < share < 0.6
    assert CLAIMS[28].verdict is Verdict.DOES_NOT_FOLLOW


@pytest.mark.parametrize("claim", computed_claims(), ids=lambda claim: str(claim.number))
def test_command_that_shows_it_is_one_of_ours_and_a_sweep_that_can_be_submitted(
    claim: Claim,
) -> None:
    words = shlex.split(claim.command)
    if words[0].startswith("./deploy/"):
        assert (ROOT / words[0]).is_file()
        return
    assert words[words.index("tpsweep") + 1].rstrip(";") in COMMANDS
    if words[0] == "echo":
        assert claim.measured_by is not None
        assert claim.measured_by.expand().points
