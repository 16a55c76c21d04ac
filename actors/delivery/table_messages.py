"""The buttons below tables' pictures: whose source they show, and their end after two hours.

A projection of the log, so that a restart changes nothing: at its start the sender reads which
tables it posted lately, and disables the buttons whose time came while no sender was there. Those
of more than a day ago are left as they are; pressing them says that they have expired.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

import structlog
from msgspec.structs import replace

from actors.delivery.table_button import LIFETIME_SECONDS, SHOW_MARKDOWN
from actors.ports import Button, Clock, HistoryMessage, LogPort, SendRequest
from events.base import MessageId, Position, TurnId, channel_stream, turn_stream
from events.codec import append_of
from events.delivery import ButtonDisabled, Receipt
from events.generation import Flush
from projections import table_messages
from projections.fold import fold
from projections.table_messages import TableMessage

EditButtons = Callable[[TableMessage, tuple[Button, ...]], Awaitable[str | None]]
"""Puts buttons below a message; returns why that failed, None where it did not."""

LOOK_BACK_SECONDS: Final = 24 * 3_600.0
"""How old a message may be to be remembered."""
_KINDS: Final = ("send_attempt", "receipt", "send_failed", "button_disabled")
_BATCH: Final = 10_000

_log = structlog.get_logger(__name__)


class TableMessages:
    """What one sender knows of the tables that it, and senders before it, posted."""

    def __init__(self, log: LogPort, edit: EditButtons, clock: Clock) -> None:
        self._log = log
        self._edit = edit
        self._clock = clock
        self._posted: dict[MessageId, TableMessage] = {}
        self._armed: dict[MessageId, TableMessage] = {}
        self._more = asyncio.Event()
        self._is_known = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to learn what the log knows, and to disable what has expired."""
        self._task = asyncio.create_task(self._run())

    def add(self, turn_id: TurnId, request: SendRequest, receipt: Receipt) -> None:
        """Remember a message that was just confirmed."""
        message = TableMessage(
            message_id=receipt.message_id,
            destination_id=receipt.destination_id,
            turn_id=turn_id,
            scope=request.scope,
            flush=request.flush,
            piece=request.piece,
            webhook_id=receipt.webhook_id,
            posted_at=self._clock.now(),
        )
        self._posted[message.message_id] = self._armed[message.message_id] = message
        self._more.set()

    async def source(self, message_id: MessageId) -> str | None:
        """Return the Markdown of the table in a message; None where none is there, or too old."""
        await self._is_known.wait()
        message = self._posted.get(message_id)
        if message is None or self._seconds_left(message) <= 0:
            return None
        return await self._read(message)

    async def readable(self, messages: Iterable[HistoryMessage]) -> list[HistoryMessage]:
        """Return `messages` with the source of each known table in place of its picture."""
        found: list[HistoryMessage] = []
        for one in messages:
            table = self._posted.get(one.message_id)
            source = None if table is None else await self._read(table)
            found.append(one if source is None else replace(one, content=source))
        return found

    async def aclose(self) -> None:
        """Disable no more buttons; the next sender goes on."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _read(self, message: TableMessage) -> str | None:
        for recorded in await self._log.read(turn_stream(message.turn_id)):
            event = recorded.event
            if isinstance(event, Flush) and event.flush == message.flush:
                return event.pieces[message.piece].content.strip()
        return None

    async def _run(self) -> None:
        try:
            await self._look_back()
            self._is_known.set()
            await self._disable_in_time()
        except Exception:  # noqa: BLE001 - messages are posted all the same
            _log.exception("table_buttons_given_up")
        finally:
            self._is_known.set()

    async def _disable_in_time(self) -> None:
        while True:
            if not self._armed:
                self._more.clear()
                await self._more.wait()
            # Further ones are posted later and expire later: nothing has to wake this sleep.
            message = min(self._armed.values(), key=lambda one: one.posted_at)
            await self._clock.sleep(max(0.0, self._seconds_left(message)))
            if self._seconds_left(message) <= 0:
                await self._disable(message)

    async def _look_back(self) -> None:
        start = self._clock.now() - timedelta(seconds=LOOK_BACK_SECONDS)
        state = table_messages.initial()
        after = await position_before(self._log, start)
        while batch := await self._log.read_all(after, kinds=_KINDS, limit=_BATCH):
            state = fold(table_messages.evolve, state, batch)
            after = batch[-1].position
        for message_id, message in state.posted.items():
            self._posted.setdefault(message_id, message)
            if message_id not in state.disabled:
                self._armed.setdefault(message_id, message)

    async def _disable(self, message: TableMessage) -> None:
        button = replace(SHOW_MARKDOWN, is_disabled=True)
        failure = await self._edit(message, (button,))
        if failure is not None:
            _log.warning("button_not_disabled", message_id=message.message_id, reason=failure)
        # Whatever became of it: a message that is gone would be asked for again at every start.
        disabled = ButtonDisabled(message_id=message.message_id, failure=failure)
        channel_id = message.scope.channel_id or message.destination_id
        scope = replace(message.scope, turn_id=None)
        await self._log.append(
            append_of(channel_stream(channel_id), [(disabled, self._clock.now())], scope=scope)
        )
        self._armed.pop(message.message_id, None)
        self._forget_old()

    def _forget_old(self) -> None:
        for message_id, message in list(self._posted.items()):
            if self._seconds_left(message) > LIFETIME_SECONDS - LOOK_BACK_SECONDS:
                break
            del self._posted[message_id]

    def _seconds_left(self, message: TableMessage) -> float:
        age = (self._clock.now() - message.posted_at).total_seconds()
        return LIFETIME_SECONDS - age


async def position_before(log: LogPort, moment: datetime) -> Position:
    """Return a position behind which all that happened since `moment` stands.

    The log has no index on time; its positions follow time but for what waited to be committed,
    so a search in halves asks it a few dozen times, whatever its size.
    """

    async def is_older(position: int) -> bool:
        found = await log.read_all(Position(position), limit=1)
        return bool(found) and found[0].recorded_at < moment

    step = 1
    while await is_older(step - 1):
        step *= 2
    low, high = step // 2, step
    while low < high:
        middle = (low + high) // 2
        if await is_older(middle):
            low = middle + 1
        else:
            high = middle
    return Position(low)
