"""What is asked for is never left out of the question."""

from dataclasses import fields

from service.store.result_filter import ResultFilter, about_points, about_results

NAMES = [field.name for field in fields(ResultFilter)]


def test_every_field_becomes_one_condition() -> None:
    for name in NAMES:
        assert len(about_points([name]) + about_results([name])) == 1, name


def test_only_fields_with_a_value_ask_anything() -> None:
    assert ResultFilter().asked == frozenset()
    which = ResultFilter(batches=(1, 2), tag=("commit", "abc"))
    assert which.asked == {"batches", "tag"}
    assert which.parameters == {"batches": (1, 2), "tag_key": "commit", "tag_value": "abc"}
