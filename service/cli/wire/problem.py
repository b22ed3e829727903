from service.cli.wire.base import Wire


class ProblemField(Wire):
    """One thing wrong with a request."""

    pointer: str = ""
    detail: str = ""


class Problem(Wire):
    """An error as RFC 9457 has it."""

    title: str = ""
    detail: str = ""
    code: str = ""
    request_id: str = ""
    errors: tuple[ProblemField, ...] = ()
