"""Provider prose without what may be a key: for operators, never for Discord.

Providers quote the request in their errors, credentials included, sometimes in another encoding.
So whatever looks like a key goes, and so does any long opaque word; a UUID stays, since request
ids are what an operator needs most.
"""

import re
from typing import Final

from actors.providers.surrogates import clean

PROSE_LIMIT: Final = 2_000
"""Characters of provider prose that are kept."""
_READ_LIMIT: Final = 4 * PROSE_LIMIT
_MASK: Final = "[redacted]"

_BEARER: Final = re.compile(r"(?i)\b(bearer\s{1,8}|basic\s{1,8}(?=\S{16}))[^\s\"',;]+")
_PREFIXED: Final = re.compile(
    r"\b(?:(?:sk|pk|rk|gsk|xai|hf|r8|ghp|pplx|nvapi|key|tok)[-_]|AIza|AKIA)[\w*.-]{6,}"
)
_ASSIGNED: Final = re.compile(
    r"(?i)(\b(?:api[-_ ]?key|secret|password|authorization|(?:access|auth)[-_ ]?token)"
    r"(?:\s\w{1,20})?[\"']?\s{0,4}[:=]\s{0,4}[\"']?)[^\s\"',;}]{4,}"
)
_OPAQUE: Final = re.compile(r"[A-Za-z0-9_+=-]{32,}")
_UUID: Final = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def redact(prose: str) -> str:
    """Return the first 2,000 characters of `prose`, credentials masked."""
    text = clean(prose[:_READ_LIMIT])
    text = _BEARER.sub(rf"\1{_MASK}", text)
    text = _ASSIGNED.sub(rf"\1{_MASK}", text)
    text = _PREFIXED.sub(_MASK, text)
    text = _OPAQUE.sub(_mask_opaque, text)
    return text[:PROSE_LIMIT]


def _mask_opaque(match: re.Match[str]) -> str:
    word = match.group()
    is_prose = word.isalpha() or not any(letter.isalpha() for letter in word)
    return word if is_prose or _UUID.fullmatch(word) else _MASK
