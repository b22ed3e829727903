"""Answers that are none, as the failures they stand for."""

import httpx2
from pydantic import ValidationError

from service.cli.failures import RefusedError, ServerFailedError, UnavailableError
from service.cli.wire.problem import Problem

FIRST_SERVER_ERROR, UNAVAILABLE = 500, 503


def refusal_of(response: httpx2.Response) -> RefusedError | ServerFailedError:
    """What the server's problem document says: what is wrong, which field, and what would work."""
    try:
        problem = Problem.model_validate_json(response.content)
    except ValidationError:
        problem = Problem(title=response.reason_phrase, detail=response.text[:500])
    code = f"{problem.code}, " if problem.code else ""
    title = problem.title or "the request was refused"
    lines = [f"{title} ({code}HTTP {response.status_code})"]
    lines += [f"{field.pointer}: {field.detail}" for field in problem.errors] or [problem.detail]
    if response.status_code >= FIRST_SERVER_ERROR:
        if problem.request_id:
            lines.append(f"the server's log names this request {problem.request_id}")
        if response.status_code == UNAVAILABLE:
            return UnavailableError(*lines, retry_after_s=_retry_after_s(response))
        return ServerFailedError(*lines)
    return RefusedError(*lines, code=problem.code)


def _retry_after_s(response: httpx2.Response) -> float:
    """0 where it says none, or a date."""
    told = response.headers.get("Retry-After", "")
    return float(told) if told.isdecimal() else 0.0
