"""Functions as tools: what a model is told of them, and what reaches them."""

from typing import Annotated

import pytest
from msgspec import Meta, Struct

from actors.tools.context import ToolContext
from actors.tools.registry import (
    BadArgumentsError,
    Function,
    ToolRegistry,
    UnknownToolError,
    tool,
)


class Place(Struct):
    """Where."""

    city: str


async def weather(
    context: ToolContext, place: Place, days: Annotated[int, Meta(ge=1, le=7)] = 1
) -> str:
    """Return the weather of a place.

    It may be wrong.

    Args:
        context: Not for the model.
        place: Where to look.
        days: How far ahead.
    """
    assert context is not None
    return f"{place.city} {days}"


def shout(word: str) -> str:
    """Return a word, louder."""
    return word.upper()


def test_name_description_and_schema_come_from_the_function() -> None:
    """Whoever writes a tool writes a function, and nothing else."""
    made = tool(weather)

    assert (made.name, made.description) == (
        "weather",
        "Return the weather of a place. It may be wrong.",
    )
    assert set(made.parameters["properties"]) == {"place", "days"}
    assert made.parameters["required"] == ["place"]
    assert made.parameters["additionalProperties"] is False
    days = made.parameters["properties"]["days"]
    assert (days["minimum"], days["maximum"], days["description"]) == (1, 7, "How far ahead.")
    assert "Place" in made.parameters["$defs"]


def test_a_schema_without_references_stands_alone() -> None:
    """Most providers take plain schemas best."""
    assert "$defs" not in tool(shout).parameters


@pytest.mark.parametrize(
    "arguments",
    ['{"place":{"city":"Graz"},"days":8}', "{}", '{"place":{"city":"Graz"},"more":1}', "[]", "{"],
)
def test_arguments_that_do_not_fit_are_refused(arguments: str) -> None:
    """A function may trust its annotations."""
    with pytest.raises(BadArgumentsError):
        tool(weather).decode(arguments)


async def test_a_plain_function_runs_too(context: ToolContext) -> None:
    """Not every tool has something to wait for."""
    made = tool(shout)

    assert await made.run(made.decode('{"word":"hi"}'), context) == "HI"


async def test_the_context_is_injected_by_its_annotation(context: ToolContext) -> None:
    """The model can't forge where it is."""
    made = tool(weather)

    assert await made.run(made.decode('{"place":{"city":"Graz"}}'), context) == "Graz 1"


def test_an_unknown_tool_is_told_the_closest_and_all() -> None:
    """A model that misspells gets a second chance."""
    registry = ToolRegistry([tool(weather), tool(shout)])

    with pytest.raises(UnknownToolError, match=r"did you mean shout\?.*weather, shout"):
        registry.find("shuot")


def test_only_the_named_tools_are_offered() -> None:
    """An operator decides which."""
    registry = ToolRegistry([tool(weather), tool(shout)]).only(("shout", "gone"))

    assert [one.name for one in registry.definitions] == ["shout"]


def undocumented(word: str) -> str:  # noqa: D103 - the point
    return word


def unannotated(word) -> str:  # noqa: ANN001 # pyright: ignore[reportMissingParameterType,reportUnknownParameterType] - the point
    """Return a word."""
    return word  # pyright: ignore[reportUnknownVariableType] - the point


NO_TOOLS: list[Function] = [undocumented, unannotated, lambda: None]


@pytest.mark.parametrize("function", NO_TOOLS)
def test_a_function_that_can_not_be_described_is_no_tool(function: Function) -> None:
    """A fault of the operator's shows at the start, not in a conversation."""
    with pytest.raises(ValueError, match=r"tool|annotation"):
        tool(function)
