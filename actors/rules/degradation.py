"""What to leave out of a request that a chat completions endpoint refused.

Dozens of servers speak that format, each with parameters that it does not know, and most answer one
with an error in place of the answer. So a refused request is made again with less: without what the
error names, else down a ladder of bodies that each lack a little more. That is done only where the
error looks like such a refusal; a key, a limit, a length or a missing model is not mended by it.
Nothing is remembered for the next request.
"""

import re
from collections.abc import Collection, Sequence
from typing import Final

from actors.providers.adapter import ProviderKind
from events.generation import ProviderFault

MOST_ATTEMPTS: Final = 16
"""Forms of one request that are tried at the most, the first included."""
MOST_TARGETED: Final = 3
"""How many of them leave out what an error names."""

_KINDS: Final[frozenset[ProviderKind]] = frozenset(("openai", "openrouter", "custom"))
_MANDATORY: Final = frozenset(("model", "messages", "stream"))
_USAGE: Final = "stream_options"
_PROBED: Final = (
    *("top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty", "repetition_penalty"),
    *("logit_bias", "temperature", "max_tokens", "stop"),
)
_NEVER: Final = frozenset(("401", "402", "403", "408", "413", "429"))
_CLIENT: Final = frozenset(("400", "422"))
_CONTENTLESS: Final = frozenset(
    [
        *("", "error", "bad request", "request failed", "internal server error"),
        "internal error",
    ]
)
_UNSUPPORTED: Final = re.compile(
    r"\b(?:unsupported|unknown|unrecogni[sz]ed|invalid)(?: api)? (?:parameter|argument|field)"
)
_LENGTH: Final = re.compile(
    r"maximum context length|context_length_exceeded|context window exceeded|reduce the length of"
)

Dropped = tuple[str, ...]
"""Names of body parameters that a form of the request lacks, in the order of its body."""


def decide_dropped(
    kind: ProviderKind,
    fault: ProviderFault,
    parameters: Sequence[str],
    tried: Sequence[Dropped],
    *,
    has_called: bool,
) -> Dropped | None:
    """Return what the next form of a refused request leaves out; None where no form is left.

    Args:
        kind: The wire format.
        fault: How the last form was refused; nothing of an answer had come.
        parameters: Names of the body's parameters in its first form.
        tried: What the forms so far left out, oldest first; the first one nothing.
        has_called: Whether the conversation holds calls, so that it needs the tools.
    """
    if kind not in _KINDS or len(tried) >= MOST_ATTEMPTS or _is_final(fault):
        return None
    named = _named(fault, [one for one in parameters if one not in tried[-1]])
    mandatory = _MANDATORY | {"tools"} if has_called else _MANDATORY
    forms: list[Dropped] = []
    if named and sum(_is_targeted(one, parameters, mandatory) for one in tried) < MOST_TARGETED:
        forms.append(_ordered({*tried[-1], *named}, parameters))
    if named or _is_refusal(kind, fault, parameters):
        forms += _ladder(parameters, mandatory)
    return next((form for form in forms if form and form not in tried), None)


def _ladder(parameters: Sequence[str], mandatory: Collection[str]) -> list[Dropped]:
    """Return the forms to try in their order, from the fullest to the barest."""
    optional = [one for one in parameters if one not in mandatory]
    unknown = [one for one in optional if one not in (*_PROBED, _USAGE, "tools")]
    probes = [one for one in (*_PROBED, *unknown, "tools") if one in optional]
    drops = [{_USAGE}, *({_USAGE, one} for one in probes), set(optional)]
    return [_ordered(one, parameters) for one in drops]


def _ordered(names: Collection[str], parameters: Sequence[str]) -> Dropped:
    return tuple(one for one in parameters if one in names)


def _is_targeted(dropped: Dropped, parameters: Sequence[str], mandatory: Collection[str]) -> bool:
    return bool(dropped) and dropped not in _ladder(parameters, mandatory)


def _named(fault: ProviderFault, present: Sequence[str]) -> list[str]:
    """Return the parameters that an error names as whole words."""
    words = frozenset(re.findall(r"\w+", fault.message.lower()))
    return [one for one in (*_PROBED, _USAGE) if one in present and one in words]


def _is_final(fault: ProviderFault) -> bool:
    is_class = fault.type in ("rate_limit", "timeout", "model_error", "content_blocked")
    status = fault.code.partition("_")[0]
    return is_class or status in _NEVER or bool(_LENGTH.search(fault.message.lower()))


def _is_refusal(kind: ProviderKind, fault: ProviderFault, parameters: Sequence[str]) -> bool:
    prose = fault.message.lower()
    if fault.code == "400":
        contentless = prose.rpartition(": ")[2].strip(" .!") in _CONTENTLESS
        return contentless or bool(_UNSUPPORTED.search(prose))
    if fault.code == "404":
        return "no endpoints found" in prose
    if fault.code == "502":
        return kind == "openrouter"
    return fault.code in _CLIENT and _USAGE in prose and _USAGE in parameters
