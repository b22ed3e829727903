"""What a night's judgement changes about the findings of a schedule."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from service.analysis.findings.history import Reading
from service.analysis.findings.nightly import Group, JudgedBy, NightVerdict
from service.analysis.findings.states import Dismissal, FindingState
from service.analysis.findings.tracking import Known, Step, track
from service.store import deliveries, findings
from service.store.history import Night
from service.store.ids import new_id
from service.store.models.finding import FindingRow
from service.store.states import Announcement

DETECTOR = "detector"
"""Who changes the state of findings where no person does."""
ANNOUNCED: Final = {
    FindingState.SUSPECT: Announcement.SUSPECT,
    FindingState.CONFIRMED: Announcement.CONFIRMED,
    FindingState.RECOVERED: Announcement.RECOVERED,
}


@dataclass(frozen=True, slots=True)
class FindingBook:
    """Findings of one schedule and one hardware, as a night changes them."""

    session: Session
    policy: str
    hardware_key: str
    nights: Sequence[Night]
    readings: Sequence[Reading]
    now: datetime

    def enter(self, verdict: NightVerdict) -> list[str]:
        """Write what the night shows; return the findings whose state changed."""
        steps = track(verdict.groups, self._known(), num_nights=len(self.nights))
        return [moved for step in steps if (moved := self._take(step)) is not None]

    def _known(self) -> list[Known]:
        """Findings that began on one of the nights, locked: nobody's decision is written over."""
        numbers = {night.sweep_id: number for number, night in enumerate(self.nights)}
        rows = self.session.scalars(
            select(FindingRow)
            .where(FindingRow.policy == self.policy, FindingRow.hardware_key == self.hardware_key)
            .order_by(FindingRow.id)
            .with_for_update(),
            execution_options={"populate_existing": True},
        )
        return [
            Known(
                id=row.id,
                kind=row.kind,
                state=row.state,
                dismissal=row.dismissal,
                was_confirmed=row.confirmed_at is not None,
                night=numbers[row.night_sweep_id],
                seen=numbers.get(row.judged_sweep_id, 0),
                is_slower=row.effect_relative > 0,
                places=frozenset((one.shift.node, one.shift.case) for one in row.members),
            )
            for row in rows
            if row.night_sweep_id in numbers
        ]

    def _take(self, step: Step) -> str | None:
        values = {} if step.group is None else self._facts(step.group)
        values |= {"state": step.state, "dismissal": step.dismissal}
        if step.id is None:
            finding_id, before = new_id(), None
            base = {"id": finding_id, "created_at": self.now, "changed_at": self.now}
            more = {"policy": self.policy, "hardware_key": self.hardware_key}
            self.session.execute(insert(FindingRow).values({**base, **more, **values}))
        else:
            finding_id, before = step.id, findings.find(self.session, step.id).state
            self._update(finding_id, values)
        if step.state is before:
            return None
        moment: dict[str, object] = {"changed_at": self.now}
        if step.state is FindingState.CONFIRMED:
            moment["confirmed_at"] = self.now
        self._update(finding_id, moment)
        findings.note(
            self.session,
            finding_id,
            step.state,
            reason=step.reason,
            changed_by=DETECTOR,
            now=self.now,
        )
        self._announce(finding_id, step)
        return finding_id

    def _announce(self, finding_id: str, step: Step) -> None:
        """Tell of it once it is confirmed, and of its end; of suspects to those who ask for them.

        What was never confirmed ends in silence, and so does what turns out to be part of another.
        """
        if step.dismissal is Dismissal.WITHDRAWN:
            deliveries.take_back(self.session, finding_id)
        announcement = ANNOUNCED.get(step.state)
        was_confirmed = findings.find(self.session, finding_id).confirmed_at is not None
        if announcement is None or (step.state is FindingState.RECOVERED and not was_confirmed):
            return
        deliveries.announce(self.session, finding_id, announcement, policy=self.policy)

    def _update(self, finding_id: str, values: dict[str, object]) -> None:
        self.session.execute(
            update(FindingRow).where(FindingRow.id == finding_id).values(values),
            execution_options={"synchronize_session": False},
        )

    def _facts(self, group: Group) -> dict[str, object]:
        good = self._last_good(group)
        return {
            "kind": group.kind,
            "cause": group.cause,
            "night_sweep_id": self.nights[group.night].sweep_id,
            "last_good_sweep_id": None if good is None else self.nights[good].sweep_id,
            "judged_sweep_id": self.nights[-1].sweep_id,
            "nodes": group.nodes,
            "cases": group.cases,
            "effect_relative": group.effect_relative,
            "normalised_effect": group.normalised_effect,
            "covariate": group.covariate,
            "members": group.members,
            "judged_by": JudgedBy(),
            "inputs_hash": group.inputs_hash,
        }

    def _last_good(self, group: Group) -> int | None:
        """The newest night before it that measured one of its cases."""
        before = (one.night for one in self._of(group) if one.night < group.night)
        return max(before, default=None)

    def _of(self, group: Group) -> Iterable[Reading]:
        measured = [one for one in self.readings if one.case in group.cases]
        return measured or self.readings  # of a control alone, any case tells the nights
