"""Every request that reached the server, in order of arrival, and what became of it."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from actors.ports import Clock
from bot.loopback.discord.calls import Kind
from bot.loopback.discord.entities import JsonObject
from events.base import ChannelId, MessageId

Outcome = Literal["pending", "ok", "refused", "limited", "faulted", "reset"]
"""`refused` by Discord's rules, `limited` by its rates, `faulted` where a fault chose the answer,
`reset` where there was none."""


class RecordedRequest(Struct, frozen=True, kw_only=True):
    """A request."""

    number: int
    """Its place among all, from 0."""
    time: float
    """Seconds of the clock's monotonic time, when its headers had arrived."""
    method: str
    """HTTP method."""
    path: str
    """Below `/api/v10`, without the query."""
    kind: Kind
    """What it does."""
    channel_id: ChannelId | None
    """The channel or thread it concerns, where one can be told."""
    body: JsonObject | None = None
    """The decoded JSON object; None where there is none, or it was not read."""
    content: str | None = None
    """The body's `content`, untrimmed."""
    outcome: Outcome = "pending"
    """What became of it."""
    status: int | None = None
    """HTTP status of the answer; None where none was written."""
    code: int | None = None
    """Discord's code of a refusal."""
    message_id: MessageId | None = None
    """The message that it stored, whatever was answered."""
    finished: float | None = None
    """Like `time`, when the answer was chosen; None while pending."""


class Journal:
    """The requests, and among them the posts."""

    def __init__(self, clock: Clock, changed: Callable[[], None]) -> None:
        self._clock = clock
        self._changed = changed
        self._post_places: dict[int, int] = {}
        self.requests: list[RecordedRequest] = []
        self.posts: list[RecordedRequest] = []

    def open(self, method: str, path: str, kind: Kind, channel_id: int | None) -> int:
        """Record an arrival and return its number."""
        number = len(self.requests)
        request = RecordedRequest(
            number=number,
            time=self._clock.monotonic(),
            method=method,
            path=path,
            kind=kind,
            channel_id=None if channel_id is None else ChannelId(channel_id),
        )
        self.requests.append(request)
        if kind in {"post", "webhook"}:
            self._post_places[number] = len(self.posts)
            self.posts.append(request)
        self._changed()
        return number

    def read(self, number: int, body: JsonObject) -> None:
        """Record what a request asks for."""
        content = body.get("content")
        text = content if isinstance(content, str) else None
        self._set(replace(self.requests[number], body=body, content=text))

    def effect(self, number: int, message_id: MessageId) -> None:
        """Record that a request stored a message."""
        self._set(replace(self.requests[number], message_id=message_id))

    def close(
        self, number: int, outcome: Outcome, status: int | None, code: int | None = None
    ) -> None:
        """Record how a request ended."""
        now = self._clock.monotonic()
        request = self.requests[number]
        self._set(replace(request, outcome=outcome, status=status, code=code, finished=now))

    def _set(self, request: RecordedRequest) -> None:
        self.requests[request.number] = request
        place = self._post_places.get(request.number)
        if place is not None:
            self.posts[place] = request
        self._changed()
