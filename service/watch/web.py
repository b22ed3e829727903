"""POSTs a message to where a webhook leads, and to nowhere else."""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

import httpx2

from service.settings import Network
from service.watch.addresses import Resolve, checked, resolve
from service.watch.outcome import DeliveryError

TIMEOUT_S = 5.0
PORTS: Final = {"https": 443, "http": 80}


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    networks: Sequence[Network],
    lookup: Resolve = resolve,
) -> None:
    """Send it. DeliveryError for anything but a 2xx; what is answered is not even read.

    No redirect is followed and no proxy of the environment is used. The certificate is checked for
    the name, while the connection goes to the address that was checked.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
    address, is_named = checked(host, port, networks=networks, lookup=lookup)
    if not is_named and (parts.scheme != "https" or port != PORTS["https"]):
        raise DeliveryError("outside TPSWEEP_WEBHOOK_NETWORKS only https on port 443 is used")
    direct = httpx2.URL(url).copy_with(host=str(address))
    named = {"Host": parts.netloc, "User-Agent": "tpsweep", **headers}
    try:
        with (
            httpx2.Client(trust_env=False, follow_redirects=False, timeout=TIMEOUT_S) as client,
            client.stream(
                "POST", direct, content=body, headers=named, extensions={"sni_hostname": host}
            ) as answer,
        ):
            status = answer.status_code
    except httpx2.HTTPError as error:
        raise DeliveryError(f"{host}: {type(error).__name__}") from None
    if not answer.is_success:
        hint = "; redirects are not followed" if answer.is_redirect else ""
        raise DeliveryError(f"{host} answered {status}{hint}")
