"""What people in a channel are told when an answer does not come; plain words, nothing else.

A provider's own prose never gets here: it can echo keys and prompts, and would re-enter the
context as part of the conversation. People see a sentence a class of failure and a code that is
safe to show; the prose stays in the log, for operators.
"""

import re
from collections.abc import Sequence
from typing import Final

from actors.credentials import VARIABLE
from actors.rules.configuration import LONGEST_NAME, LONGEST_PROMPT, Why
from actors.rules.model_choices import LONGEST_PROVIDER
from events.generation import ErrorType

STOPPED: Final = "Stopped."
"""`/stop` stopped a turn."""
NOTHING_TO_STOP: Final = "Nothing is running here."
"""`/stop` found no turn in its channel."""
STOP_FAILED: Final = "That did not work. Please try again."
"""`/stop` could not reach the turn."""
STILL_WORKING: Final = "This takes a while. I am still at it."
"""The model has called many tools, and goes on."""
TOOLS_FAILED: Final = "My tools keep failing, so I stop here."
"""Several tool calls failed in a row."""
TOO_LONG: Final = "My answer takes more messages than I may send, so I stop here."
"""An answer was cut off at the most messages that any answer may take."""
TOO_MANY_TOOLS: Final = "I have used my tools too often for one answer, so I stop here."
"""The model called tools without an end."""
EMPTY_ANSWER: Final = "The model had nothing to say to that. Please try again."
"""The model ended without any text."""
NO_MODEL: Final = (
    "The model that was chosen for this place can't be asked. Members with the Manage Server "
    "permission can look at it with /model show."
)
"""A turn has no model to ask (P148)."""
GIVEN_UP: Final = "I could not answer this message and have given up on it."
"""A trigger failed on every try."""
TABLE_EXPIRED: Final = "This table's Markdown has expired."
"""Show Markdown was pressed too late."""
TABLE_ATTACHED: Final = "The table's Markdown is too long for a message, so here it is as a file."
"""Show Markdown's source comes as a file."""
MAY_NOT_CONFIGURE: Final = (
    "Only members with the Manage Server permission can do that, in a server."
)
"""Somebody calls a command that changes configuration and may not."""
NOTHING_NAMED: Final = "Name at least one setting."
"""`/config set` without a setting."""
IMAGE_MISSING: Final = "A sprite needs an image: attach one, or give its https address."
"""`/persona sprite add` without an image."""
PROMPT_TOO_LONG: Final = "Its prompt is too long for a form; it stands in the bot's configuration."
"""`/persona edit` of a persona whose prompt does not fit into Discord's form."""
NO_HTTPS_URL: Final = "An address of an image begins with https:// and names a host."
"""A command was given another URL."""
NO_SECRET_KEY: Final = (
    f"Keys can't be stored here yet: the bot's operator has to set the environment variable "
    f"{VARIABLE} and restart the bot."
)
"""A guild wants a provider of its own, and nothing can encrypt its key."""
NO_KEY: Final = "That is no API key: a key is printable ASCII without spaces."
"""A provider's form holds something else."""
KEY_UNUSABLE: Final = (
    "The key of this provider can't be read any more. Add the provider again, or ask the bot's "
    f"operator whether {VARIABLE} has changed."
)
"""A stored key is gone, or was encrypted with something else."""
NO_PROVIDERS: Final = "This server has no providers of its own. Add one with /providers add."
"""`/providers list` has nothing to list."""
PERSONA_OR_CHANNEL: Final = "A model is for a persona or for a channel, not for both."
"""`/model` was given both."""

UNKNOWN_CODE: Final = "unknown"
"""Stands for every code that may not be shown."""

