"""Which look a persona keeps, and under which name a message must go to be seen as it looks.

Discord draws consecutive messages of one webhook under one name as one block, with the picture of
the first: a change of looks would be invisible. So where the very last message of the channel has
the same name and another look, the name says the look too (`Persona (sprite)`), and stays so as
long as the look does. Whether somebody else spoke in between is asked of Discord only then.
"""

import asyncio
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from actors.delivery.table_messages import position_before
from actors.ports import Clock, LogPort, SendRequest
from actors.voice import Voice, decorated
from actors.webhook_port import Place, WebhookCalls
from events.base import ChannelId
from events.delivery import Receipt
from projections import appearance
from projections.appearance import Appearance, Shown
from projections.fold import fold

ADJACENT_SECONDS: Final = 600.0
"""Age of a message from which on Discord begins a new block below it."""
LOOK_BACK_SECONDS: Final = 24 * 3_600.0
"""How far back a look is remembered by a sender that has just begun."""
BASE: Final = "neutral"
"""What a name says of a persona's own look, where it has to say it."""
_BATCH: Final = 10_000


class Appearances:
    """What one sender knows of how the bot looked."""

    def __init__(self, log: LogPort, calls: WebhookCalls, clock: Clock) -> None:
        self._log = log
        self._calls = calls
        self._clock = clock
        self._state: Appearance | None = None
        self._reading = asyncio.Lock()

    def take(self, receipt: Receipt) -> None:
        """Remember a message that was just confirmed."""
        if self._state is not None:
            self._state = appearance.after(self._state, receipt, self._clock.now())

    async def worn(self, request: SendRequest) -> SendRequest:
        """Return the request in the look that its persona wore last, where it asks for that."""
        voice = request.voice
        if voice is None or not request.looks:
            return request
        state = await self._known()
        key = state.looks.get((request.draft.channel_id, voice.persona))
        look = next((one for one in request.looks if one.sprite == key), voice)
        return replace(request, voice=look)

    async def name(self, channel_id: ChannelId, voice: Voice, webhook_id: int) -> str:
        """Return the name under which the webhook's next message must go."""
        if voice.kind != "appearance":
            return voice.name
        last = (await self._known()).last.get(channel_id)
        if last is None or not self._is_block(last, voice, webhook_id):
            return voice.name
        is_same = last.sprite == voice.sprite
        if is_same == (last.name == voice.name) or await self._is_parted(channel_id, last):
            return voice.name
        if is_same and last.name is not None:
            return last.name
        return decorated(voice.persona.strip(), voice.sprite or BASE)

    def _is_block(self, last: Shown, voice: Voice, webhook_id: int) -> bool:
        age = (self._clock.now() - last.at).total_seconds()
        return (
            age < ADJACENT_SECONDS
            and last.webhook_id == webhook_id
            and last.persona == voice.persona
            and last.kind == "appearance"
        )

    async def _is_parted(self, channel_id: ChannelId, last: Shown) -> bool:
        """Return whether anybody spoke after the bot's last message, as far as Discord tells."""
        place = await self._calls.place(channel_id)
        newest = place.last_message_id if isinstance(place, Place) else None
        return newest is not None and newest > last.message_id

    async def _known(self) -> Appearance:
        async with self._reading:
            if self._state is None:
                self._state = await self._look_back()
            return self._state

    async def _look_back(self) -> Appearance:
        start = self._clock.now() - timedelta(seconds=LOOK_BACK_SECONDS)
        state = appearance.initial()
        after = await position_before(self._log, start)
        while batch := await self._log.read_all(after, kinds=("receipt",), limit=_BATCH):
            state = fold(appearance.evolve, state, batch)
            after = batch[-1].position
        return state
