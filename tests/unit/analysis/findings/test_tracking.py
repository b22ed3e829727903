"""What becomes of findings from one night to the next."""

from dataclasses import replace

import pytest

from service.analysis.findings.classify import Cause
from service.analysis.findings.evidence import Evidence, FindingKind, Measure
from service.analysis.findings.fleet import Shift
from service.analysis.findings.nightly import Group
from service.analysis.findings.states import Dismissal, FindingState
from service.analysis.findings.tracking import FRESH_NIGHTS, NIGHTS_OF_DOUBT, Known, track

NIGHTS = 100


def group(
    *cases: str,
    night: int = 90,
    effect: float = 0.05,
    confirmed: bool = True,
    returned: int | None = None,
    kind: FindingKind = FindingKind.LEVEL,
) -> Group:
    members = tuple(
        Evidence(
            kind=kind,
            shift=Shift("a", case, night, effect),
            measure=Measure.RAW,
            is_confirmed=confirmed,
            p=1e-6 if confirmed else None,
            z=None if confirmed else 4.0,
            before=100,
            after=105,
            num_before=40,
            num_after=5,
            returned_night=returned,
        )
        for case in cases
    )
    return Group(
        kind=kind,
        cause=Cause.CODE,
        night=night,
        nodes=("a",),
        cases=cases,
        effect_relative=effect,
        normalised_effect=None,
        covariate=None,
        members=members,
        inputs_hash="",
    )


def known(
    *cases: str,
    id: str = "1",  # noqa: A002 - what it is
    state: FindingState = FindingState.CONFIRMED,
    dismissal: Dismissal | None = None,
    was_confirmed: bool = True,
    night: int = 90,
    seen: int = 91,
    kind: FindingKind = FindingKind.LEVEL,
) -> Known:
    return Known(
        id=id,
        kind=kind,
        state=state,
        dismissal=dismissal,
        was_confirmed=was_confirmed,
        night=night,
        seen=seen,
        is_slower=True,
        places=frozenset(("a", case) for case in cases),
    )


def outcome(groups: list[Group], of: list[Known]) -> list[tuple[str | None, FindingState]]:
    return [(step.id, step.state) for step in track(groups, of, num_nights=NIGHTS)]


def test_a_new_group_is_a_suspect_until_a_series_confirms_it() -> None:
    assert outcome([group("x", confirmed=False)], []) == [(None, FindingState.SUSPECT)]
    assert outcome([group("x")], []) == [(None, FindingState.CONFIRMED)]


def test_what_is_long_past_or_over_already_is_history() -> None:
    assert outcome([group("x", night=NIGHTS - FRESH_NIGHTS - 1)], []) == []
    assert outcome([group("x", returned=95)], []) == []


def test_a_suspect_that_is_confirmed_stays_the_same_finding() -> None:
    suspect = known("x", state=FindingState.SUSPECT, was_confirmed=False)
    assert outcome([group("x", "y", night=91)], [suspect]) == [("1", FindingState.CONFIRMED)]


@pytest.mark.parametrize(
    "other",
    [
        group("y"),
        group("x", night=60),
        group("x", effect=-0.05),
        group("x", kind=FindingKind.DRIFT),
    ],
)
def test_another_place_time_direction_or_kind_is_another_finding(other: Group) -> None:
    assert (None, FindingState.CONFIRMED) in outcome([other], [known("x", night=90)])


@pytest.mark.parametrize(
    "state", [FindingState.CONFIRMED, FindingState.ACKNOWLEDGED, FindingState.FIXED]
)
def test_the_old_level_again_is_a_recovery(state: FindingState) -> None:
    found = outcome([group("x", returned=95)], [known("x", state=state)])
    assert found == [("1", FindingState.RECOVERED)]


def test_parts_of_one_event_become_one_finding() -> None:
    both = [known("x", id="1"), known("y", id="2")]
    steps = track([group("x", "y")], both, num_nights=NIGHTS)
    assert [(one.id, one.state, one.dismissal) for one in steps] == [
        ("1", FindingState.CONFIRMED, None),
        ("2", FindingState.DISMISSED, Dismissal.MERGED),
    ]


