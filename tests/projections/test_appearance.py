"""What is remembered of looks."""

from datetime import UTC, datetime

import pytest

from events.base import ChannelId, Event, MessageId, Position, Recorded, Scope, Seq, StreamId
from events.delivery import Receipt, SendAttempt, SpeakerKind
from projections import appearance
from projections.fold import fold

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def recorded(*events: Event) -> list[Recorded]:
    """Return events of a delivery stream as the log has them."""
    return [
        Recorded(
            position=Position(number),
            stream=StreamId("delivery/1"),
            seq=Seq(number),
            recorded_at=NOW,
            scope=Scope(),
            event=event,
        )
        for number, event in enumerate(events, start=1)
    ]


def shown(
    channel: int, sprite: str | None = None, kind: SpeakerKind = "appearance", number: int = 1
) -> Receipt:
    """Return the receipt of a line."""
    return Receipt(
        attempt=number,
        message_id=MessageId(number),
        destination_id=ChannelId(channel),
        route="bot" if kind == "bot" else "webhook",
        webhook_id=None if kind == "bot" else 7,
        identity=None if kind == "bot" else "Touko",
        persona=None if kind == "bot" else "Touko",
        speaker_kind=kind,
        sprite=sprite,
    )


@pytest.mark.parametrize(
    ("kinds", "look"),
    [
        pytest.param([("mad", "appearance"), (None, "bot")], "mad", id="bot"),
        pytest.param([("mad", "appearance"), (None, "copied")], "mad", id="V163"),
        pytest.param([("mad", "appearance"), ("Jack", "identity_sprite")], "Jack", id="identity"),
        pytest.param([("mad", "appearance"), (None, "appearance")], None, id="T154-base"),
    ],
)
def test_a_look_stays_until_the_persona_puts_on_another(
    kinds: list[tuple[str | None, SpeakerKind]], look: str | None
) -> None:
    """What the bot says as itself, or in somebody else's looks, changes none."""
    events = recorded(*(shown(1, sprite, kind) for sprite, kind in kinds))

    state = fold(appearance.evolve, appearance.initial(), events)

    assert state.looks == {(ChannelId(1), "Touko"): look}
    assert state.last[ChannelId(1)].kind == kinds[-1][1]


def test_t156_the_oldest_looks_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sender lives for months, in thousands of channels."""
    monkeypatch.setattr(appearance, "LOOKS_KEPT", 2)
    monkeypatch.setattr(appearance, "CHANNELS_KEPT", 2)
    events = recorded(shown(1), shown(2), shown(1, "mad"), shown(3))

    state = fold(appearance.evolve, appearance.initial(), events)

    assert list(state.looks) == [(ChannelId(1), "Touko"), (ChannelId(3), "Touko")]
    assert list(state.last) == [ChannelId(1), ChannelId(3)]


def test_what_was_only_attempted_is_not_remembered() -> None:
    """T157: nobody has seen it."""
    [attempted] = recorded(SendAttempt(attempt=1, flush=1, channel_id=ChannelId(1), content="Hm."))

    assert appearance.evolve(appearance.initial(), attempted) == appearance.initial()
