"""The tools that every bot has."""

import pytest

from actors.tools.builtin import BUILTIN, PAGE, SEARCH_PAGES, current_time, pin_note, search_history
from actors.tools.context import ToolContext
from actors.tools.registry import ToolError
from tests.actors.tools.conftest import Past


async def test_the_time_is_that_of_the_zone(context: ToolContext) -> None:
    """Midnight in London is nine in Tokyo."""
    assert await current_time(context, "Asia/Tokyo") == {
        "time": "2026-01-01 09:00:00",
        "weekday": "Thursday",
        "offset": "+0900",
    }
    assert (await current_time(context))["time"] == "2026-01-01 00:00:00"


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd", "", "\0"])
async def test_an_unknown_zone_is_told_with_the_time_in_utc(
    context: ToolContext, zone: str
) -> None:
    """A machine without zone data gives no wrong time."""
    with pytest.raises(ToolError, match="2026-01-01 00:00 in UTC"):
        await current_time(context, zone)


async def test_a_search_finds_all_words_in_any_case_newest_first(
    context: ToolContext, past: Past
) -> None:
    """Nobody remembers how they spelled it."""
    past.say("Tea is good", "coffee", "GOOD tea here", "tea")

    found = (await search_history(context, "good TEA"))["found"]

    assert isinstance(found, list)
    assert [one["message_id"] for one in found] == ["3", "1"]


async def test_a_search_is_bounded(context: ToolContext, past: Past) -> None:
    """A busy channel's whole past would take minutes."""
    past.say(*["x"] * (PAGE * (SEARCH_PAGES + 1)))

    result = await search_history(context, "tea")

    assert (result["searched"], past.pages) == (PAGE * SEARCH_PAGES, SEARCH_PAGES)


async def test_a_note_is_kept(context: ToolContext, past: Past) -> None:
    """The tool says who will see it, so that the model promises no reminder."""
    told = await pin_note(context, "Ann likes tea.")

    assert past.notes == ["Ann likes tea."]
    assert "you alone" in told["shown"]


def test_every_tool_can_be_told_to_a_model() -> None:
    """A tool without words would never be called."""
    assert [one.name for one in BUILTIN] == ["current_time", "search_history", "pin_note"]
    assert all(one.description.endswith(".") for one in BUILTIN)
    assert all("context" not in one.parameters["properties"] for one in BUILTIN)
