"""What a schedule is asked to do, and what is wrong with it where something is."""

import difflib
import re
import zoneinfo
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Self

from cronsim import CronSim, CronSimError
from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
    StrictInt,
    StringConstraints,
    model_validator,
)

from service.analysis.schedules.tags import AA_TAG, OWN_TAGS, TAG
from workers.contract.frozen import Frozen, Label
from workers.contract.pair import Pair, PairAxis
from workers.contract.point import PointSpec
from workers.contract.sweep import SweepSpec

DAY = "day-of-month"
FIELDS = {
    "minute": "0-59",
    "hour": "0-23",
    DAY: "1-31 or L",
    "month": "1-12 or JAN-DEC",
    "day-of-week": "0-7 or SUN-SAT",
}
NAME = "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
NAME_IN_WORDS = "letters and digits, after the first also . _ -"
LONGEST_JITTER_S = 6 * 3600
MOST_CATCH_UPS = 50
MOST_TAGS = 50
FEWEST_AA_GROUPS = 3

_EXAMPLE = "'0 2 * * *' is every night at 02:00"
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def _check_cron(cron: str) -> str:
    parts = cron.split()
    if len(parts) != len(FIELDS):
        named = " ".join(FIELDS)
        raise ValueError(f"{len(parts)} fields where there are five: {named}; {_EXAMPLE}")
    try:
        first = next(CronSim(cron, _LONG_AGO), None)
    except CronSimError as error:
        raise ValueError(_wrong_field(parts, str(error))) from None
    if first is None:
        raise ValueError(f"no day ever fits; {_EXAMPLE}")
    return " ".join(parts)


def _wrong_field(parts: list[str], message: str) -> str:
    name = message.removeprefix("Bad ")
    value = dict(zip(FIELDS, parts, strict=True)).get(name)
    if value is None:
        return f"{message}; {_EXAMPLE}"
    if name == DAY and _is_cron([*parts[:3], "*", parts[4]]):
        return f"no month {parts[3]!r} has a day {value!r}; {_EXAMPLE}"
    forms = "*, a-b, a,b and */n"
    return f"the {name} {value!r} is not possible; it takes {FIELDS[name]} with {forms}; {_EXAMPLE}"


def _is_cron(parts: list[str]) -> bool:
    try:
        CronSim(" ".join(parts), _LONG_AGO)
    except CronSimError:
        return False
    return True


def _check_zone(zone: str) -> str:
    known = zoneinfo.available_timezones()
    if zone in known:
        return zone
    by_fold = {name.casefold(): name for name in known}
    places = {name.rpartition("/")[2].casefold(): name for name in sorted(known, reverse=True)}
    wanted = re.sub(r"\s+", "_", zone.strip()).casefold()
    near = [
        table[match]
        for table in (by_fold, places)
        for match in difflib.get_close_matches(wanted, table, n=3, cutoff=0.7)
    ]
    hint = ", ".join(list(dict.fromkeys(near))[:3]) or "Europe/Berlin, America/New_York, UTC"
    raise ValueError(f"no such zone in the IANA database; there are for example: {hint}")


def _check_name(name: str) -> str:
    if re.fullmatch(NAME, name):
        return name
    raise ValueError(f"a name is {NAME_IN_WORDS}, at most 100 characters; nightly-h100 would do")


Cron = Annotated[str, StringConstraints(max_length=200), AfterValidator(_check_cron)]
Zone = Annotated[str, StringConstraints(max_length=100), AfterValidator(_check_zone)]
Name = Annotated[str, AfterValidator(_check_name), Field(json_schema_extra={"pattern": NAME})]
"""A name that fits into a path."""


class CatchUp(StrEnum):
    """What becomes of starts that were missed while nothing could start them."""

    SKIP = "skip"
    LATEST = "latest"
    ALL = "all"


class Overlap(StrEnum):
    """What becomes of a start while a sweep of the same schedule is not over."""

    SKIP = "skip"
    QUEUE = "queue"
    CANCEL_PREVIOUS = "cancel_previous"


class ScheduleSpec(Frozen):
    """A sweep that is measured again and again."""

    name: Name = Field(description=NAME_IN_WORDS.capitalize() + ".")
    cron: Cron = Field(description="Minute, hour, day of month, month, day of week.")
    zone: Zone = Field(default="UTC", description="IANA name; daylight saving is followed.")
    sweep: SweepSpec
    baseline: Label | None = Field(
        default=None, description="Name of the baseline that its sweeps are to be held against."
    )
    catch_up: CatchUp = CatchUp.LATEST
    most_catch_ups: StrictInt = Field(
        default=3, ge=1, le=MOST_CATCH_UPS, description="With `all`: the newest so many."
    )
    overlap: Overlap = Overlap.SKIP
    jitter_s: StrictInt = Field(
        default=0,
        ge=0,
        le=LONGEST_JITTER_S,
        description="Every start is put off by a fixed part of this, chosen by a hash of the id.",
    )

    aa_control: StrictBool = Field(
        default=False,
        description="Also measure its first point twice by turns each time, as a sweep of its own: "
        "what the instrument says where nothing differs.",
    )

    @model_validator(mode="after")
    def _several_at_once_have_to_queue(self) -> Self:
        if self.catch_up is CatchUp.ALL and self.overlap is not Overlap.QUEUE:
            raise ValueError(
                f"catch_up 'all' starts several at once, and overlap {self.overlap.value!r} leaves "
                "one of them; use overlap 'queue', or catch_up 'latest'"
            )
        return self

    @model_validator(mode="after")
    def _tag_is_the_schedules(self) -> Self:
        for own in OWN_TAGS:
            if own in self.sweep.tags:
                raise ValueError(f"the tag {own!r} of the sweep is the service's; leave it out")
        if len(self.sweep.tags) >= MOST_TAGS:
            raise ValueError(
                f"the sweep has {len(self.sweep.tags)} tags; {MOST_TAGS - 1} leave room for "
                f"{TAG!r}, which is added"
            )
        return self

    def aa_sweep(self, point: PointSpec) -> SweepSpec:
        """Return the sweep that measures a point of this one twice by turns."""
        return SweepSpec(
            name=f"A/A control of {self.name}",
            models=(point.model,),
            blocks=(point.block,),
            arrangement=(point.arrangement,),
            phase=(point.phase,),
            tp_degree=(point.tp_degree,),
            batch=(point.batch,),
            seq=(point.seq,),
            dtype=(point.dtype,),
            collective_impl=(point.collective_impl,),
            overlap=(point.overlap,),
            launch=(point.launch,),
            pair=Pair(axis=PairAxis.SAME),
            replicates=max(FEWEST_AA_GROUPS, self.sweep.replicates),
            sampling=self.sweep.sampling,
            where=self.sweep.where,
            priority=self.sweep.priority,
            tags={AA_TAG: self.name},
        )

    @property
    def started_sweep(self) -> SweepSpec:
        """What one start measures."""
        return self.sweep.model_copy(update={"tags": {**self.sweep.tags, TAG: self.name}})
