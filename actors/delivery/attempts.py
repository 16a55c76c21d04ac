"""What the delivery stream of one turn says: its attempts and what became of them; pure.

The stream alternates: an attempt, then its one outcome; retractions stand in between. A message has
one post, or after a refusal those few that `Attempts.second` and `Attempts.lost_buttons` permit,
each an attempt of its own. An attempt without outcome is in flight in the process that recorded it,
or was lost with it.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from actors.ports import NotSent, SendRequest, SendResult, Sent
from events.base import Event, Recorded
from events.delivery import COMPONENTS_REFUSED, Receipt, Retraction, SendAttempt, SendFailed

QUIET_CODES: Final = frozenset((10003, 50001))
"""Discord's refusals of a channel that is gone or closed to the bot: no way leads there."""
INVALID_WEBHOOK_CODES: Final = frozenset((10015, 50027))
"""Discord's refusals of a webhook that is no more, or whose token is wrong."""

Second = Literal["recreate", "bot"]
"""What a message may be posted again by: another webhook, or the bot's own account."""

Key = tuple[int, int, str, int]
"""What one message is known by in its turn: flush, piece, purpose, part."""


def key_of(message: SendRequest | SendAttempt) -> Key:
    """Return the key under which a message is posted at most once."""
    return (message.flush, message.piece, message.purpose, message.part)


