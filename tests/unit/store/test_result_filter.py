"""What is asked for is never left out of the question."""

from dataclasses import fields

from service.store.result_filter import ResultFilter, Version, about_points, about_results

ASKED = [
    *(field.name for field in fields(ResultFilter) if field.name != "versions"),
    *(f"version_of_{name}" for name in Version),
]


def test_every_field_becomes_one_condition() -> None:
    for name in ASKED:
        assert len(about_points([name]) + about_results([name])) == 1, name


def test_only_fields_with_a_value_ask_anything() -> None:
    assert ResultFilter().asked == frozenset()
    tags = (("commit", "abc"), ("night", "1"))
    which = ResultFilter(batches=(1, 2), tags=tags, versions=((Version.NCCL, "2.27.3"),))
    assert which.asked == {"batches", "tags", "versions", "version_of_nccl"}
    assert which.parameters == {
        "batches": (1, 2),
        "tags": tags,
        "num_tags": 2,
        "version_of_nccl": "2.27.3",
    }
