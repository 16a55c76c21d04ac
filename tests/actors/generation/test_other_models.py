"""A model that fails: other keys, other models, and what becomes of what it had posted."""

import asyncio
from collections.abc import Sequence

import msgspec

from actors.generation.start import StartTurn
from actors.providers.adapter import ModelRoute
from bot.loopback.discord.faults import Fault as DiscordFault
from bot.loopback.script import Answer, Fault, refusal, say
from events.delivery import Receipt, Retraction
from events.generation import RequestClosed, RequestOpened
from projections import keys
from projections.fold import fold
from tests.actors.generation.tooling import Bench, calling
from tests.stack import Stack

FAILS_LATE = Answer(
    payloads=(
        '{"choices":[{"index":0,"delta":{"content":"One.\\nTwo.\\nThr"}}]}',
        '{"error":{"message":"overloaded","code":503}}',
    )
)
"""Three messages, the last of them half, and then a failure."""


def model(stack: Stack, name: str, key_count: int = 1) -> ModelRoute:
    """Return a route to the loopback provider under another model's name."""
    all_keys = tuple(f"sk-{name}-{index}" for index in range(key_count))
    return msgspec.structs.replace(stack.route(), model=name, api_key=all_keys[0], keys=all_keys)


async def ask(stack: Stack, *models: ModelRoute, persona: str = "Rejoinder") -> StartTurn:
    """Return a turn over `models`."""
    return msgspec.structs.replace(await stack.ask(persona=persona), models=models)


def asked(stack: Stack) -> list[tuple[str, str]]:
    """Return the model and the key of each request."""
    return [
        (one.body["model"], one.headers["authorization"].removeprefix("Bearer "))
        for one in stack.provider.requests
    ]


async def opened(stack: Stack, start: StartTurn) -> Sequence[RequestOpened]:
    """Return the turn's requests."""
    return [one for one in await stack.events(start.turn_id) if isinstance(one, RequestOpened)]


async def test_pt157_a_refused_key_gives_way_to_the_next(stack: Stack) -> None:
    """Nobody in the channel has to know, and the key rests for every other turn."""
    stack.provider.script(refusal(401, "no"), refusal(401, "no"), say("Hi."))
    start = await ask(stack, model(stack, "a", 3))

    ended = await stack.run_to_end(start)

    assert (ended.status, stack.contents()) == ("completed", ["Hi."])
    assert asked(stack) == [("a", "sk-a-0"), ("a", "sk-a-1"), ("a", "sk-a-2")]
    assert [(one.attempt, one.key) for one in await opened(stack, start)] == [
        ("first", 0),
        ("key", 1),
        ("key", 2),
    ]
    state = fold(keys.evolve, keys.initial(), await stack.recorded(start.turn_id))
    rested = [state.states["main", index].rests_until for index in range(3)]
    assert [one is not None for one in rested] == [True, True, False]


async def test_pt158_a_fault_of_the_request_goes_straight_to_the_next_model(stack: Stack) -> None:
    """Another key would be told the same."""
    stack.provider.script(refusal(400, "context_length_exceeded"), say("Hi."))
    start = await ask(stack, model(stack, "a", 3), model(stack, "b"))

    ended = await stack.run_to_end(start)

    assert (ended.status, asked(stack)) == ("completed", [("a", "sk-a-0"), ("b", "sk-b-0")])
    state = fold(keys.evolve, keys.initial(), await stack.recorded(start.turn_id))
    assert [one.rests_until for one in state.states.values()] == [None]


async def test_a_resting_key_is_not_used_while_another_is_free(stack: Stack) -> None:
    """What one turn has learned of a key spares the next one the refusal."""
    stack.provider.script(refusal(429, "slow down"), say("Hi."), say("Hi."))
    first = await ask(stack, model(stack, "a", 2))
    result = await stack.run(first)
    state = keys.initial()
    for one in result.closed:
        state = keys.close(state, one.request, one.at)

    await stack.run(msgspec.structs.replace(await ask(stack, model(stack, "a", 2)), keys=state))

    assert [key for _, key in asked(stack)] == ["sk-a-0", "sk-a-1", "sk-a-1"]


async def test_p154_when_all_keys_rest_the_last_route_is_tried_all_the_same(stack: Stack) -> None:
    """A refusal of our own making helps nobody."""
    stack.provider.script(refusal(429, "slow down"), say("Hi."))
    result = await stack.run(await ask(stack, model(stack, "a")))
    (closed,) = result.closed
    state = keys.close(keys.initial(), closed.request, closed.at)

    start = msgspec.structs.replace(await ask(stack, model(stack, "a")), keys=state)

    assert (await stack.run_to_end(start)).status == "completed"


async def test_pt160_what_a_failed_model_had_posted_is_withdrawn_newest_first(
    stack: Stack,
) -> None:
    """PT159, B27: two answers never stand side by side."""
    gate = asyncio.Event()
    payloads = FAILS_LATE.payloads
    assert payloads is not None
    stack.provider.script(Answer(payloads=payloads, gates={1: gate}), say("Whole."))
    start = await ask(stack, model(stack, "a"), model(stack, "b"))
    running = stack.run(start)
    await stack.until(start.turn_id, Receipt, 2)

    gate.set()
    await running

    ended = await stack.end_of(start.turn_id)
    answer, notice = stack.contents()
    assert answer == "Whole."
    assert "a (`503`)" in notice
    assert (ended.status, ended.delivered_text, ended.messages) == ("completed", "Whole.", 1)
    assert ended.withheld["superseded"] == len("One.Two.Thr")
    events = await stack.events(start.turn_id)
    assert [one for one in events if isinstance(one, Retraction)] == [
        Retraction(attempts=(2, 1)),
        Retraction(attempts=(2, 1), is_done=True),
    ]


