"""Budgets for people: what the log says of each payer, beside the cap that the file names."""

from decimal import Decimal
from typing import Final

from msgspec import structs

from actors.errors import RefusalError
from actors.extensions.budget import Caps, caps_of
from actors.table import Column, Table
from bot.settings import Settings

EXTENSION: Final = "budget"
"""The extension's name in the configuration."""

_PICO: Final = Decimal(10) ** 12


def is_budgeted(settings: Settings) -> bool:
    """Return whether the configuration turns budgets on."""
    return EXTENSION in settings.extensions


def with_caps(table: Table, settings: Settings) -> Table:
    """Return the budgets of `table` with each payer's cap behind them, None where there is none.

    A payer's cap is the one in force, whatever it was when the money was spent.

    Raises:
        RefusalError: The configuration names a cap that is none.
    """
    caps = _caps(settings)
    column = Column(name="cap_usd", type="DECIMAL(38,12)", unit="USD")
    rows = tuple((*row, _cap(caps, str(row[0]))) for row in table.rows)
    return structs.replace(table, columns=(*table.columns, column), rows=rows)


def _caps(settings: Settings) -> Caps:
    found = settings.extensions.get(EXTENSION)
    try:
        return caps_of(found.options if found else {})
    except ValueError as error:
        raise RefusalError(f"the extension {EXTENSION} can't be loaded: {error}") from error


def _cap(caps: Caps, payer: str) -> Decimal | None:
    pico = caps.user_pico if payer.startswith("user/") else caps.guild_pico
    return None if pico is None else pico / _PICO
