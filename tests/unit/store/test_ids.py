from uuid import RFC_4122, UUID

from service.store.ids import new_id, new_ids


def test_ids_are_uuids_of_version_7() -> None:
    parsed = UUID(new_id())
    assert (parsed.version, parsed.variant) == (7, RFC_4122)


def test_ids_made_together_ascend_and_none_repeats() -> None:
    ids = new_ids(50_000)
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)


def test_ids_made_later_sort_later() -> None:
    first = new_id()
    while new_id()[:13] == first[:13]:
        """Until the millisecond is over."""
    assert new_id() > first


def test_ids_of_one_moment_differ() -> None:
    assert len({new_id() for _ in range(1000)}) == 1000