def test_changes_of_one_series_a_few_nights_apart_stay_findings_of_their_own() -> None:
    both = [known("x", id="1", night=85), known("x", id="2", night=90)]
    groups = [group("x", night=86), group("x", night=90)]
    assert outcome(groups, both) == [
        ("1", FindingState.CONFIRMED),
        ("2", FindingState.CONFIRMED),
    ]
    assert outcome(groups, both[:1]) == [
        ("1", FindingState.CONFIRMED),
        (None, FindingState.CONFIRMED),
    ]


def test_a_finding_that_falls_apart_goes_on_in_its_larger_part() -> None:
    groups = [group("x"), group("y", "z")]
    assert outcome(groups, [known("x", "y", "z")]) == [
        (None, FindingState.CONFIRMED),
        ("1", FindingState.CONFIRMED),
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (FindingState.SUSPECT, FindingState.RECOVERED),
        (FindingState.CONFIRMED, FindingState.DISMISSED),
    ],
)
def test_what_no_night_shows_any_more_is_over(before: FindingState, after: FindingState) -> None:
    assert outcome([], [known("x", state=before)]) == [("1", after)]


def test_a_level_that_the_newest_nights_left_is_in_doubt_before_it_is_withdrawn() -> None:
    seen = NIGHTS - 1 - NIGHTS_OF_DOUBT
    assert outcome([], [known("x", seen=seen + 1)]) == []
    assert outcome([], [known("x", seen=seen)]) == [("1", FindingState.DISMISSED)]


def test_what_was_withdrawn_too_early_has_recovered() -> None:
    withdrawn = known("x", state=FindingState.DISMISSED, dismissal=Dismissal.WITHDRAWN)
    back = group("x", returned=95)
    assert outcome([back], [withdrawn]) == [("1", FindingState.RECOVERED)]
    decided = replace(withdrawn, dismissal=Dismissal.HARDWARE)
    assert outcome([back], [decided]) == []


@pytest.mark.parametrize("state", [FindingState.ACKNOWLEDGED, FindingState.DISMISSED])
def test_what_people_decided_is_left_to_them(state: FindingState) -> None:
    decided = known("x", state=state, dismissal=Dismissal.FALSE_POSITIVE)
    assert outcome([], [decided]) == []
    if state is FindingState.DISMISSED:
        assert outcome([group("x")], [decided]) == []


@pytest.mark.parametrize(
    "faded",
    [
        known("x", state=FindingState.RECOVERED, was_confirmed=False),
        known("x", state=FindingState.DISMISSED, dismissal=Dismissal.WITHDRAWN),
    ],
)
def test_a_faded_suspicion_can_still_be_confirmed(faded: Known) -> None:
    assert outcome([group("x")], [faded]) == [("1", FindingState.CONFIRMED)]
    assert outcome([group("x", confirmed=False)], [faded]) == []


@pytest.mark.parametrize("kind", [FindingKind.FLAKY, FindingKind.MISSING])
@pytest.mark.parametrize("state", [FindingState.CONFIRMED, FindingState.ACKNOWLEDGED])
def test_a_node_that_is_well_again_has_recovered_whatever_was_decided(
    kind: FindingKind, state: FindingState
) -> None:
    assert outcome([], [known("x", kind=kind, state=state)]) == [("1", FindingState.RECOVERED)]


def test_a_node_that_was_back_for_a_night_is_missing_anew() -> None:
    before = known("x", kind=FindingKind.MISSING, night=90)
    assert outcome([group("x", kind=FindingKind.MISSING, night=90)], [before]) == [
        ("1", FindingState.CONFIRMED)
    ]
    assert outcome([group("x", kind=FindingKind.MISSING, night=92)], [before]) == [
        (None, FindingState.CONFIRMED),
        ("1", FindingState.RECOVERED),
    ]


def test_a_node_about_the_limit_is_not_found_flaky_every_other_night() -> None:
    over = known("x", kind=FindingKind.FLAKY, state=FindingState.RECOVERED, night=60)
    assert outcome([group("x", kind=FindingKind.FLAKY, night=85)], [over]) == []
    later = [(None, FindingState.CONFIRMED)]
    assert outcome([group("x", kind=FindingKind.FLAKY, night=95)], [over]) == later


def test_nothing_happens_to_a_finding_twice() -> None:
    steps = track([group("x"), replace(group("x"), night=92)], [known("x")], num_nights=NIGHTS)
    ids = [step.id for step in steps if step.id is not None]
    assert ids == ["1"]
