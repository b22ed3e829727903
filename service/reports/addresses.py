"""Which addresses a webhook may reach: public ones, and internal ones that the settings name.

A name is resolved when a webhook is created and at each delivery, all its addresses must be
allowed, and the connection goes to one that was checked: a name that answers differently the next
time (DNS rebinding) gains nothing.
"""

import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final
from urllib.parse import urlsplit

from service.settings import Network

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Sequence[str]]
"""From a host name and a port to addresses; OSError where there are none."""

PORTS: Final = {"https": 443, "http": 80}
LOOKUP_S: Final = 3.0

_GIVEN_OUT: Final = IPv6Network("2000::/3")
"""Holds every public IPv6 address (RFC 4291), and not NAT64, which leads to any IPv4 address."""


class AddressError(Exception):
    """Nothing is sent there; the text says why in our words."""


class UnresolvedError(AddressError):
    """The name has no address, here and now."""


def resolve(host: str, port: int) -> list[str]:
    """Ask the system, which may take its time. OSError where it has no answer in `LOOKUP_S`."""
    answers: SimpleQueue[list[str] | Exception] = SimpleQueue()
    Thread(target=_ask, args=(host, port, answers), daemon=True).start()
    try:
        answer = answers.get(timeout=LOOKUP_S)
    except Empty:
        raise TimeoutError(f"no answer in {LOOKUP_S} s") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def reachable(url: str, *, networks: Sequence[Network], lookup: Resolve = resolve) -> Address:
    """Return the address that a message to the URL goes to.

    AddressError where it may go to none; UnresolvedError where the host's name has no address.
    """
    parts = urlsplit(url)
    port = parts.port or PORTS[parts.scheme]
    address, is_named = checked(parts.hostname or "", port, networks=networks, lookup=lookup)
    if not is_named and (parts.scheme != "https" or port != PORTS["https"]):
        raise AddressError("outside TPSWEEP_WEBHOOK_NETWORKS only https on port 443 is used")
    return address


def checked(
    host: str, port: int, *, networks: Sequence[Network], lookup: Resolve = resolve
) -> tuple[Address, bool]:
    """Return an address to connect to, and whether it is in one of the networks.

    AddressError where there is none, or where any of them is neither public nor in `networks`.
    """
    try:
        found = [_parsed(text) for text in lookup(host, port)]
    except (OSError, UnicodeError):
        raise UnresolvedError(f"{host} cannot be resolved") from None
    if not found:
        raise UnresolvedError(f"{host} has no address")
    inside = [any(address in network for network in networks) for address in found]
    for address, is_named in zip(found, inside, strict=True):
        if not is_named and not _is_public(address):
            raise AddressError(
                f"{host} leads to {address}, which is not public; TPSWEEP_WEBHOOK_NETWORKS can "
                "allow it"
            )
    return found[0], all(inside)


def _ask(host: str, port: int, answers: SimpleQueue[list[str] | Exception]) -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        answers.put(error)
    else:
        answers.put([str(address[0]) for *_, address in found])


def _parsed(text: str) -> Address:
    if "%" in text:
        raise AddressError(f"{text} is good on one link only")
    address = ip_address(text)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address):
        hides_v4 = address.sixtofour or address.teredo
        if hides_v4 or address not in _GIVEN_OUT:
            return False
    return address.is_global and not address.is_multicast
