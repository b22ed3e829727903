"""Which points of a case are read, against every point there is."""

from collections import defaultdict

from service.store.cases import newest_points
from service.store.engine import Sessions
from service.store.result_filter import ResultFilter
from service.store.results import measured
from tests.integration.store.builders import run_all, submit, sweep_spec

EACH = 2


def test_of_each_case_that_is_asked_for_the_newest_points_with_a_result_are_found(
    sessions: Sessions,
) -> None:
    for degrees in ((1, 2), (1,), (1, 2), (2, 4)):
        submit(sessions, sweep_spec(batches=1, degrees=degrees, replicates=2))
        run_all(sessions)
    submit(sessions, sweep_spec(batches=1, degrees=(1, 2)))
    with sessions.reading() as session:
        points: dict[str, set[str]] = defaultdict(set)
        for trial in measured(session, ResultFilter()):
            points[trial.spec_key].add(trial.point_id)
        asked = [key for key in points if len(points[key]) > EACH]
        assert len(asked) == 2
        found = newest_points(session, ResultFilter(), asked, each=EACH)
        nowhere = newest_points(session, ResultFilter(hardware_keys=("h1:x",)), asked, each=EACH)
    assert nowhere == ()
    assert sorted(found) == sorted(one for key in asked for one in sorted(points[key])[-EACH:])
