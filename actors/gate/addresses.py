"""Which IP addresses may be asked on behalf of somebody who names a host.

Two floors. The metadata floor holds what hands out a machine's own credentials; nothing lifts it.
The general floor holds every other range that is not the public internet; an operator's
`allow_private` lifts it, a call on a person's own account never does.

The general floor is a list of its own because `ipaddress.is_global` is true of several ranges
that lead inside, such as `64:ff9b::7f00:1`, `2002:7f00:1::` and `fec0::1` (CPython 3.11). An IPv6
address that carries an IPv4 one is judged as both.

Pure; knows no URL and no socket.
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, Literal

from msgspec import Struct

Address = IPv4Address | IPv6Address
"""What a host resolves to."""

GateCode = Literal[
    "bad_url",
    "bad_scheme",
    "userinfo",
    "bad_host",
    "blocked_host",
    "blocked_port",
    "blocked_address",
    "metadata_address",
    "redirect_forbidden",
    "redirect_limit",
    "redirect_no_location",
    "unpinnable",
]
"""Why the gate refuses an address."""


class Policy(Struct, frozen=True, kw_only=True):
    """How strictly an address is judged."""

    allow_private: bool = False
    """The operator lets it be inside: lifts the general floor, never the metadata floor."""
    is_strict: bool = False
    """The call is on a person's own account: `allow_private` doesn't count."""

    @property
    def is_relaxed(self) -> bool:
        """Return whether the general floor is lifted."""
        return self.allow_private and not self.is_strict


_METADATA: Final = tuple(
    map(
        ip_network,
        (
            "169.254.0.0/16",
            "100.100.100.200/32",
            "fe80::/10",
            "fd00:ec2::254/128",
            "fd20:ce::254/128",
        ),
    )
)
_GENERAL: Final = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.31.196.0/24",
            "192.52.193.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "192.175.48.0/24",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
            "::/96",  # holds :: and ::1
            "::ffff:0:0/96",
            "64:ff9b::/96",
            "64:ff9b:1::/48",
            "100::/64",
            "2001::/23",
            "2001:db8::/32",
            "2002::/16",
            "3fff::/20",
            "5f00::/16",
            "fc00::/7",
            "fe80::/10",
            "fec0::/10",
            "ff00::/8",
        ),
    )
)
"""Special-purpose ranges, by the registries of IANA (iana-ipv4- and iana-ipv6-special-registry)."""

_TAILED: Final = tuple(
    IPv6Network(net) for net in ("::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")
)
"""Ranges whose last 32 bits are an IPv4 address: compatible, mapped, and NAT64's two."""


def parse_address(text: str) -> Address | None:
    """Return the address that `text` spells canonically, None where it spells none."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def refusal(address: Address, policy: Policy) -> GateCode | None:
    """Return why `address` may not be asked, None where it may."""
    faces = (address, *_embedded(address))
    if any(face in net for face in faces for net in _METADATA):
        return "metadata_address"
    if policy.is_relaxed:
        return None
    return "blocked_address" if any(face in net for face in faces for net in _GENERAL) else None


def _embedded(address: Address) -> Iterator[IPv4Address]:
    """Yield the IPv4 addresses that an IPv6 one carries."""
    if isinstance(address, IPv4Address):
        return
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if any(address in net for net in _TAILED):
        yield IPv4Address(int(address) & 0xFFFF_FFFF)
