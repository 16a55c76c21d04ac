"""What a decision model is asked: admitted, encoded once, and addressed.

A decision is no chat: one text as evidence, up to 64 yes-or-no questions, a probability for each.
Three protocols say the same in different words. The native one and System One name questions in an
object and call the evidence `state`; OpenAI Decisions lists them in order and calls it `input`.

The body is compact JSON in raw UTF-8, and its bytes may not exceed the tokens that the model
documents as its input: a token is at least a byte, so that nothing that passes is cut. That refuses
some long texts which would have fitted; evidence is never shortened.

Pure.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct
from yarl import URL

from events.decisions import ApiStyle

OPENROUTER_URL: Final = "https://openrouter.ai/api/alpha/decisions"
"""Where the native protocol is spoken."""

MOST_QUESTIONS: Final = 64
"""Questions of one request."""
LONGEST_INSTRUCTIONS: Final = 8_000
"""Characters of one question."""
LONGEST_EVIDENCE: Final = 2_000_000
"""Characters of the evidence."""

_ID: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_SEGMENTS: Final[dict[ApiStyle, str]] = {
    "system-one": "systemone",
    "openai-decisions": "decisions",
}


class Question(Struct, frozen=True, kw_only=True):
    """Something that is true of the evidence, or not."""

    id: str
    """The asker's name for it: a to z first, then up to 63 of a to z, digits and `_`."""
    instructions: str
    """What is to be judged: 1 to 8,000 characters."""


def fault_of(evidence: str, questions: Sequence[Question]) -> str | None:
    """Return what keeps a request from being sent, None where nothing does; never quotes it."""
    ids = [question.id for question in questions]
    texts = [question.instructions for question in questions]
    if not 1 <= len(ids) <= MOST_QUESTIONS:
        return f"{len(ids)} questions, 1 to {MOST_QUESTIONS}"
    if not all(map(_ID.fullmatch, ids)) or len(set(ids)) < len(ids):
        return "an id is malformed or given twice"
    if not all(1 <= len(text) <= LONGEST_INSTRUCTIONS for text in texts):
        return f"instructions have 1 to {LONGEST_INSTRUCTIONS} characters"
    if not 1 <= len(evidence) <= LONGEST_EVIDENCE:
        return f"evidence has 1 to {LONGEST_EVIDENCE} characters"
    return "half a character" if any(map(_SURROGATE.search, [evidence, *texts])) else None


def encoded(style: ApiStyle, model: str, evidence: str, questions: Sequence[Question]) -> bytes:
    """Return the body, exactly as it is to be sent; `fault_of` found nothing in its parts."""
    if style == "openai-decisions":
        listed = [
            {"type": "predicate", "name": one.id, "instructions": one.instructions}
            for one in questions
        ]
        return msgspec.json.encode({"model": model, "input": evidence, "questions": listed})
    named = {one.id: {"type": "noul", "instructions": one.instructions} for one in questions}
    return msgspec.json.encode({"model": model, "state": evidence, "questions": named})


def endpoint(style: ApiStyle, base_url: str) -> str:
    """Return where `style` is spoken at a custom endpoint; the native one has one address.

    A bare origin gets `/v1`; another path is kept, and so is a query. A fragment is dropped.
    """
    if style == "openrouter-decisions":
        return OPENROUTER_URL
    url = URL(base_url.strip()).with_fragment(None)
    root = url.raw_path.rstrip("/") or "/v1"
    path = f"{root}/{_SEGMENTS[style]}"
    return str(url.with_path(path, encoded=True, keep_query=True))
