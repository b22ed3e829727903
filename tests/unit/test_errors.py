import pickle
from collections.abc import Iterator

import pytest

from service import errors
from service.errors import FieldError, QuotaError, ServiceError


def _all(root: type[ServiceError]) -> Iterator[type[ServiceError]]:
    yield root
    for child in root.__subclasses__():
        yield from _all(child)


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [error.code for error in _all(ServiceError)]
    assert sorted(codes) == sorted(set(codes))


def test_the_tree_at_the_top_of_the_file_names_every_error() -> None:
    drawn = errors.__doc__ or ""
    here = [error.__name__ for error in _all(ServiceError) if error.__module__ == errors.__name__]
    assert [name for name in here if name not in drawn] == []


@pytest.mark.parametrize("error", list(_all(ServiceError)))
def test_every_error_pickles(error: type[ServiceError]) -> None:
    copy = pickle.loads(pickle.dumps(error("no", errors=(FieldError("/a", "b"),))))  # noqa: S301 - our own bytes
    assert (type(copy), str(copy), copy.errors) == (error, "no", (FieldError("/a", "b"),))


def test_the_root_answers_as_a_failure_of_the_service() -> None:
    assert (ServiceError.status, QuotaError.status) == (500, 422)
