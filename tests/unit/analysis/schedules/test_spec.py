"""What is wrong with a schedule is said with the field, the value and what would work."""

import pytest
from pydantic import ValidationError

from service.analysis.schedules.spec import ScheduleSpec

ASKED: dict[str, object] = {
    "name": "nightly",
    "cron": "0 2 * * *",
    "sweep": {"models": "pythia-31m", "blocks": "mlp", "tp_degree": 1, "batch": 1},
}


def spec(**changes: object) -> ScheduleSpec:
    return ScheduleSpec.model_validate({**ASKED, **changes})


def test_a_schedule_says_little_and_tags_what_it_starts() -> None:
    found = spec(cron="  0  2 * *  mon-fri ", zone="Europe/Berlin")
    assert found.cron == "0 2 * * mon-fri"
    assert found.started_sweep.tags == {"schedule": "nightly"}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"cron": "0 25 * * *"}, "the hour '25' is not possible; it takes 0-23"),
        ({"cron": "61 2 * * *"}, "the minute '61' is not possible; it takes 0-59"),
        ({"cron": "0 2 * * FUNDAY"}, "the day-of-week 'FUNDAY' is not possible"),
        ({"cron": "0 0 31 2 *"}, "no month '2' has a day '31'"),
        ({"cron": "0 0 32 * *"}, "the day-of-month '32' is not possible"),
        ({"cron": "0 0 * * MON#6"}, "the day-of-week 'MON#6' is not possible"),
        ({"cron": "@daily"}, "1 fields where there are five: minute hour day-of-month"),
        ({"cron": "0 0 2 * * *"}, "6 fields where there are five"),
        ({"cron": ""}, "0 fields"),
        ({"zone": "Europe/Berln"}, "for example: Europe/Berlin"),
        ({"zone": "europe/berlin"}, "for example: Europe/Berlin"),
        ({"zone": "New York"}, "America/New_York"),
        ({"zone": "right/UTC"}, "no such zone"),
        ({"zone": "../etc/passwd"}, "no such zone"),
        ({"zone": ""}, "no such zone"),
        ({"name": "a/b"}, "letters and digits"),
        ({"name": ""}, "letters and digits"),
        ({"jitter_s": 10**6}, "less than or equal to 21600"),
        ({"catch_up": "all"}, "use overlap 'queue'"),
        ({"overlap": "allow"}, "'skip', 'queue' or 'cancel_previous'"),
        ({"sweep": {**ASKED["sweep"], "tags": {"schedule": "x"}}}, "is the service's"),  # type: ignore[dict-item]
        ({"hour": 2}, "Extra inputs"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        spec(**changes)


def test_several_catch_ups_are_taken_where_they_queue() -> None:
    assert spec(catch_up="all", overlap="queue", most_catch_ups=5).most_catch_ups == 5
