"""What was used, by guild, model and day, with the unknown kept apart from zero."""

from datetime import date, timedelta

import pytest

from projections import usage
from projections.fold import fold
from projections.usage import Figure, Sums, UsageKey, UsageState
from tests.projections.histories import GUILD, OTHER_TURN, History, ended, report

DAY = date(2026, 3, 1)
KEY = UsageKey(guild_id=GUILD, model="tiny", day=DAY)


def folded(history: History) -> UsageState:
    """Return the usage after a history."""
    return fold(usage.evolve, usage.initial(), history.events)


def test_p1_p2_the_ratio_is_over_the_reports_that_know() -> None:
    """Reading an unknown as zero would make a cache look worse than it is."""
    history = History().of_turn(
        report(1, tokens_in=1_000, read=800),
        report(2, tokens_in=500),
        report(3, tokens_in=200, read=0),
    )

    sums = folded(history).rows[KEY]

    assert sums.reports == 3
    assert sums.input_tokens == Figure(total=1_700)
    assert sums.cache_read_tokens == Figure(total=800, unknown=1)
    assert sums.cacheable_tokens == 1_200
    assert sums.cache_hit_ratio == pytest.approx(0.6667, abs=1e-4)


def test_p2_a_ratio_of_nothing_known_is_undefined() -> None:
    """Zero would say that the cache never hit."""
    assert folded(History().of_turn(report(tokens_in=5))).rows[KEY].cache_hit_ratio is None


def test_an_unknown_cost_is_counted_and_not_summed() -> None:
    """A bill that silently lacks a part is worse than one that says so."""
    history = History().of_turn(report(1, cost=5), report(2), report(3, cost=0))

    assert folded(history).rows[KEY].cost_pico == Figure(total=5, unknown=1)


def test_a_request_that_reports_again_is_counted_once() -> None:
    """The later report of a request replaces the former one."""
    history = History().of_turn(report(1, tokens_in=5, cost=None), report(1, tokens_in=7, cost=3))

    sums = folded(history).rows[KEY]

    assert sums == Sums(
        reports=1,
        input_tokens=Figure(total=7),
        output_tokens=Figure(unknown=1),
        cache_read_tokens=Figure(unknown=1),
        cache_write_tokens=Figure(unknown=1),
        reasoning_tokens=Figure(unknown=1),
        cost_pico=Figure(total=3),
    )


def test_days_models_and_turns_are_kept_apart() -> None:
    """Each is something that people ask for."""
    history = History().of_turn(report(1, tokens_in=1), report(2, tokens_in=2, model="big"))
    history.of_turn(report(1, tokens_in=4), turn=OTHER_TURN)
    history.after(timedelta(hours=12)).of_turn(report(3, tokens_in=8))

    rows = folded(history).rows

    assert {(key.model, key.day): sums.input_tokens.total for key, sums in rows.items()} == {
        ("tiny", DAY): 5,
        ("big", DAY): 2,
        ("tiny", date(2026, 3, 2)): 8,
    }


def test_direct_messages_stand_under_no_guild() -> None:
    """They cost as much as any."""
    rows = folded(History(guild_id=None).of_turn(report(tokens_in=1))).rows

    assert [key.guild_id for key in rows] == [None]


def test_a_turn_that_ended_is_forgotten() -> None:
    """The state grows with days and open turns, not with all turns ever."""
    assert folded(History().of_turn(report(tokens_in=1), ended())).reports == {}
