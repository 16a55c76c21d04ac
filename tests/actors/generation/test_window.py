"""What of a conversation fits into a model's window."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from actors.generation.window import fit, tokens_of
from actors.providers.adapter import ContextItem, ToolResult
from bot.loopback.script import say
from events.generation import FunctionCall, RequestOpened
from projections.timeline import summary
from tests.stack import Stack

RULES = ContextItem(role="system", content="r" * 400)
ASKED = ContextItem(role="user", content="Ann: so?")
CALL = FunctionCall(name="look", arguments='{"at":"it"}', call_id="1")
CALLED = (
    ContextItem(role="model", content="", calls=(CALL,)),
    ContextItem(
        role="user", content="", result=ToolResult(name="look", call_id="1", content="[1]")
    ),
)
past = st.lists(
    st.builds(
        ContextItem,
        role=st.sampled_from(["user", "model"]),
        content=st.integers(1, 2000).map(lambda count: "x" * count),
    ),
    max_size=12,
)


def test_c31_prose_and_json_are_estimated_apart() -> None:
    """JSON takes more tokens a character, and tools talk JSON."""
    assert tokens_of(RULES) == 100
    assert [tokens_of(item) for item in CALLED] == [5, 1]


def test_p151_the_oldest_question_goes_with_its_answer() -> None:
    """An answer without its question misleads more than it tells."""
    said = [
        ContextItem(role="user", content="a" * 2000),
        ContextItem(role="model", content="b" * 40),
        ContextItem(role="user", content="c" * 40),
        ContextItem(role="model", content="d" * 40),
    ]

    fitted = fit([RULES, *said, ASKED], (), 400)

    assert fitted.context == (RULES, *said[2:], ASKED)
    assert fitted.left_out == 2


@given(past, st.integers(200, 8000))
def test_p151_what_must_stay_stays_and_no_more_goes_than_has_to(
    said: list[ContextItem], window: int
) -> None:
    """Whatever the window: the rules, the question, its tools, and the newest of the past."""
    whole = [RULES, *said, ASKED, *CALLED]

    fitted = fit(whole, (), window)

    assert fitted.context == (RULES, *said[fitted.left_out :], ASKED, *CALLED)
    room = window - window // 4
    total = sum(map(tokens_of, fitted.context))
    assert total <= room or fitted.left_out == len(said)
    last = said[fitted.left_out - 1] if fitted.left_out else None
    assert last is None or last.role == "model" or total + tokens_of(last) > room


async def test_p151_each_model_is_given_what_fits_it_and_the_log_counts_the_rest(
    stack: Stack,
) -> None:
    """A fallback with a smaller window must not fail for what the first could hold."""
    stack.provider.script(say("Yes."))
    bob = stack.discord.world.add_user("Bob")
    for word in ("first", "second", "third"):
        await stack.discord.say(bob, stack.channel_id, word * 300)
    start = await stack.ask("So?")
    small = replace(start.models[0], context_tokens=1024)

    await stack.run_to_end(replace(start, models=(small,)))

    request = await stack.provider.received()
    contents = [one["content"] for one in request.body["messages"]]
    assert contents == ["Be kind.\n\nYou are Rejoinder.", f"Bob: {'third' * 300}", "Ann: So?"]
    events = await stack.events(start.turn_id)
    [opened] = [one for one in events if isinstance(one, RequestOpened)]
    assert opened.left_out == 2
    assert summary(opened).endswith("main/loopback, without the 2 oldest messages")
