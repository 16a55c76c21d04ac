"""Money set aside for one provider request, from before it leaves until it is over.

`provider_request` is the only way to a hold, so that each is released exactly once. How a request
ended decides what counts where no cost was reported: an answer that came whole counts with the
estimate; one that was refused or never sent counts nothing, and so does one that broke off. A cost
that was reported counts however it ended.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Literal, Protocol

import structlog
from msgspec import Struct
from typing_extensions import override

from actors.errors import RefusalError
from actors.spending.context import UsageContext
from actors.spending.denials import RequestDeniedError
from events.base import Scope
from events.spending import Basis

_log = structlog.get_logger(__name__)

Ending = Literal["unsent", "refused", "broken", "completed"]
"""How far a request came: not sent, answered by an error status, in flight, answered whole."""


class RequestInfo(Struct, frozen=True, kw_only=True):
    """What a hook is told of a request. Never logged, never recorded."""

    context: UsageContext | None
    """Whose it is."""
    api_key: str
    """The key it carries."""
    url: str
    """Its address."""
    body: str
    """Its JSON body."""
    provider: str
    """The provider's name in the configuration."""
    model: str
    """The model's id at the provider."""
    request: int
    """Its ordinal in the turn."""
    scope: Scope
    """Whom its events concern."""

    @override
    def __repr__(self) -> str:
        return f"RequestInfo(request {self.request})"


class Hold(Protocol):
    """Money set aside by a hook."""

    estimate_pico: int
    """How much, in 10**-12 US dollars."""

    async def release(self, spent_pico: int, basis: Basis) -> None:
        """End the hold: so much was spent. Called exactly once."""
        ...


class RequestHook(Protocol):
    """Decides over requests before they leave."""

    async def begin(self, info: RequestInfo) -> Hold | None:
        """Return a hold, or None where it does not care.

        Raises:
            RequestDeniedError: The request must not be made.
        """
        ...


class HoldHandle:
    """What a request tells of itself; without a hook nobody listens, and nothing differs."""

    def __init__(self) -> None:
        self._costs: dict[str, int] = {}
        self._is_reported = False
        self.ending: Ending = "unsent"
        """How far the request came."""

    def report_cost(self, pico: int | None, key: str | None = None) -> None:
        """Take a cost that the provider reported; the same key replaces, no key adds."""
        if pico is None or pico < 0:
            return
        self._is_reported = True
        name = key or ""
        self._costs[name] = pico if key else self._costs.get(name, 0) + pico

    def settlement(self, estimate_pico: int) -> tuple[int, Basis]:
        """Return what counts as spent, and on what basis."""
        if self._is_reported:
            return sum(self._costs.values()), "reported"
        if self.ending == "completed":
            return estimate_pico, "estimate"
        return 0, "none" if self.ending == "broken" else "zero"


@asynccontextmanager
async def provider_request(
    hook: RequestHook | None, info: RequestInfo, *, fail_open: bool = True
) -> AsyncGenerator[HoldHandle]:
    """Hold money for the request that the block makes; released once, however it is left.

    Args:
        hook: Who decides; None: nobody.
        info: The request.
        fail_open: Whether a hook that breaks lets the request pass; else it denies it.

    Raises:
        RequestDeniedError: The hook refuses it. Nothing may be sent.
    """
    hold = await _begin(hook, info, fail_open=fail_open) if hook is not None else None
    handle = HoldHandle()
    try:
        yield handle
    finally:
        if hold is not None:
            # A second cancellation ends the waiting, not the release.
            await asyncio.shield(asyncio.ensure_future(_release(hold, handle)))


async def _begin(hook: RequestHook, info: RequestInfo, *, fail_open: bool) -> Hold | None:
    try:
        return await hook.begin(info)
    except RefusalError:
        raise
    except Exception as error:
        # Only its type: the text may hold what the hook was told.
        kind = type(error).__name__
        _log.error("request_hook_failed", request=info.request, error=kind, fail_open=fail_open)
        if fail_open:
            return None
        raise RequestDeniedError(info.context, "budget_unknown") from error


async def _release(hold: Hold, handle: HoldHandle) -> None:
    spent, basis = handle.settlement(hold.estimate_pico)
    try:
        await hold.release(spent, basis)
    except Exception as error:  # noqa: BLE001 - as above
        _log.error("hold_not_released", basis=basis, error=type(error).__name__)
