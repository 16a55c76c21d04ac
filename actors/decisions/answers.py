"""What a decision model answered: read without mercy, since a verdict acts on people.

A key that is given twice, a number that is none, an answer too many, too few or in another's place,
a request that was truncated: each makes the whole answer malformed. Usage is read first, on its
own, because a response is paid for whatever its verdict is worth.

The standard library reads the JSON: msgspec keeps the last of two equal keys without a word.
"""

import json
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Final, NoReturn

from msgspec import Struct

from actors.providers.json_text import JsonObject, is_list, is_object
from events.decisions import ApiStyle
from events.generation import Usage

LONGEST_MODEL: Final = 200
"""Characters of the model's name in an answer."""

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,200}")
_PICO_EXPONENT: Final = 12
_MOST_COUNT: Final = 2**53
_MOST_DOLLARS: Final = 1_000_000


class MalformedAnswerError(ValueError):
    """A response that is no answer; says what is wrong and quotes nothing of it."""


class Verdict(Struct, frozen=True, kw_only=True):
    """The answer to one question."""

    id: str
    """The question's id."""
    probability: float | None
    """How likely it is true, 0 to 1; None: the model refused to say."""


class Answers(Struct, frozen=True, kw_only=True):
    """A whole response, judged."""

    model: str
    """The model that answered."""
    request_id: str | None
    """The provider's id of the request, where it gave a usable one."""
    verdicts: tuple[Verdict, ...]
    """One a question, in the questions' order."""

    @property
    def is_refused(self) -> bool:
        """Return whether the model refused any question."""
        return any(verdict.probability is None for verdict in self.verdicts)


def parsed(body: bytes) -> JsonObject:
    """Return the JSON object that `body` is, its fractions exact.

    Raises:
        MalformedAnswerError: It is none, nests beyond measure, or gives a key twice.
    """
    try:
        value: object = json.loads(
            body.decode(),
            object_pairs_hook=_unique,
            parse_constant=_no_number,
            parse_float=Decimal,
        )
    except (ValueError, RecursionError, InvalidOperation):  # they hold the body, tracebacks too
        raise MalformedAnswerError("no JSON that can be trusted") from None
    if not is_object(value):
        raise MalformedAnswerError("no JSON object")
    return value


def reported_usage(payload: JsonObject) -> Usage | None:
    """Return what the response says was used; None where it says nothing.

    Raises:
        MalformedAnswerError: It says something impossible.
    """
    raw = payload.get("usage")
    if raw is None:
        return None
    usage = _object(raw, "usage")
    incoming = _details(usage, "input_tokens_details")
    outgoing = _details(usage, "output_tokens_details")
    _count(usage, "total_tokens")
    return Usage(
        input_tokens=_count(usage, "input_tokens"),
        output_tokens=_count(usage, "output_tokens"),
        cache_read_tokens=_count(incoming, "cached_tokens"),
        cache_write_tokens=_count(incoming, "cache_write_tokens"),
        reasoning_tokens=_count(outgoing, "reasoning_tokens"),
        cost_pico=_cost(usage.get("cost")),
    )


def judged(
    payload: JsonObject, style: ApiStyle, ids: Sequence[str], header_ids: Sequence[str] = ()
) -> Answers:
    """Return the answers to the questions `ids`, in their order.

    Args:
        payload: What `parsed` returned; its usage was read.
        style: The protocol.
        ids: The questions' ids.
        header_ids: Ids of the request from the response's headers, the most trusted first.

    Raises:
        MalformedAnswerError: It does not answer exactly these questions.
    """
    model = payload.get("model")
    if not isinstance(model, str) or not 1 <= len(model) <= LONGEST_MODEL:
        raise MalformedAnswerError("no model")
    body_id = payload.get("id")
    if "id" in payload and not isinstance(body_id, str):
        raise MalformedAnswerError("an id that is no string")
    _check_whole(payload)
    read = _ordered if style == "openai-decisions" else _named
    candidates = (*header_ids, body_id if isinstance(body_id, str) else "")
    return Answers(
        model=model,
        request_id=next((one for one in candidates if _REQUEST_ID.fullmatch(one)), None),
        verdicts=read(payload.get("answers"), ids),
    )


def _check_whole(payload: JsonObject) -> None:
    """Refuse an answer to less than was asked; gateways report it in the usage."""
    usage = payload.get("usage")
    reported = usage if is_object(usage) else {}
    for truncated in (payload.get("truncated", False), reported.get("truncated", False)):
        if truncated is not False:
            raise MalformedAnswerError("truncated")
    if (_count(reported, "state_tokens_dropped") or 0) > 0 or reported.get("truncated_questions"):
        raise MalformedAnswerError("truncated")


def _named(answers: object, ids: Sequence[str]) -> tuple[Verdict, ...]:
    given = _object(answers, "answers")
    if given.keys() != set(ids):
        raise MalformedAnswerError("other questions")
    return tuple(_verdict(_object(given[one], "answer"), one, "noul", "noul") for one in ids)


def _ordered(answers: object, ids: Sequence[str]) -> tuple[Verdict, ...]:
    if not is_list(answers) or len(answers) != len(ids):
        raise MalformedAnswerError("other questions")
    return tuple(map(_in_place, answers, ids))


def _in_place(answer: object, one: str) -> Verdict:
    given = _object(answer, "answer")
    if given.get("name") != one:
        raise MalformedAnswerError("other questions")
    if given.get("type") == "refusal":
        return Verdict(id=one, probability=None)
    return _verdict(given, one, "predicate", "probability")


def _verdict(given: JsonObject, one: str, kind: str, field: str) -> Verdict:
    value = given.get(field)
    if given.get("type") != kind or isinstance(value, bool):
        raise MalformedAnswerError("another type of answer")
    if not isinstance(value, int | Decimal) or not 0 <= value <= 1:
        raise MalformedAnswerError("no probability")
    return Verdict(id=one, probability=float(value))


def _count(raw: JsonObject, name: str) -> int | None:
    value = raw.get(name)
    if value is None and name not in raw:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_COUNT:
        raise MalformedAnswerError(f"{name} is no count")
    return value


def _cost(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise MalformedAnswerError("cost is no number")
    if not 0 <= value <= _MOST_DOLLARS:
        raise MalformedAnswerError("cost is no amount")
    return int(Decimal(value).scaleb(_PICO_EXPONENT).to_integral_value())


def _details(usage: JsonObject, name: str) -> JsonObject:
    value = usage.get(name)
    return {} if value is None else _object(value, name)


def _object(value: object, name: str) -> JsonObject:
    if not is_object(value):
        raise MalformedAnswerError(f"{name} is no object")
    return value


def _unique(pairs: list[tuple[str, object]]) -> JsonObject:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise MalformedAnswerError("a key twice")
    return found


def _no_number(_name: str) -> NoReturn:
    raise MalformedAnswerError("NaN or Infinity")