class Attempts:
    """A left fold over one delivery stream."""

    def __init__(self, stream: Iterable[Recorded] = ()) -> None:
        self.seq: int = 0
        """Seq of the last event taken."""
        self.is_unconfirmed: bool = False
        """Whether the fate of any attempt is unknown: nothing may follow it."""
        self.retracting: tuple[int, ...] = ()
        """Attempts of a retraction that was begun and is not done."""
        self._made: Final[dict[int, SendAttempt]] = {}
        self._posts: Final[dict[Key, list[int]]] = {}
        self._receipts: Final[dict[int, Receipt]] = {}
        self._results: Final[dict[int, SendResult]] = {}
        for recorded in stream:
            self.take(recorded.event)

    @property
    def next_attempt(self) -> int:
        """Return the ordinal of the next attempt, from 1."""
        return len(self._made) + 1

    @property
    def open(self) -> list[int]:
        """Return the attempts without outcome, oldest first."""
        return [attempt for attempt in self._made if attempt not in self._results]

    @property
    def results(self) -> list[SendResult]:
        """Return the outcomes, in the order of their attempts.

        A refusal that another post of the same message followed is left out, and so is what says
        which message is answered, unless nobody knows whether it stands.
        """
        return [
            result
            for attempt, result in sorted(self._results.items())
            if self._counts(self._made[attempt], result)
        ]

    def _counts(self, made: SendAttempt, result: SendResult) -> bool:
        outcome = result.outcome if isinstance(result, NotSent) else "sent"
        if made.purpose == "reply_notice":
            return outcome == "unconfirmed"
        is_last = self._posts[key_of(made)][-1] == made.attempt
        return is_last or outcome != "definite_refusal"

    @property
    def needs_reply_notice(self) -> bool:
        """Whether no message stands yet, and none said which message is answered."""
        purposes = {made.purpose for made in self._made.values()}
        return "reply_notice" not in purposes and not any(
            self._made[attempt].purpose == "answer" for attempt in self._receipts
        )

    def reply_notices(self) -> list[int]:
        """Return the attempts whose messages say what is answered."""
        made = self._made
        return [one for one in self._receipts if made[one].purpose == "reply_notice"]

    def standing(self, attempts: Iterable[int]) -> dict[int, Receipt]:
        """Return the receipts of those of `attempts` whose messages were not withdrawn."""
        return {
            one: self._receipts[one]
            for one in attempts
            if one in self._receipts and isinstance(self._results[one], Sent)
        }

    def webhook_of(self, key: Key) -> int | None:
        """Return the webhook that the message was last posted through."""
        posts = self._posts.get(key, ())
        return self._made[posts[-1]].webhook_id if posts else None

    def result(self, attempt: int) -> SendResult | None:
        """Return the outcome of an attempt, None while it has none."""
        return self._results.get(attempt)

    def final(self, key: Key) -> SendResult | None:
        """Return the outcome that forbids to attempt the message again; None where none does.

        Of a `pre_dispatch` nothing reached Discord, and a refusal may permit another post: asking
        again makes a new attempt.
        """
        posts = self._posts.get(key)
        result = self._results.get(posts[-1]) if posts else None
        if isinstance(result, NotSent) and result.outcome == "pre_dispatch":
            return None
        return None if self.lost_buttons(key) or self.second(key) else result

    def lost_buttons(self, key: Key) -> bool:
        """Return whether the message was just refused for its buttons, and for nothing else."""
        posts = self._posts.get(key)
        return bool(posts) and self._is_refused_for_buttons(posts[-1])

    def goes_without_buttons(self, key: Key) -> bool:
        """Return whether Discord has refused the message for its buttons, by whatever way."""
        return any(self._is_refused_for_buttons(one) for one in self._posts.get(key, ()))

    def _is_refused_for_buttons(self, attempt: int) -> bool:
        result = self._results.get(attempt)
        return (
            bool(self._made[attempt].buttons)
            and isinstance(result, NotSent)
            and result.outcome == "definite_refusal"
            and result.reason == COMPONENTS_REFUSED
        )

    def second(self, key: Key) -> Second | None:
        """Return what the refusals of a message permit, None for nothing but its one post.

        Only Discord's word that it took nothing permits anything. A webhook that is no more is
        replaced once; any other refusal of a webhook, and a second one, leaves the bot's way. A
        message that was refused for its buttons goes without them first, the same way.
        """
        refused = self._refused(key)
        if not refused or key[2] == "reply_notice" or self.lost_buttons(key):
            return None
        codes = [result.code for result in refused]
        if codes[-1] in QUIET_CODES:
            return None
        return "recreate" if len(codes) == 1 and codes[0] in INVALID_WEBHOOK_CODES else "bot"

    def _refused(self, key: Key) -> Sequence[NotSent]:
        """Return the definite refusals of the message's webhooks; none where it ended otherwise."""
        refused: list[NotSent] = []
        for attempt in self._posts.get(key, ()):
            result = self._results.get(attempt)
            if not isinstance(result, NotSent):
                return ()
            if result.outcome == "pre_dispatch" or self._is_refused_for_buttons(attempt):
                continue
            if result.outcome != "definite_refusal" or self._made[attempt].route == "bot":
                return ()
            refused.append(result)
        return refused

    def take(self, event: Event) -> None:
        """Take the stream's next event."""
        self.seq += 1
        match event:
            case SendAttempt():
                self._made[event.attempt] = event
                self._posts.setdefault(key_of(event), []).append(event.attempt)
            case Receipt():
                self._receipts[event.attempt] = event
                self._results[event.attempt] = self._sent(event)
            case SendFailed():
                self.is_unconfirmed |= event.outcome == "unconfirmed"
                self._results[event.attempt] = self._not_sent(event)
            case Retraction(is_done=False):
                self.retracting = event.attempts
            case Retraction():
                self.retracting = ()
                for attempt in set(event.attempts) - set(event.kept):
                    self._retract(attempt)
            case _:
                pass

    def _sent(self, receipt: Receipt) -> Sent:
        flush, piece, _, part = key_of(self._made[receipt.attempt])
        return Sent(
            attempt=receipt.attempt,
            flush=flush,
            piece=piece,
            part=part,
            message_id=receipt.message_id,
        )

    def _not_sent(self, failed: SendFailed) -> NotSent:
        flush, piece, _, _ = key_of(self._made[failed.attempt])
        return NotSent(
            flush=flush,
            piece=piece,
            attempt=failed.attempt,
            outcome=failed.outcome,
            reason=failed.reason,
            code=failed.code,
        )

    def _retract(self, attempt: int) -> None:
        flush, piece, _, _ = key_of(self._made[attempt])
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
