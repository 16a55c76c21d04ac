"""`[decisions.NAME]` and `[addressing]`: decision models, and the one thing the bot asks them."""

from collections.abc import Iterator, Mapping
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from actors.decisions.answers import LONGEST_MODEL
from actors.decisions.catalogue import FEWEST_TOKENS, MOST_TOKENS
from bot.secret import Secret
from bot.settings_errors import Fault
from bot.settings_reader import child
from events.decisions import ApiStyle

InputTokens = Annotated[int, Meta(ge=FEWEST_TOKENS, le=MOST_TOKENS)]


class DecisionSettings(Struct, frozen=True, kw_only=True):
    """`[decisions.NAME]`: a model that answers questions about a text with probabilities."""

    api_style: ApiStyle
    """Its protocol; `openrouter-decisions` has its own address, the others are custom endpoints."""
    model: str
    """Its id at the provider."""
    input_tokens: InputTokens = 0
    """The longest input that it documents; longer questions are not sent. 0: OpenRouter's list of
    models is asked, once."""
    base_url: str = ""
    """The root of a custom endpoint."""
    api_key: Secret = Secret("")
    """Its key; a custom endpoint may have none."""
    allow_private: bool = False
    """Whether a custom endpoint may be inside."""

    @property
    def is_custom(self) -> bool:
        """Whether it has an address of its own, behind the gate."""
        return self.api_style != "openrouter-decisions"


class AddressingSettings(Struct, frozen=True, kw_only=True):
    """`[addressing]`: whether a message that holds a trigger word speaks to the bot at all."""

    model: str = ""
    """The name under `[decisions]` of the model that is asked; empty: nobody is."""
    calibrated: str = ""
    """The model that `below` was measured with, as it names itself in its answers; the word of any
    other changes nothing."""
    below: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """A message that speaks to the bot with a probability below this is not answered."""
    seconds: Annotated[float, Meta(ge=0.1, le=30)] = 3.0
    """How long an answer may be held up; after that the message is answered."""


def judge_decisions(
    decisions: Mapping[str, DecisionSettings], addressing: AddressingSettings
) -> Iterator[Fault]:
    """Yield what is wrong with them."""
    for name, one in decisions.items():
        yield from _judge_model(child("decisions", name), one)
    if not addressing.model:
        return
    if addressing.model not in decisions:
        problem = f'"{addressing.model}" is not configured'
        allowed = ", ".join(decisions) or "a [decisions.NAME]"
        yield Fault(key="addressing.model", problem=problem, allowed=allowed)
    if not 0 < addressing.below < 1:
        allowed = "more than 0 and less than 1"
        yield Fault(key="addressing.below", problem=f"is {addressing.below:g}", allowed=allowed)
    if not addressing.calibrated:
        allowed = "the name that the model gives itself in its answers"
        yield Fault(key="addressing.calibrated", problem="is empty", allowed=allowed)


def _judge_model(key: str, one: DecisionSettings) -> Iterator[Fault]:
    if not 0 < len(one.model) <= LONGEST_MODEL:
        allowed = f"1 to {LONGEST_MODEL} characters"
        problem = f"has {len(one.model)} characters"
        yield Fault(key=f"{key}.model", problem=problem, allowed=allowed)
    if not one.api_key.fits_header():
        yield Fault(key=f"{key}.api_key", problem="is no key", allowed="printable ASCII")
    if one.is_custom:
        if not _is_root(one.base_url):
            allowed = "an http or https URL without credentials"
            yield Fault(key=f"{key}.base_url", problem="is no endpoint", allowed=allowed)
        if not one.input_tokens:
            allowed = f"the longest input that the model documents, from {FEWEST_TOKENS}"
            yield Fault(key=f"{key}.input_tokens", problem="is missing", allowed=allowed)
        return
    for name, is_given in (("base_url", one.base_url), ("allow_private", one.allow_private)):
        if is_given:
            allowed = "only for system-one and openai-decisions"
            yield Fault(key=f"{key}.{name}", problem="has no effect", allowed=allowed)


def _is_root(url: str) -> bool:
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    is_plain = "@" not in parts.netloc and not any(map(str.isspace, url))
    return parts.scheme in {"http", "https"} and has_host and is_plain
