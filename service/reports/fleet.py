"""The fleet at a glance: which nodes are slower than their peers, noisy, flaky or missing."""

from datetime import datetime

from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis.control import NoiseGrade
from service.analysis.findings.history import raw_history_of
from service.analysis.findings.standing import Basis, NodeStanding, standings
from service.errors import NotFoundError
from service.reports.finding import NightReport
from service.store import fingerprints, history, schedules
from service.store.history import Night
from workers.contract.frozen import Frozen
from workers.contract.hardware import Hardware


class NodeStandingReport(Frozen):
    """One node; lists have a value for each night, null where nothing can be said."""

    node: str
    newest_score: float | None = Field(
        description="0.05 is about 5 % slower than its peers, median over cases; of the newest "
        "night that it measured."
    )
    newest_link_score: float | None = Field(description="The same of cases that communicate.")
    noise_grade: NoiseGrade | None = Field(description="A quiet to D, of that night's controls.")
    stands_out: bool = Field(
        description="Slower or faster by over 3 % and 3.5 robust standard deviations on 3 of the "
        "last 5 nights, or by 10 % on the newest."
    )
    link_stands_out: bool = Field(description="The same of its link score.")
    is_flaky: bool = Field(description="Over 5 % of its results are over 4 % above their nights'.")
    missing_since: datetime | None = Field(description="The first night without a result of it.")
    scores: tuple[float | None, ...]
    z: tuple[float | None, ...]
    link_scores: tuple[float | None, ...]
    noise_grades: tuple[NoiseGrade | None, ...]

    @property
    def has_slow_links(self) -> bool:
        """Whether its links stand out, and not by being faster."""
        return self.link_stands_out and (self.newest_link_score or 0) > 0


class FleetReport(Frozen):
    """Nodes of one hardware as the nights of one schedule show them; the slowest first."""

    policy: str = Field(description="Name of the schedule.")
    hardware_key: str
    hardware: Hardware | None
    basis: Basis = Field(
        description="`own_past` where there are fewer than 5 nodes: each is held against its own "
        "nights before."
    )
    nights: tuple[NightReport, ...]
    nodes: tuple[NodeStandingReport, ...]
    sentence: str


def list_all(
    session: Session, *, policy: str | None, num_nights: int, num_graded: int | None = None
) -> tuple[FleetReport, ...]:
    """Of one schedule, or all. NotFoundError where one is named that has measured nothing.

    Noise is graded on every night, or on so many of the newest, for who shows no more.
    """
    names = [policy] if policy is not None else [s.spec.name for s in schedules.list_all(session)]
    found = [
        one
        for name in names
        for one in _of_policy(session, name, num_nights=num_nights, num_graded=num_graded)
    ]
    if policy is not None and not found:
        raise NotFoundError(f"schedule {policy!r} has measured nothing yet")
    return tuple(found)


def _of_policy(
    session: Session, policy: str, *, num_nights: int, num_graded: int | None
) -> list[FleetReport]:
    nights = history.nights(session, policy, limit=num_nights)
    found = []
    by_hardware = history.readings(session, nights, with_versions=False, num_controls=num_graded)
    for hardware_key, readings in sorted(by_hardware.items()):
        judged = standings(raw_history_of(readings, num_nights=len(nights)), readings)
        nodes = [_node(one, nights) for one in judged.nodes]
        nodes.sort(key=lambda one: (-(one.newest_score or 0.0), one.node))
        found.append(
            FleetReport(
                policy=policy,
                hardware_key=hardware_key,
                hardware=fingerprints.hardware(session, hardware_key),
                basis=judged.basis,
                nights=tuple(NightReport(sweep_id=one.sweep_id, at=one.at) for one in nights),
                nodes=tuple(nodes),
                sentence=_sentence(nodes),
            )
        )
    return found


def _node(of: NodeStanding, nights: list[Night]) -> NodeStandingReport:
    last = max((t for t, grade in enumerate(of.score) if grade is not None), default=None)
    return NodeStandingReport(
        node=of.node,
        newest_score=None if last is None else of.score[last],
        newest_link_score=None if last is None else of.link_score[last],
        noise_grade=next((grade for grade in reversed(of.noise_grade) if grade), None),
        stands_out=last is not None and of.stands_out[last],
        link_stands_out=last is not None and of.link_stands_out[last],
        is_flaky=of.is_flaky,
        missing_since=None if of.missing_since is None else nights[of.missing_since].at,
        scores=of.score,
        z=of.z,
        link_scores=of.link_score,
        noise_grades=of.noise_grade,
    )


def _sentence(nodes: list[NodeStandingReport]) -> str:
    named = {
        "slower": [one.node for one in nodes if one.stands_out and (one.newest_score or 0) > 0],
        "slow in communication alone": [
            one.node for one in nodes if one.has_slow_links and not one.stands_out
        ],
        "flaky": [one.node for one in nodes if one.is_flaky],
        "missing": [one.node for one in nodes if one.missing_since is not None],
    }
    said = [f"{what}: {', '.join(names)}" for what, names in named.items() if names]
    count = f"{len(nodes)} {'node' if len(nodes) == 1 else 'nodes'}"
    return f"{count}; {'; '.join(said) or 'none stands out'}"
