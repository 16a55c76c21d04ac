"""Messages to send, and what an earlier life of a sender left on record."""

from actors.ports import Draft, NotPosted, SendRequest
from events.base import ChannelId, Event, MessageId, Scope, TurnId, delivery_stream
from events.codec import append_of
from events.delivery import SendAttempt
from tests.actors.delivery.fakes import CHANNEL, TURN, LogFace

LOST = NotPosted(outcome="unconfirmed", reason="timeout", tries=1)
REFUSED = NotPosted(outcome="definite_refusal", reason="http_403", code=50013, http_status=403)
UNREACHED = NotPosted(outcome="pre_dispatch", reason="connection_refused")


def request(
    flush: int = 1,
    piece: int = 0,
    *,
    turn_id: TurnId = TURN,
    channel_id: ChannelId = CHANNEL,
    epoch: int = 0,
    owed: bool = False,
) -> SendRequest:
    """A message of a turn."""
    return SendRequest(
        turn_id=turn_id,
        scope=Scope(turn_id=turn_id, channel_id=channel_id),
        epoch=epoch,
        flush=flush,
        piece=piece,
        draft=Draft(channel_id=channel_id, content=f"{flush}.{piece}", reply_to=MessageId(9)),
        owed=owed,
        pacing_ms=3.0,
    )


async def record(log: LogFace, *events: Event, after: int = 0) -> None:
    """Write what an earlier life of the sender recorded."""
    await log.append(
        append_of(
            delivery_stream(TURN),
            [(event, log.clock.now()) for event in events],
            scope=Scope(turn_id=TURN, channel_id=CHANNEL),
            expected_seq=after,
        )
    )


def attempt(number: int = 1, flush: int = 1) -> SendAttempt:
    """An attempt of an earlier life."""
    return SendAttempt(
        attempt=number, flush=flush, channel_id=CHANNEL, content="x", sender="earlier"
    )
