"""Errors of the control plane. Each leaf has a stable `code` and the HTTP status it answers with.

ServiceError
├── InvalidRequestError           what was sent does not say what the service understands
│   ├── InvalidSpecError          a sweep that can not be measured as it is
│   ├── QuotaError                more than one request may ask for
│   ├── InvalidCursorError        a page that this list never handed out
│   ├── IdempotencyMismatchError  a key used before with another body
│   ├── UnreadableFileError       a file in a body that is not what the route reads
│   └── NotComparableError        two sides that were not asked the same
├── MalformedBodyError            the body is not JSON
├── BodyTooLargeError
├── MediaTypeError
├── UnauthorizedError             nobody the service knows
├── ForbiddenError                somebody it knows, who may not do this
├── NotFoundError
├── ConflictError                 the resource is in a state that does not allow it
│   └── LeaseLostError            a newer attempt owns the trial
├── BusyError                     come back later
├── UnavailableError              a part of the service is not ready
└── NotInstalledError             a part that is optional is not there
"""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with a request: where it is (a JSON pointer, or `?name`) and what it is."""

    pointer: str
    detail: str


class ServiceError(Exception):
    """Root of everything the control plane raises on purpose; never raised itself."""

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "The service failed"

    def __init__(self, detail: str, *, errors: tuple[FieldError, ...] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = errors

    def __reduce__(self) -> tuple[object, tuple[type["ServiceError"], str, tuple[FieldError, ...]]]:
        return _rebuild, (type(self), self.detail, self.errors)


def _rebuild(leaf: type[ServiceError], detail: str, errors: tuple[FieldError, ...]) -> ServiceError:
    return leaf(detail, errors=errors)


class InvalidRequestError(ServiceError):
    """The request's fields or parameters are wrong. Example: `limit=0`."""

    code = "invalid_request"
    status = 422
    title = "The request is not valid"


class InvalidSpecError(InvalidRequestError):
    """Nothing of the sweep can be measured. Example: a tp_degree that no model divides by."""

    code = "nothing_to_measure"
    title = "Nothing of this sweep can be measured"


class QuotaError(InvalidRequestError):
    """More points than one sweep may have."""

    code = "quota_exceeded"
    title = "The sweep is too large"


class InvalidCursorError(InvalidRequestError):
    """A cursor that was not handed out by the list it is given to."""

    code = "invalid_cursor"
    title = "The cursor is not valid"


class IdempotencyMismatchError(InvalidRequestError):
    """An Idempotency-Key seen before, with another body."""

    code = "idempotency_mismatch"
    title = "The idempotency key was used for another request"


class UnreadableFileError(InvalidRequestError):
    """A file that another program wrote holds nothing of use. Example: no row of nccl-tests."""

    code = "unreadable_file"
    title = "The file cannot be read"


class NotComparableError(InvalidRequestError):
    """Two sides whose points differ in what they are. Example: float32 against bfloat16."""

    code = "not_comparable"
    title = "The two sides do not compare"


class MalformedBodyError(ServiceError):
    """The body can not be parsed. Example: NaN, which JSON does not have."""

    code = "malformed_json"
    status = 400
    title = "The body is not valid JSON"


class BodyTooLargeError(ServiceError):
    """More bytes than a request body may have."""

    code = "body_too_large"
    status = 413
    title = "The body is too large"


class MediaTypeError(ServiceError):
    """A body of a type that the route does not take. Example: a form."""

    code = "unsupported_media_type"
    status = 415
    title = "The content type is not supported"


class UnauthorizedError(ServiceError):
    """No token, or none that is valid now."""

    code = "unauthorized"
    status = 401
    title = "A valid token is needed"


class ForbiddenError(ServiceError):
    """The caller is known and may not do this."""

    code = "forbidden"
    status = 403
    title = "This is not allowed"


class NotFoundError(ServiceError):
    """No such resource."""

    code = "not_found"
    status = 404
    title = "There is no such thing"


class ConflictError(ServiceError):
    """The resource's state does not allow it. Example: retrying a sweep in which nothing failed."""

    code = "conflict"
    status = 409
    title = "The state does not allow this"


class LeaseLostError(ConflictError):
    """A newer attempt owns the trial: its result is to be discarded."""

    code = "lease_lost"
    title = "The lease is lost"


class BusyError(ServiceError):
    """A cap on what runs at once is reached."""

    code = "too_many_streams"
    status = 429
    title = "Too many at once"


class UnavailableError(ServiceError):
    """A part that the request needs is not there now. Example: the database does not answer."""

    code = "unavailable"
    status = 503
    title = "The service is not ready"


class NotInstalledError(ServiceError):
    """An optional package that the request needs. Example: pyarrow, which writes Parquet."""

    code = "not_installed"
    status = 501
    title = "This server cannot do that as it is installed"
