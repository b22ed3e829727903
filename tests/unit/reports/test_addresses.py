from collections.abc import Sequence
from ipaddress import ip_network

import pytest

from service.reports.addresses import AddressError, Resolve, UnresolvedError, checked

PUBLIC = "93.184.215.14"
LOOPBACK = [ip_network("127.0.0.0/8")]


def names(*addresses: str) -> Resolve:
    def lookup(host: str, port: int) -> Sequence[str]:
        del host, port
        return addresses

    return lookup


@pytest.mark.parametrize("public", [PUBLIC, "2606:2800:21f:cb07:6820:80da:af6b:8b2c"])
def test_a_public_address_is_taken(public: str) -> None:
    address, is_named = checked("a.example", 443, networks=[], lookup=names(public))
    assert (str(address), is_named) == (public, False)


@pytest.mark.parametrize(
    "inside",
    [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.3.4",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",  # noqa: S104 - an address to be refused
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fe80::1%eth0",
        "fd00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "2002:a00:1::1",
        "2001:0:a00:1::1",
        "2001:db8::1",
        "fec0::1",
        "::a00:1",
        "64:ff9b:1::a00:1",
        "4000::1",
    ],
)
def test_no_internal_address_is_reached(inside: str) -> None:
    for found in ([inside], [PUBLIC, inside]):
        with pytest.raises(AddressError):
            checked("a.example", 443, networks=[], lookup=names(*found))


def test_a_network_that_the_settings_name_is_reached_and_no_other() -> None:
    _, is_named = checked("a.example", 80, networks=LOOPBACK, lookup=names("127.0.0.9"))
    assert is_named
    mapped, _ = checked("a.example", 80, networks=LOOPBACK, lookup=names("::ffff:127.0.0.9"))
    assert str(mapped) == "127.0.0.9"
    with pytest.raises(AddressError, match="TPSWEEP_WEBHOOK_NETWORKS can allow it"):
        checked("a.example", 80, networks=LOOPBACK, lookup=names("10.0.0.1"))


def test_a_name_without_an_address_is_told_so() -> None:
    def nothing(host: str, port: int) -> Sequence[str]:
        raise OSError(host, port)

    for lookup in (nothing, names()):
        with pytest.raises(UnresolvedError, match=r"a\.example"):
            checked("a.example", 443, networks=[], lookup=lookup)
