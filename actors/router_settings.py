"""What a router is given: the settings of every turn, and where ids and seeds come from."""

from collections.abc import Callable

from msgspec import Struct

from actors.credentials import CredentialStore
from actors.providers.adapter import ModelRoute
from events.base import TurnId
from events.settings import Persona
from events.turn import TurnSettings


class RouterSettings(Struct, frozen=True, kw_only=True):
    """What the router gives to every turn."""

    models: tuple[ModelRoute, ...]
    """The model route, the first tried first."""
    system_prompt: str
    """What every persona's model is told first."""
    personas: tuple[Persona, ...]
    """Who the bot can be, at least one; the first is the main persona, the others are alters."""
    turn_settings: TurnSettings
    """Settings of a turn."""
    credentials: CredentialStore
    """Where the keys of the guilds' own providers are."""
    is_shuffled: bool = False
    """Whether a model drawn for each turn is asked first, the others after it in their order."""
    tools: tuple[str, ...] = ()
    """The tools that models may call, by name."""
    history_limit: int = 30
    """Most messages of the channel's past to give to the model."""
    recover_within_seconds: float = 300.0
    """Oldest a trigger may be to be taken up after a restart."""


class Identities(Struct, frozen=True, kw_only=True):
    """Where ids and seeds come from."""

    turn_id: Callable[[], TurnId]
    """Returns a fresh UUIDv7."""
    seed: Callable[[], int]
    """Returns 0 to 2**63 - 1."""
