"""Which addresses a webhook may reach: public ones, and internal ones that the settings name.

A name is resolved at each delivery, all its addresses must be allowed, and the connection goes to
one that was checked: a name that answers differently the next time (DNS rebinding) gains nothing.
"""

import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from service.settings import Network
from service.watch.outcome import DeliveryError

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Sequence[str]]
"""From a host name and a port to addresses; OSError where there are none."""

_EMBEDDING_V4 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
"""NAT64: what is behind them is an IPv4 address."""


def resolve(host: str, port: int) -> list[str]:
    """Ask the system."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def checked(
    host: str, port: int, *, networks: Sequence[Network], lookup: Resolve = resolve
) -> tuple[Address, bool]:
    """Return an address to connect to, and whether it is in one of the networks.

    DeliveryError where there is none, or where any of them is neither public nor in `networks`.
    """
    try:
        found = [_parsed(text) for text in lookup(host, port)]
    except (OSError, UnicodeError):
        raise DeliveryError(f"{host} cannot be resolved") from None
    if not found:
        raise DeliveryError(f"{host} has no address")
    inside = [any(address in network for network in networks) for address in found]
    for address, is_named in zip(found, inside, strict=True):
        if not is_named and not _is_public(address):
            raise DeliveryError(
                f"{host} leads to {address}, which is not public; TPSWEEP_WEBHOOK_NETWORKS can "
                "allow it"
            )
    return found[0], all(inside)


def _parsed(text: str) -> Address:
    if "%" in text:
        raise DeliveryError(f"{text} is good on one link only")
    address = ip_address(text)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address):
        hides_v4 = address.sixtofour or address.teredo
        if hides_v4 or any(address in network for network in _EMBEDDING_V4):
            return False
    return address.is_global and not address.is_multicast
