"""Monthly caps in US dollars, per guild and per user; stands on the extension interface alone.

Options, amounts as decimal text so that no cent is lost: `guild_usd` and `user_usd` cap what one
guild or one user may spend in a UTC month, absent is no cap; `request_usd` is set aside for a
request until its cost is known; `providers`, names with commas between, limits the caps to what
those providers charge, so that a model on another account still answers.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Final

from msgspec import Struct

from actors.extensions.registrar import Registrar
from actors.spending.context import TurnOwner
from actors.spending.denials import RequestDeniedError
from actors.spending.holds import Hold, RequestInfo
from actors.spending.ledger import CapReachedError, Ledger, LedgerHold, Wanted
from events.spending import Basis, HoldOpened

OPTIONS: Final = frozenset(("guild_usd", "user_usd", "request_usd", "providers"))
"""The names of the options."""
REQUEST_USD: Final = "0.05"
"""Set aside for a request where `request_usd` is absent."""


class Caps(Struct, frozen=True, kw_only=True):
    """The options, read."""

    guild_pico: int | None
    """Cap of a guild, in 10**-12 US dollars."""
    user_pico: int | None
    """Cap of a user."""
    request_pico: int
    """Set aside for one request."""
    providers: frozenset[str]
    """The providers that are capped; empty: all."""


def register(registrar: Registrar) -> None:
    """Hold all requests against the caps; a request that can't be judged is not made."""
    registrar.request_hook(Budget(caps_of(registrar.options), registrar.ledger), fail_open=False)


def caps_of(options: Mapping[str, str]) -> Caps:
    """Return the caps that `options` name.

    Raises:
        ValueError: An option is unknown, or no amount.
    """
    unknown = sorted(options.keys() - OPTIONS)
    if unknown:
        raise ValueError(f"unknown option {unknown[0]}, allowed are {', '.join(sorted(OPTIONS))}")
    amounts = {name: _pico(name, text) for name, text in options.items() if name.endswith("_usd")}
    names = options.get("providers", "").split(",")
    return Caps(
        guild_pico=amounts.get("guild_usd"),
        user_pico=amounts.get("user_usd"),
        request_pico=amounts.get("request_usd", _pico("request_usd", REQUEST_USD)),
        providers=frozenset(name.strip() for name in names if name.strip()),
    )


class Budget:
    """The hook."""

    def __init__(self, caps: Caps, ledger: Ledger) -> None:
        self._caps = caps
        self._ledger = ledger

    async def begin(self, info: RequestInfo) -> Hold | None:
        """Set money aside with everybody who is capped, or with nobody."""
        owner = info.context
        capped = not self._caps.providers or info.provider in self._caps.providers
        if not capped or not isinstance(owner, TurnOwner):
            return None
        opened: list[LedgerHold] = []
        try:
            for payer, cap in self._payers(owner):
                opened.append(await self._ledger.open(self._wanted(info, owner, payer, cap)))
        except BaseException as error:
            await _Joined(opened, self._caps.request_pico).release(0, "zero")
            if isinstance(error, CapReachedError):
                raise RequestDeniedError(owner, "budget_reached") from error
            raise
        return _Joined(opened, self._caps.request_pico) if opened else None

    def _payers(self, owner: TurnOwner) -> Iterator[tuple[str, int]]:
        if self._caps.guild_pico is not None and owner.guild_id is not None:
            yield f"guild/{owner.guild_id}", self._caps.guild_pico
        if self._caps.user_pico is not None:
            yield f"user/{owner.user_id}", self._caps.user_pico

    def _wanted(self, info: RequestInfo, owner: TurnOwner, payer: str, cap: int) -> Wanted:
        return Wanted(
            payer=payer,
            cap_pico=cap,
            opening=HoldOpened(
                hold_id=f"{owner.turn_id}/{owner.epoch}/{info.request}",
                estimate_pico=self._caps.request_pico,
                provider=info.provider,
                model=info.model,
            ),
            scope=info.scope,
            epoch=owner.epoch,
        )


class _Joined:
    """One request's holds with several payers: each pays for the whole of it."""

    def __init__(self, holds: list[LedgerHold], estimate_pico: int) -> None:
        self._holds = holds
        self.estimate_pico = estimate_pico

    async def release(self, spent_pico: int, basis: Basis) -> None:
        for hold in self._holds:
            await hold.release(spent_pico, basis)


def _pico(name: str, text: str) -> int:
    try:
        amount = Decimal(text)
    except InvalidOperation as error:
        raise ValueError(f"{name} is {text!r}, expected an amount of US dollars") from error
    if not amount.is_finite() or amount < 0:
        raise ValueError(f"{name} is {text!r}, expected an amount of US dollars")
    return int(amount * 10**12)
