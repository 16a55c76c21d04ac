"""What was set aside, spent and refused: a table of holds, and the views over it and its sisters.

Each view is the SQL of a projection: `spend` of `projections.spend`, `budgets` of
`projections.holds`, `denials` and `turn_usage` of the projections of these names. The table keeps
one row an event and is only appended to; that a hold is opened once and settled once is the views'
business, so that a batch can never meet half of it. Pure text: no database.
"""

import uuid
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from msgspec import Struct

from actors.read_models.stored import naive, signed, uuid_of
from events.base import Recorded, payer_of
from events.spending import HoldOpened, HoldSettled
from projections.holds import request_of
from projections.spend import ESTIMATED

HOLD_TABLE: Final = """CREATE TABLE facts.hold_rows(
    position UBIGINT, recorded_at TIMESTAMP, payer VARCHAR, month VARCHAR, hold_id VARCHAR,
    turn_id UUID, request BIGINT, provider VARCHAR, model VARCHAR, estimate_pico BIGINT,
    spent_pico BIGINT, basis VARCHAR)"""
"""One row an opening (without `basis`) or a settlement."""


class HoldRow(Struct, frozen=True, kw_only=True):
    """One event of a hold; its fields are the columns of `facts.hold_rows`, in order."""

    position: int
    """Position of the event."""
    recorded_at: datetime
    """When, UTC, naive."""
    payer: str
    """Who set money aside."""
    month: str
    """The month it counts for, `YYYY-MM`."""
    hold_id: str
    """The hold."""
    turn_id: uuid.UUID | None
    """The turn that it was opened for, where its id names one."""
    request: int | None
    """The request's ordinal in the turn."""
    provider: str | None = None
    """Of an opening: the provider's name in the configuration."""
    model: str | None = None
    """Of an opening: the model's id at the provider."""
    estimate_pico: int | None = None
    """Of an opening: what was set aside, in 10**-12 US dollars."""
    spent_pico: int | None = None
    """Of a settlement: what counts as spent."""
    basis: str | None = None
    """Of a settlement: what that rests on."""


def fold_holds(batch: Iterable[Recorded]) -> list[HoldRow]:
    """Return the rows of `batch`."""
    rows: list[HoldRow] = []
    for recorded in batch:
        event, found = recorded.event, payer_of(recorded.stream)
        if not isinstance(event, HoldOpened | HoldSettled) or found is None:
            continue
        named = request_of(event.hold_id)
        is_opening = isinstance(event, HoldOpened)
        rows.append(
            HoldRow(
                position=recorded.position,
                recorded_at=naive(recorded.recorded_at),
                payer=found[0],
                month=found[1],
                hold_id=event.hold_id,
                turn_id=uuid_of(named[0]) if named else None,
                request=signed(named[1]) if named else None,
                provider=event.provider if is_opening else None,
                model=event.model if is_opening else None,
                estimate_pico=signed(event.estimate_pico) if is_opening else None,
                spent_pico=None if is_opening else signed(event.spent_pico),
                basis=None if is_opening else event.basis,
            )
        )
    return rows


_ESTIMATED: Final = ", ".join(f"'{basis}'" for basis in ESTIMATED)

_HOLDS: Final = """CREATE OR REPLACE VIEW holds AS
    WITH opened AS (
        FROM facts.hold_rows WHERE basis IS NULL
        QUALIFY row_number() OVER (PARTITION BY payer, month, hold_id ORDER BY position) = 1
    ), settled AS (
        SELECT later.* FROM facts.hold_rows AS later JOIN opened USING (payer, month, hold_id)
        WHERE later.basis IS NOT NULL AND later.position > opened.position
        QUALIFY row_number() OVER (
            PARTITION BY payer, month, hold_id ORDER BY later.position) = 1
    )
    SELECT payer, month, hold_id, opened.turn_id, opened.request, opened.provider, opened.model,
        opened.recorded_at AS opened_at, settled.recorded_at AS settled_at, opened.estimate_pico,
        settled.spent_pico, settled.basis
    FROM opened LEFT JOIN settled USING (payer, month, hold_id)"""

_BUDGETS: Final = """CREATE OR REPLACE VIEW budgets AS
    SELECT payer, month, usd(sum(coalesce(spent_pico, 0))) AS spent_usd,
        usd(sum(CASE WHEN basis IS NULL THEN estimate_pico ELSE 0 END)) AS open_usd,
        count(*) FILTER (basis IS NULL) AS open_requests
    FROM holds GROUP BY payer, month"""

_SPEND: Final = f"""CREATE OR REPLACE VIEW spend AS
    WITH held AS (
        SELECT payer, turn_id, request,
            bool_or(coalesce(basis IN ({_ESTIMATED}), false)) AS is_estimated
        FROM holds WHERE turn_id IS NOT NULL GROUP BY payer, turn_id, request
    ), parts AS (
        SELECT payer, provider, model, day, cost_pico AS reported, NULL AS estimated,
            cost_pico IS NULL AND NOT coalesce(is_estimated, false) AS is_unknown
        FROM facts.usage_rows LEFT JOIN held USING (turn_id, request)
        UNION ALL
        SELECT payer, provider, model, CAST(settled_at AS DATE), NULL, spent_pico, false
        FROM holds ANTI JOIN (FROM facts.usage_rows WHERE cost_pico IS NOT NULL) AS priced
        USING (turn_id, request) WHERE basis IN ({_ESTIMATED})
    )
    SELECT payer, provider, model, day, usd(sum(reported)) AS reported_usd,
        usd(sum(estimated)) AS estimated_usd, count(*) FILTER (is_unknown) AS cost_unknown
    FROM parts GROUP BY payer, provider, model, day"""  # noqa: S608 - our words

_DENIALS: Final = """CREATE OR REPLACE VIEW denials AS
    SELECT denied.guild_id, provider, denied.model, origin, code,
        CAST(recorded_at AS DATE) AS day, count(*) AS denials,
        count(*) FILTER (status = 'completed') AS answered
    FROM (
        FROM requests_denied
        QUALIFY row_number() OVER (PARTITION BY stream, request ORDER BY position) = 1
    ) AS denied LEFT JOIN facts.turn_rows
        ON turn_rows.turn_id = TRY_CAST(replace(stream, 'turn/', '') AS UUID)
    GROUP BY ALL"""

_TURN_USAGE: Final = """CREATE OR REPLACE VIEW turn_usage AS
    SELECT CAST(any_value(ended_at) AS DATE) AS day,
        arg_max(usage_rows.provider, request) AS provider,
        arg_max(usage_rows.model, request) AS model,
        CASE WHEN bool_and(is_measured) THEN 'measured' ELSE 'estimated' END AS measurement,
        count(*) AS requests,
        sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
        CASE WHEN count(*) = count(cache_read_tokens) THEN sum(cache_read_tokens) END
            AS cache_read_tokens,
        CASE WHEN count(*) = count(cache_write_tokens) THEN sum(cache_write_tokens) END
            AS cache_write_tokens,
        CASE WHEN count(*) = count(cost_pico) THEN usd(sum(cost_pico)) END AS cost_usd
    FROM facts.usage_rows JOIN facts.turn_rows USING (turn_id)
    WHERE ended_at IS NOT NULL GROUP BY turn_id"""

MONEY_VIEWS: Final = (_HOLDS, _BUDGETS, _SPEND, _DENIALS, _TURN_USAGE)
"""In this order: `spend` and `budgets` stand on `holds`."""

MONEY_VIEW_NAMES: Final = frozenset({"holds", "budgets", "spend", "denials", "turn_usage"})
"""What people may read of it."""