async def test_b27_text_that_discord_will_not_delete_ends_the_turn(stack: Stack) -> None:
    """Once text stands nobody else may speak in its place."""
    gate = asyncio.Event()
    payloads = FAILS_LATE.payloads
    assert payloads is not None
    stack.provider.script(Answer(payloads=payloads, gates={1: gate}), say("Never."))
    stack.discord.fail(DiscordFault(route="delete", action="status", status=403, times=None))
    start = await ask(stack, model(stack, "a"), model(stack, "b"))
    running = stack.run(start)
    await stack.until(start.turn_id, Receipt, 2)

    gate.set()
    await running

    ended = await stack.end_of(start.turn_id)
    assert (ended.status, ended.error, ended.messages) == ("error", "503", 2)
    assert stack.contents()[:2] == ["One.", "Two."]
    assert len(stack.provider.requests) == 1


async def test_pt161_after_an_unconfirmed_post_no_other_model_speaks(stack: Stack) -> None:
    """No key, no model, no deletion, no notice."""
    gate = asyncio.Event()
    payloads = FAILS_LATE.payloads
    assert payloads is not None
    stack.discord.fail(DiscordFault(action="status", status=500, when="after"))
    stack.provider.script(Answer(payloads=payloads, gates={1: gate}), say("Never."))
    start = await ask(stack, model(stack, "a", 2), model(stack, "b"))

    ended = await stack.run_to_end(start)

    assert (ended.status, len(stack.discord.posts)) == ("unconfirmed", 1)
    assert len(stack.provider.requests) == 1


async def test_pt164_when_all_models_fail_there_is_one_notice_for_the_last(stack: Stack) -> None:
    """Three notices would be noise."""
    stack.provider.script(refusal(500, "x"), refusal(503, "x"), refusal(400, "x"))
    start = await ask(stack, *(model(stack, name) for name in "abc"))

    ended = await stack.run_to_end(start)

    (notice,) = stack.contents()
    assert (ended.status, ended.error) == ("error", "400")
    assert "400" in notice


async def test_pt146_a_model_that_never_begins_is_given_up(stack: Stack) -> None:
    """Its phase tells an operator which patience ran out."""
    stack.limits = msgspec.structs.replace(stack.limits, first_token_seconds=0.02)
    stack.provider.script(Answer(pieces=("Hi",), fault=Fault(kind="hang", after=0)))
    start = await ask(stack, model(stack, "a", 2))

    ended = await stack.run_to_end(start)

    assert (ended.status, ended.stop_reason) == ("timeout", "first_token")
    assert len(stack.provider.requests) == 1


async def test_pt147_comments_do_not_keep_a_dead_generation_alive(stack: Stack) -> None:
    """W42: only words, thoughts and calls are progress."""
    stack.limits = msgspec.structs.replace(stack.limits, idle_seconds=0.05)
    comments = b'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n' + b": wait\n\n" * 3
    stack.provider.script(
        Answer(body=comments, content_type="text/event-stream", fault=Fault(kind="hang", after=1))
    )

    ended = await stack.run_to_end(await ask(stack, model(stack, "a")))

    assert (ended.status, ended.stop_reason) == ("timeout", "idle")
    assert stack.contents()[0] == "Hi"


async def test_a_model_that_stands_in_goes_on_from_what_tools_have_done(stack: Stack) -> None:
    """No tool runs twice because a provider failed after it."""
    bench = Bench()
    stack.tools = bench.registry()
    call = calling(("echo", '{"word":"x"}'), text=("Wait.",))
    stack.provider.script(call, FAILS_LATE, say("It is x."))
    start = await stack.ask(tools=("echo",))
    models = (model(stack, "a"), model(stack, "b"))

    ended = await stack.run_to_end(msgspec.structs.replace(start, models=models))

    assert stack.contents()[:2] == ["Wait.", "It is x."]
    assert (ended.status, bench.ran) == ("completed", ["x"])
    assert [one.attempt for one in await opened(stack, start)] == ["first", "tool", "fallback"]


async def test_pt162_a_drawn_lead_is_one_of_the_pool_and_the_rest_keep_their_order(
    stack: Stack,
) -> None:
    """The seed decides, so that a turn taken over asks in the same order."""
    stack.provider.script(refusal(500, "x"), refusal(500, "x"), refusal(500, "x"))
    start = await ask(stack, *(model(stack, name) for name in "abc"))

    await stack.run_to_end(msgspec.structs.replace(start, is_shuffled=True, seed=3))

    order = [name for name, _ in asked(stack)]
    assert sorted(order) == ["a", "b", "c"]
    assert order[1:] == sorted(order[1:])


async def test_p177_a_model_that_said_nothing_is_asked_again(stack: Stack) -> None:
    """Many an empty answer is an accident."""
    stack.provider.script(Answer(), say("Hi."))
    start = await ask(stack, model(stack, "a"))

    ended = await stack.run_to_end(start)

    assert (ended.status, stack.contents()) == ("completed", ["Hi."])
    assert [one.attempt for one in await opened(stack, start)] == ["first", "retry"]


async def test_the_closing_names_the_key_and_never_the_secret(stack: Stack) -> None:
    """The state of the keys is folded from these events."""
    stack.provider.script(say("Hi."))
    start = await ask(stack, model(stack, "a", 2))

    await stack.run_to_end(start)

    events = await stack.events(start.turn_id)
    (closed,) = [one for one in events if isinstance(one, RequestClosed)]
    assert (closed.provider, closed.key) == ("main", 0)
    assert "sk-a" not in str(events)
