"""Who owns the requests that a task makes, carried beside the calls in a context variable.

An owner is compared by identity and never copied, so that a request made on somebody else's behalf
can't claim its refusals. Bind before tasks are created, since a task copies its context then, and
never across a `yield` of an async generator, where the binding would leak to the consumer.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from typing_extensions import override

from events.base import GuildId, TurnId, UserId


class UsageContext(Protocol):
    """Whoever owns a request; extensions bring their own classes, compared by `is` alone."""


class TurnOwner:
    """The owner of a turn's own requests: one object a turn and process, equal to itself only."""

    def __init__(
        self, turn_id: TurnId, epoch: int, *, guild_id: GuildId | None, user_id: UserId
    ) -> None:
        self.turn_id = turn_id
        self.epoch = epoch
        self.guild_id = guild_id
        self.user_id = user_id

    @override
    def __repr__(self) -> str:
        return f"TurnOwner({self.turn_id})"


_owner: ContextVar[UsageContext | None] = ContextVar("usage_context", default=None)


@contextmanager
def bind_usage_context(context: UsageContext | None) -> Generator[None]:
    """Make `context` the owner of what the block does; None: nobody, not the outer owner."""
    token = _owner.set(context)
    try:
        yield
    finally:
        _owner.reset(token)


def current_usage_context() -> UsageContext | None:
    """Return the owner of what the running task does."""
    return _owner.get()
