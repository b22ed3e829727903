"""POSTs a message to where a webhook leads, and to nowhere else."""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

import anyio
import httpx2

from service.reports.addresses import AddressError, Resolve, reachable, resolve
from service.settings import Network
from service.watch.outcome import DeliveryError

DEADLINE_S: Final = 10.0
"""For all of it, whatever comes of it byte by byte."""


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    networks: Sequence[Network],
    lookup: Resolve = resolve,
    deadline_s: float = DEADLINE_S,
) -> None:
    """Send it. DeliveryError for anything but a 2xx; what is answered is not even read.

    No redirect is followed and no proxy of the environment is used. The certificate is checked for
    the name, while the connection goes to the address that was checked.
    """
    try:
        address = reachable(url, networks=networks, lookup=lookup)
    except AddressError as error:
        raise DeliveryError(str(error)) from None
    parts = urlsplit(url)
    request = httpx2.Request(
        "POST",
        httpx2.URL(url).copy_with(host=str(address)),
        content=body,
        headers={"Host": parts.netloc, "User-Agent": "tpsweep", **headers},
        extensions={"sni_hostname": parts.hostname},
    )
    try:
        answer = anyio.run(_answer, request, deadline_s)
    except TimeoutError:
        raise DeliveryError(f"{parts.hostname} took more than {deadline_s:g} s") from None
    except httpx2.HTTPError as error:
        raise DeliveryError(f"{parts.hostname}: {type(error).__name__}") from None
    if not answer.is_success:
        hint = "; redirects are not followed" if answer.is_redirect else ""
        raise DeliveryError(f"{parts.hostname} answered {answer.status_code}{hint}")


async def _answer(request: httpx2.Request, deadline_s: float) -> httpx2.Response:
    """Its head; TimeoutError at the deadline. An event loop is what can end a read half way."""
    with anyio.fail_after(deadline_s):
        async with httpx2.AsyncClient(trust_env=False, timeout=None) as client:
            answer = await client.send(request, stream=True, follow_redirects=False)
            await answer.aclose()
            return answer
