"""Addresses: which of the network's may be connected to, which base URLs an operator may give, and no secrets in any.

The ranges are those of the registries of special-purpose addresses (RFC 6890 and its successors, as IANA keeps them),
multicast, and the addresses of cloud hosts' metadata services. Whatever is no range of the public Internet is refused.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

_REFUSED = (
    ("0.0.0.0/8", "an unspecified address"),
    ("10.0.0.0/8", "a private address"),
    ("100.64.0.0/10", "an address behind a carrier's NAT"),
    ("127.0.0.0/8", "a loopback address"),
    ("168.63.129.16/32", "a cloud host's own service"),
    ("169.254.0.0/16", "a link-local address, where cloud hosts keep their metadata"),
    ("172.16.0.0/12", "a private address"),
    ("192.0.0.0/24", "an address set aside for protocols"),
    ("192.0.2.0/24", "an address for documentation"),
    ("192.88.99.0/24", "a relay of 6to4"),
    ("192.168.0.0/16", "a private address"),
    ("198.18.0.0/15", "an address for benchmarks"),
    ("198.51.100.0/24", "an address for documentation"),
    ("203.0.113.0/24", "an address for documentation"),
    ("224.0.0.0/4", "a multicast address"),
    ("240.0.0.0/4", "a reserved address"),
    ("::/128", "an unspecified address"),
    ("::1/128", "a loopback address"),
    ("2001::/32", "a tunnel of Teredo"),
    ("2001::/23", "an address set aside for protocols"),
    ("2001:db8::/32", "an address for documentation"),
    ("2002::/16", "a tunnel of 6to4"),
    ("3fff::/20", "an address for documentation"),
    ("64:ff9b:1::/48", "an address of a local NAT64"),
    ("fc00::/7", "a private address"),
    ("fe80::/10", "a link-local address"),
    ("fec0::/10", "a site-local address"),
    ("ff00::/8", "a multicast address"),
)
REFUSED = tuple((ip_network(text), what) for text, what in _REFUSED)
"""Ranges that are not connected to, and what an address in one is; the first that holds an address names it."""

GLOBAL = ip_network("2000::/3")
"""All of IPv6 that is given out for the public Internet; the rest is reserved."""

EMBEDDING = (ip_network("::ffff:0:0/96"), ip_network("64:ff9b::/96"))
"""Ranges whose last 32 bits are the IPv4 address that is reached in truth: IPv4-mapped, and NAT64 (RFC 6052)."""

_USER_INFO = re.compile(r"(?<=[/\\][/\\])\S*@")


def refusal(address: str) -> str | None:
    """Say what an IP address is that must not be connected to, with its range; None for one of the public Internet."""
    given = ip_address(address)
    reached = _embedded(given)
    within = next((one for one in REFUSED if one[0].version == reached.version and reached in one[0]), None)
    if within is not None:
        network, what = within
        return f"{what} ({network})"
    if isinstance(reached, IPv6Address) and reached not in GLOBAL:
        return f"a reserved address (not in {GLOBAL})"
    return None


def _embedded(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if isinstance(address, IPv6Address) and any(address in network for network in EMBEDDING):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def check_base_url(url: str) -> str:
    """Return a base URL that an operator gave, without its last slashes. Raises `ValueError`, which shows no secret."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable, parts = False, urlsplit("")
    if "@" in url:
        raise ValueError(
            f"…@{without_secrets(url).rpartition('@')[2]}: credentials have no place in an address, and kix sends none"
        )
    if parts.query or parts.fragment:
        raise ValueError(f"{without_secrets(url)}: a base URL ends with its path, without ? and #")
    if not usable:
        raise ValueError(f"{without_secrets(url)} is no http or https address")
    return url.rstrip("/")


def without_secrets(url: str) -> str:
    """Return a URL as it may be shown and stored: without user, password, query and fragment."""
    return without_user_info(re.split(r"[?#]", url, maxsplit=1)[0])


def without_user_info(text: str) -> str:
    """Return a text with user and password cut out of every URL in it."""
    return _USER_INFO.sub("…@", text) if "@" in text else text
