"""Requests that a payer refused, by guild, model, reason and UTC day, and what became of the turn.

A request is refused once, however often that is recorded. `answered` counts those whose turn still
came to its end with an answer, by another model or key.
"""

from datetime import date

from msgspec import Struct, field
from msgspec.structs import replace

from events.base import GuildId, Recorded, TurnId
from events.spending import RequestDenied
from events.turn import TurnEnded, TurnStatus
from projections.fold import turn_of


class DenialKey(Struct, frozen=True, kw_only=True):
    """What denials are counted by."""

    guild_id: GuildId | None
    """The guild; None for direct messages."""
    provider: str
    """The provider's name in the configuration."""
    model: str
    """The model's id at the provider."""
    origin: str
    """`hook`: refused before it left; `translator`: by the provider."""
    code: str
    """A display-safe word for why."""
    day: date
    """The UTC day of the denial."""


class Denials(Struct, frozen=True, kw_only=True):
    """How many."""

    denials: int = 0
    """Requests refused."""
    answered: int = 0
    """Those of turns that were answered all the same."""


class DenialState(Struct, frozen=True, kw_only=True):
    """All denials."""

    denied: dict[tuple[TurnId, int], DenialKey] = field(
        default_factory=dict[tuple[TurnId, int], DenialKey]
    )
    """The first denial of each request."""
    statuses: dict[TurnId, TurnStatus] = field(default_factory=dict[TurnId, TurnStatus])
    """How turns ended."""

    @property
    def rows(self) -> dict[DenialKey, Denials]:
        """All counts."""
        rows: dict[DenialKey, Denials] = {}
        for (turn_id, _), key in self.denied.items():
            row = rows.get(key, Denials())
            is_answered = self.statuses.get(turn_id) == "completed"
            rows[key] = Denials(denials=row.denials + 1, answered=row.answered + is_answered)
        return rows


def initial() -> DenialState:
    """Return the state of an empty log."""
    return DenialState()


def evolve(state: DenialState, recorded: Recorded) -> DenialState:
    """Return the state after one more event."""
    turn_id = turn_of(recorded)
    if turn_id is None:
        return state
    match recorded.event:
        case RequestDenied() as event if (turn_id, event.request) not in state.denied:
            key = DenialKey(
                guild_id=recorded.scope.guild_id,
                provider=event.provider,
                model=event.model,
                origin=event.origin,
                code=event.code,
                day=recorded.recorded_at.date(),
            )
            return replace(state, denied={**state.denied, (turn_id, event.request): key})
        case TurnEnded(status=status):
            return replace(state, statuses={**state.statuses, turn_id: status})
        case _:
            return state
