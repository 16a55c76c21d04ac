r"""Which URLs may be asked on behalf of somebody who supplies them, before any name is looked up.

What is judged here is the very object that the HTTP client sends: a second parser, which reads
the same text in another way, is how such gates are passed. The raw text is tested first, since
parsers drop what they should refuse (`https://ok.example\@10.0.0.1/` has the host 10.0.0.1).

Refusals name a host and a code, never a path, a query or a key. Pure.
"""

import re
from typing import Final
from urllib.parse import urlsplit

from yarl import URL

from actors.errors import RemoteUrlPolicyError
from actors.gate.addresses import GateCode, Policy, parse_address, refusal

LONGEST_URL: Final = 2_048
"""Characters."""
MOST_REDIRECTS: Final = 3
"""Hops that a GET may take."""
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
"""Statuses that name another address."""

_HTTPS_PORT: Final = 443
_HTTP_PORT: Final = 80
_FIRST_FREE_PORT: Final = 1_024
_INFRASTRUCTURE_PORTS: Final = frozenset(
    {
        *(2049, 2375, 2376, 2379, 2380, 3306, 3389, 5432, 5672),
        *(5900, 6379, 6443, 9200, 9300, 10250, 11211, 27017),
    }
)
"""Of file servers, databases, queues and cluster controls, which answer whoever connects."""

_INSIDE: Final = ("localhost", "local", "internal", "home.arpa")
"""Names that lead inside, and whatever stands under them."""
_BAD_TEXT: Final = re.compile(r"[\s\\\x00-\x20\x7f-\x9f]")
_HOST: Final = re.compile(r"[a-z0-9_.:-]{1,253}")
_NUMBER: Final = re.compile(r"\d+|0x[0-9a-f]*")


def admitted(text: str, policy: Policy) -> URL:
    """Return the URL that `text` is, its host canonical, without fragment.

    A host that is an address is judged by the floors as well; what a name resolves to is left to
    `actors.gate.pinned`.

    Raises:
        RemoteUrlPolicyError: It may not be asked.
    """
    if not 0 < len(text) <= LONGEST_URL or _BAD_TEXT.search(text):
        raise RemoteUrlPolicyError("", "bad_url")
    url = _parsed(text)
    host = (url.raw_host or "").removesuffix(".")
    if "@" in urlsplit(text).netloc:
        raise RemoteUrlPolicyError(_shown(host), "userinfo")
    code = _refusal_of_scheme(url, policy) or _refusal_of_host(host, policy)
    code = code or _refusal_of_port(url, policy)
    if code is not None:
        raise RemoteUrlPolicyError(_shown(host), code)
    return url.with_host(host).with_fragment(None)


def next_hop(current: URL, location: str | None, policy: Policy) -> URL:
    """Return where a redirect of a GET leads, judged as anew.

    Raises:
        RemoteUrlPolicyError: It leads nowhere, from https to http, or where nobody may be sent.
    """
    host = current.raw_host or ""
    if not location:
        raise RemoteUrlPolicyError(host, "redirect_no_location")
    if len(location) > LONGEST_URL or _BAD_TEXT.search(location):
        raise RemoteUrlPolicyError(host, "bad_url")
    try:
        joined = str(current.join(URL(location)))
    except ValueError:
        raise RemoteUrlPolicyError(host, "bad_url") from None
    target = admitted(joined, policy)
    if (current.scheme, target.scheme) == ("https", "http"):
        raise RemoteUrlPolicyError(target.raw_host or "", "redirect_forbidden")
    return target


def _parsed(text: str) -> URL:
    try:
        url = URL(text)
        is_whole = bool(urlsplit(text).netloc) and url.explicit_port != 0
    except ValueError:  # its prose quotes the text
        is_whole = False
        url = URL()
    if not is_whole:
        raise RemoteUrlPolicyError("", "bad_url")
    return url


def _refusal_of_scheme(url: URL, policy: Policy) -> GateCode | None:
    allowed = ("https", "http") if policy.is_relaxed else ("https",)
    return None if url.scheme in allowed else "bad_scheme"


def _refusal_of_host(host: str, policy: Policy) -> GateCode | None:
    if not _HOST.fullmatch(host):  # a zone, a percent sign, or nothing at all
        return "bad_host"
    address = parse_address(host)
    if address is not None:
        return refusal(address, policy)
    labels = host.split(".")
    # Resolvers take 127.1, 0x7f.1 and 2130706433 for addresses that `ipaddress` doesn't know.
    if ":" in host or not all(labels) or _NUMBER.fullmatch(labels[-1]):
        return "bad_host"
    is_inside = any(host == name or host.endswith(f".{name}") for name in _INSIDE)
    return "blocked_host" if is_inside and not policy.is_relaxed else None


def _refusal_of_port(url: URL, policy: Policy) -> GateCode | None:
    port = url.port or 0
    low = (_HTTPS_PORT, _HTTP_PORT) if policy.is_relaxed else (_HTTPS_PORT,)
    is_free = port >= _FIRST_FREE_PORT and port not in _INFRASTRUCTURE_PORTS
    return None if is_free or port in low else "blocked_port"


def _shown(host: str) -> str:
    return host if _HOST.fullmatch(host) else ""
