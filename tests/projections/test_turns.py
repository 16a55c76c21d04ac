"""The row of a turn."""

from datetime import timedelta

from projections import turns
from tests.projections.histories import (
    CHANNEL,
    GUILD,
    OTHER_TURN,
    START,
    TURN,
    History,
    attempt,
    ended,
    opened,
    receipt,
    report,
    started,
)


def test_a_turn_is_one_row() -> None:
    """What an operator sees first must be right."""
    history = History().of_turn(
        started(), opened(), opened(2), report(2, tokens_in=9, tokens_out=3)
    )
    history.of_delivery(attempt(1, 1), receipt(1)).of_turn(ended("completed", messages=1))

    (row,) = turns.rows(history.events)

    assert (row.turn_id, row.channel_id, row.guild_id, row.persona) == (TURN, CHANNEL, GUILD, "Ren")
    assert (row.model, row.status, row.messages) == ("main/tiny", "completed", 1)
    assert (row.input_tokens, row.output_tokens, row.cost_pico) == (9, 3, None)
    assert (row.started_at, row.duration) == (START, timedelta(milliseconds=600))


def test_a_running_turn_shows_what_is_known() -> None:
    """A turn that hangs is the one that an operator looks for."""
    history = History().of_turn(started()).of_delivery(attempt(1, 1), receipt(1))

    (row,) = turns.rows(history.events)

    assert (row.status, row.model, row.messages, row.duration) == ("running", "main/tiny", 1, None)
    assert row.input_tokens is None


def test_a_figure_that_one_report_lacks_is_unknown() -> None:
    """Half a bill must not look like a whole one."""
    history = History().of_turn(
        report(1, tokens_in=1, cost=5), report(2, tokens_in=2), report(2, tokens_in=3)
    )

    (row,) = turns.rows(history.events)

    assert (row.input_tokens, row.cost_pico) == (4, None)


def test_rows_stand_in_the_order_of_the_log() -> None:
    """Turns interleave, their rows do not."""
    history = History().of_turn(started()).of_turn(started("2"), turn=OTHER_TURN).of_turn(ended())

    assert [row.turn_id for row in turns.rows(history.events)] == [TURN, OTHER_TURN]
