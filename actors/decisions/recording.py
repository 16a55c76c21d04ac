"""Where a decision's events go: into its turn's journal, or a guild's or user's stream.

Recording never waits: a call's answer is not held up by the disk.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Final, Protocol

import structlog

from actors.decisions.models import DecisionScope
from actors.ports import Clock, LogPort
from events.base import Event, GuildId, Scope, UserId, guild_stream, user_stream
from events.codec import append_of
from events.errors import EventLogError

CLOSE_SECONDS: Final = 5.0
"""How long the log may take for what is left at the end."""

_log = structlog.get_logger(__name__)


class DecisionJournal(Protocol):
    """Takes events; a turn's journal is one."""

    def add(self, item: Event, /) -> None:
        """Take an event, to be appended in the order taken."""
        ...


class OwnerJournal:
    """Appends what is decided outside of a turn to the stream of whoever owns it."""

    def __init__(self, log: LogPort, clock: Clock, owner: DecisionScope) -> None:
        self._log = log
        self._clock = clock
        guild_id = GuildId(owner.owner_id)
        is_server = owner.kind == "server"
        self._stream = guild_stream(guild_id) if is_server else user_stream(UserId(owner.owner_id))
        self._scope = Scope(guild_id=guild_id) if is_server else Scope()
        self._events: list[tuple[Event, datetime]] = []
        self._pump: asyncio.Task[None] | None = None

    def add(self, item: Event, /) -> None:
        """Take an event, to be appended in the order taken."""
        self._events.append((item, self._clock.now()))
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._append_all())

    async def aclose(self) -> None:
        """Return when all that was taken is durable, or the log does not answer for 5 s."""
        if self._pump is not None:
            await asyncio.wait({self._pump}, timeout=CLOSE_SECONDS)
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)

    async def _append_all(self) -> None:
        while self._events:
            events, self._events = self._events, []
            await self._append(events)

    async def _append(self, events: Sequence[tuple[Event, datetime]]) -> None:
        try:
            await self._log.append(append_of(self._stream, events, scope=self._scope))
        except EventLogError as error:
            _log.error("decision_not_recorded", stream=self._stream, error=type(error).__name__)
