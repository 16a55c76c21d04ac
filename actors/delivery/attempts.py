"""What the delivery stream of one turn says: its attempts and what became of them; pure.

The stream alternates: an attempt, then its one outcome. An attempt without one is in flight in the
process that recorded it, or was lost with that process.
"""

from collections.abc import Iterable
from typing import Final, Literal

from actors.ports import NotPosted, NotSent, Posted, SendRequest, SendResult, Sent
from events.base import Event, Recorded
from events.delivery import COMPONENTS_REFUSED, Receipt, Retraction, SendAttempt, SendFailed

Key = tuple[int, int, str, int]
"""What one message is known by in its turn: flush, piece, purpose, part."""


def key_of(message: SendRequest | SendAttempt) -> Key:
    """Return the key under which a message is posted at most once."""
    return (message.flush, message.piece, message.purpose, message.part)


def outcome_of(attempt: SendAttempt, outcome: Posted | NotPosted) -> Receipt | SendFailed:
    """Return the event that says what became of `attempt`."""
    if isinstance(outcome, Posted):
        return Receipt(
            attempt=attempt.attempt,
            message_id=outcome.message_id,
            destination_id=outcome.channel_id,
            ms=outcome.ms,
            tries=outcome.tries,
        )
    return SendFailed(
        attempt=attempt.attempt,
        outcome=outcome.outcome,
        reason=outcome.reason,
        code=outcome.code,
        http_status=outcome.http_status,
        ms=outcome.ms,
        tries=outcome.tries,
    )


class Attempts:
    """A left fold over one delivery stream."""

    def __init__(self, stream: Iterable[Recorded] = ()) -> None:
        self.seq: int = 0
        """Seq of the last event taken."""
        self.is_unconfirmed: bool = False
        """Whether the fate of any attempt is unknown: nothing may follow it."""
        self.retracting: tuple[int, ...] = ()
        """Attempts of a retraction that was begun and is not done."""
        self._keys: Final[dict[int, Key]] = {}
        self._latest: Final[dict[Key, int]] = {}
        self._results: Final[dict[int, SendResult]] = {}
        self._with_buttons: Final[set[int]] = set()
        for recorded in stream:
            self.take(recorded.event)

    @property
    def next_attempt(self) -> int:
        """Return the ordinal of the next attempt, from 1."""
        return len(self._keys) + 1

    @property
    def open(self) -> list[int]:
        """Return the attempts without outcome, oldest first."""
        return [attempt for attempt in self._keys if attempt not in self._results]

    @property
    def results(self) -> list[SendResult]:
        """Return the outcomes, in the order of their attempts."""
        return [self._results[attempt] for attempt in self._keys if attempt in self._results]

    def result(self, attempt: int) -> SendResult | None:
        """Return the outcome of an attempt, None while it has none."""
        return self._results.get(attempt)

    def final(self, key: Key) -> SendResult | None:
        """Return the outcome that forbids to attempt the message again; None where none does.

        Of a `pre_dispatch` nothing reached Discord, and what was refused for its buttons is
        posted once more without: asking again makes a new attempt.
        """
        result = self._results.get(self._latest.get(key, 0))
        if isinstance(result, NotSent) and result.outcome == "pre_dispatch":
            return None
        return None if self.lost_buttons(key) else result

    def lost_buttons(self, key: Key) -> bool:
        """Return whether the message was just refused for its buttons, and for nothing else."""
        latest = self._latest.get(key, 0)
        result = self._results.get(latest)
        return (
            latest in self._with_buttons
            and isinstance(result, NotSent)
            and result.outcome == "definite_refusal"
            and result.reason == COMPONENTS_REFUSED
        )

    def take(self, event: Event) -> None:
        """Take the stream's next event."""
        self.seq += 1
        match event:
            case SendAttempt():
                self._keys[event.attempt] = key_of(event)
                self._latest[key_of(event)] = event.attempt
                if event.buttons:
                    self._with_buttons.add(event.attempt)
            case Receipt():
                flush, piece, _, part = self._keys[event.attempt]
                self._results[event.attempt] = Sent(
                    attempt=event.attempt,
                    flush=flush,
                    piece=piece,
                    part=part,
                    message_id=event.message_id,
                )
            case SendFailed():
                flush, piece, _, _ = self._keys[event.attempt]
                self.is_unconfirmed |= event.outcome == "unconfirmed"
                self._results[event.attempt] = NotSent(
                    flush=flush,
                    piece=piece,
                    attempt=event.attempt,
                    outcome=event.outcome,
                    reason=event.reason,
                    code=event.code,
                )
            case Retraction(is_done=False):
                self.retracting = event.attempts
            case Retraction():
                self.retracting = ()
                for attempt in set(event.attempts) - set(event.kept):
                    self._retract(attempt)
            case _:
                pass

    def _retract(self, attempt: int) -> None:
        flush, piece, _, _ = self._keys[attempt]
        self._results[attempt] = NotSent(
            flush=flush, piece=piece, attempt=attempt, outcome="retracted", reason="retracted"
        )


def unattempted(
    request: SendRequest, outcome: Literal["stopped", "fenced"], reason: str
) -> NotSent:
    """Return what answers a request of which nothing was attempted."""
    return NotSent(
        flush=request.flush, piece=request.piece, attempt=None, outcome=outcome, reason=reason
    )
