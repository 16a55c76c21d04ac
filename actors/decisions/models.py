"""Which decision models a guild or a person may use, and how a stored choice finds its own again.

One list feeds the menus and is what a call is held to, so that no menu offers what a call refuses.
A choice is kept as four fields and matched on all of them: what is deleted and registered again has
new numbers, so that an old choice is dead even where the model's name is the same.

Pure; where registrations are kept, and who pays for managed ones, is behind Protocols.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal, Protocol

from msgspec import Struct
from typing_extensions import override

from actors.spending.context import UsageContext
from events.decisions import ApiStyle

_PROVIDER: Final = re.compile(r"openrouter|custom:[1-9][0-9]{0,18}")
_STYLES: Final[dict[str, tuple[ApiStyle, ...]]] = {
    "openrouter": ("openrouter-decisions",),
    "custom": ("system-one", "openai-decisions"),
}
"""What each provider that can decide speaks."""


class DecisionScope(Struct, frozen=True, kw_only=True):
    """On whose account a decision is made."""

    kind: Literal["server", "personal"]
    """A guild's, or a person's own."""
    owner_id: int
    """Discord's id of the guild or the user."""


class DecisionReference(Struct, frozen=True, kw_only=True):
    """A choice of a model, as it is kept."""

    provider: str
    """`openrouter`, or `custom:` and the connection's number."""
    model_id: int
    """The model's number, from 1."""
    registration_id: int | None = None
    """The number of its registration, for a native model that a scope brought."""
    custom_endpoint_id: int | None = None
    """The number of its endpoint, for a custom one."""

    @property
    def is_whole(self) -> bool:
        """Whether its fields can belong together."""
        is_custom = self.provider != "openrouter"
        numbers = [self.model_id]
        numbers += [
            one for one in (self.registration_id, self.custom_endpoint_id) if one is not None
        ]
        return (
            _PROVIDER.fullmatch(self.provider) is not None
            and min(numbers) > 0
            and is_custom == (self.custom_endpoint_id is not None)
            and not (is_custom and self.registration_id is not None)
        )


class DecisionModel(Struct, frozen=True, kw_only=True):
    """A model that decides."""

    codename: str
    """Its id at the provider, 1 to 200 characters."""
    input_tokens: int
    """The longest input that it documents, in tokens."""
    primitives: tuple[str, ...] = ("predicate",)
    """What it can be asked."""


class DecisionModelOption(Struct, frozen=True, kw_only=True):
    """What a menu offers."""

    model: DecisionModel
    """The model."""
    reference: DecisionReference
    """How the choice of it is kept."""


ReadKey = Callable[[], Awaitable[str]]
"""Returns a saved key, empty where none is saved; raises `UnreadableKeyError`."""


class Registered(Struct, frozen=True, kw_only=True):
    """A registered model, with what it takes to call it."""

    option: DecisionModelOption
    """What menus show of it."""
    kind: str
    """Its provider's kind: `openrouter`, `custom`, or one that can't decide."""
    api_style: ApiStyle
    """The protocol of its endpoint."""
    base_url: str = ""
    """The root of a custom endpoint."""
    read_key: ReadKey
    """Its own saved key; never read for a managed model."""
    requires_key: bool = True
    """Whether it can't be asked without one."""
    owner: DecisionScope | None = None
    """The one scope that it belongs to; None: the operator's, for all."""
    is_managed: bool = False
    """Whether somebody else pays for it, with a key of his own."""
    allow_private: bool = False
    """Whether its address may be inside; never on a person's account."""

    @override
    def __repr__(self) -> str:
        return f"Registered({self.option.model.codename})"

    @property
    def can_decide(self) -> bool:
        """Whether it can be asked at all."""
        is_addressed = self.kind == "openrouter" or bool(self.base_url)
        return is_addressed and self.api_style in _STYLES.get(self.kind, ())


class Credential(Struct, frozen=True, kw_only=True):
    """A payer's key."""

    api_key: str
    """The key."""
    context: UsageContext | None
    """Whose the request then is, compared by identity; goes to whoever holds the money."""

    @override
    def __repr__(self) -> str:
        return "Credential()"


class PayerOption(Protocol):
    """Somebody whom the deployment has registered as payer for models that it manages."""

    async def admits(self, scope: DecisionScope) -> bool:
        """Return whether it pays for `scope` at the moment."""
        ...

    def validates(self, model: DecisionModel) -> bool:
        """Return whether it pays for this model."""
        ...

    async def resolve_credentials(
        self, scope: DecisionScope, slot: str, capability: Literal["decision"]
    ) -> Credential | None:
        """Return its key, None where it has none for them; may raise a denial."""
        ...


class Payers(Protocol):
    """Who pays for what somebody else pays for."""

    def owner(self, scope: DecisionScope, slot: str) -> PayerOption | None:
        """Return who owns the slot, None where nobody does any more."""
        ...


class DecisionCatalog(Protocol):
    """Where registrations are kept."""

    async def registered(self, scope: DecisionScope) -> Sequence[Registered]:
        """Return what is registered for `scope`, the operator's and its own."""
        ...


async def load_decision_models(
    catalog: DecisionCatalog, payers: Payers | None, scope: DecisionScope, slot: str = "decision"
) -> list[DecisionModelOption]:
    """Return what `scope` may choose for `slot`, in the catalog's order."""
    rows = await catalog.registered(scope)
    return [row.option for row in rows if await _is_offered(row, payers, scope, slot)]


async def _is_offered(
    row: Registered, payers: Payers | None, scope: DecisionScope, slot: str
) -> bool:
    if not (belongs(row, scope) and row.can_decide):
        return False
    return not row.is_managed or await paying(row, payers, scope, slot) is not None


def belongs(row: Registered, scope: DecisionScope) -> bool:
    """Return whether `scope` may use what `row` registers."""
    return row.owner is None or row.owner == scope


async def paying(
    row: Registered, payers: Payers | None, scope: DecisionScope, slot: str
) -> PayerOption | None:
    """Return who pays for a managed model in `slot`: he must admit the scope and the model both."""
    payer = payers.owner(scope, slot) if payers is not None else None
    if payer is None or not payer.validates(row.option.model):
        return None
    return payer if await payer.admits(scope) else None
