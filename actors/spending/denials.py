"""Refusals by whoever would have paid, told from every other failure, and kept to their owner.

A denial may be wrapped on its way: it is looked for along `__cause__`, the attributes `cause` and
`original_error`, and the members of exception groups. `__context__` is left out: an implicit chain
is an earlier error that has nothing to do with this one.
"""

from collections.abc import Iterator
from typing import Final, cast

from typing_extensions import override

from actors.errors import RefusalError
from actors.spending.context import UsageContext

LONGEST_CHAIN: Final = 64
"""Most errors of a chain that are looked at."""


class RequestDeniedError(RefusalError):
    """A payer refuses a request. Its text is constant, so that logging it gives nothing away."""

    def __init__(self, context: UsageContext | None, code: str) -> None:
        super().__init__(context, code)
        self.context = context
        self.code = code
        """A display-safe word for why; the bot's notices have a sentence for it."""

    @override
    def __str__(self) -> str:
        return "the payer denied the request"


class AnyOwner:
    """The type of `ANY_OWNER`."""


ANY_OWNER: Final = AnyOwner()
"""Stands for every owner; None is an owner of its own: nobody."""


def find_request_denied(
    error: object, context: UsageContext | AnyOwner | None = ANY_OWNER
) -> RequestDeniedError | None:
    """Return the first denial in the chain of `error`, where it is one of `context`.

    Args:
        error: The outermost error.
        context: Its owner; `ANY_OWNER` only while credentials are resolved, or for an error that
            travels to those who show it.
    """
    found = next((one for one in chain_of(error) if isinstance(one, RequestDeniedError)), None)
    if found is None or isinstance(context, AnyOwner):
        return found
    return found if found.context is context else None


def chain_of(error: object) -> Iterator[object]:
    """Yield `error` and what caused it, outermost first, each once."""
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < LONGEST_CHAIN:
        one = waiting.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        links = (getattr(one, name, None) for name in ("__cause__", "cause", "original_error"))
        waiting += [link for link in links if isinstance(link, BaseException)]
        if isinstance(one, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", one).exceptions