_HEADLINES: Final[dict[ErrorType, str]] = {
    "api_error": "The model's provider refused the request.",
    "rate_limit": "The model's provider is asked too often. Please try again in a moment.",
    "content_blocked": "The model's provider blocked this answer under its content rules.",
    "timeout": "The model's provider took too long to answer. Please try again.",
    "provider_overloaded": "The model's provider is overloaded. Please try again in a moment.",
    "model_error": "The model that is configured here is not available at its provider.",
    "unknown": "The model's provider failed to answer.",
}
_HEADLINES_BY_CODE: Final = {
    "401": "The model's provider did not accept the key that is configured.",
    "402": "The account at the model's provider has run out of credit.",
    "429_balance": "The account at the model's provider has run out of credit.",
    "429_plan_access": "The plan at the model's provider does not include this model.",
    "budget_reached": "The monthly budget for answers is used up.",
    "budget_unknown": "Whether there is budget left for an answer can't be told. Please try again.",
    "ECONNREFUSED": "The model's provider can't be reached.",
    "DNS": "The model's provider can't be reached.",
    "TLS": "No secure connection to the model's provider could be made.",
}
# A status, one with a word of our own behind it, or a word in one case. Digits in a word would
# let a key through.
_SAFE_CODE: Final = re.compile(r"[1-5]\d\d(_[a-z]+)*|[a-z]+(_[a-z]+)*|[A-Z]+(_[A-Z]+)*")
_LONGEST_CODE: Final = 40
_WHOLE: Final = frozenset((STILL_WORKING, TOOLS_FAILED, TOO_MANY_TOOLS, EMPTY_ANSWER, GIVEN_UP))
_CODED: Final = frozenset((*_HEADLINES.values(), *_HEADLINES_BY_CODE.values()))
_FALLBACK: Final = "-# Answered by "


def safe_code(code: str) -> str:
    """Return `code` where it is an HTTP status or a single-case word, else `unknown`."""
    is_safe = len(code) <= _LONGEST_CODE and _SAFE_CODE.fullmatch(code) is not None
    return code if is_safe else UNKNOWN_CODE


def fallback_notice(answered: str, failed: Sequence[tuple[str, str]]) -> str:
    """Return what to say where `answered` stood in for models that failed, each with its code."""
    names = ", ".join(f"{model} (`{safe_code(code)}`)" for model, code in failed)
    return f"{_FALLBACK}{answered}, since this failed: {names}"


def provider_notice(error: ErrorType, code: str) -> str:
    """Return what to say when a provider failed with `error`: a sentence and a safe code."""
    shown = safe_code(code)
    headline = _HEADLINES_BY_CODE.get(shown, _HEADLINES[error])
    return f"{headline} (`{shown}`)"


def is_notice(content: str) -> bool:
    """Return whether a message of the bot's own is a notice: its words tell, in any channel.

    The log could tell too, but not of messages that it no longer holds.
    """
    headline, code, _ = content.rpartition(" (`")
    return content in _WHOLE or content.startswith(_FALLBACK) or (bool(code) and headline in _CODED)


def no_such_persona(name: str) -> str:
    """Return what to say where a persona is named that is not there."""
    return f"There is no persona {name} here."


def refusal(why: Why, what: str, owner: str) -> str:
    """Return why a change of configuration was refused: the rule, and what broke it."""
    words: dict[Why, str] = {
        "name_length": f"A name has 1 to {LONGEST_NAME} characters; this one has {what}.",
        "name_reserved": f"Discord refuses names that contain “{what}”.",
        "name_taken": f"There is a persona {what} already; case does not matter.",
        "no_such_persona": no_such_persona(what),
        "main_persona": f"{what} is the main persona and can't be removed.",
        "word_blank": "A trigger word is empty.",
        "word_taken": f"The trigger word “{what}” belongs to {owner}.",
        "prompt_length": f"A prompt has at most {LONGEST_PROMPT} characters; this one has {what}.",
        "too_many": f"At most {what}.",
        "no_such_sprite": f"There is no sprite {what}.",
        "sprite_key": "A sprite needs a name.",
        "bad_value": f"{what} can't have that value.",
        "provider_name": (
            f"A provider's name has 1 to {LONGEST_PROVIDER} letters, digits, - and _."
        ),
        "provider_taken": f"The bot's operator has a provider {what} already.",
        "no_such_provider": f"This server has no provider {what}.",
        "no_such_kind": f"There is no kind of provider {what}.",
        "bad_url": (
            "The address has to be an https one on the public internet, "
            f"without credentials or a query (`{what}`)."
        ),
        "no_such_model": (
            f"{what} names no model that can be used here. One of this server's own providers is "
            "written `provider/model`; of the operator's, `/model set` offers what there is."
        ),
    }
    return words[why]
