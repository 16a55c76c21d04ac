"""A turn whose provider refuses the form of the request: asked again with less, unseen."""

import asyncio

from bot.loopback.script import Answer, refusal, say
from events.generation import RequestOpened
from events.turn import TurnEnded
from tests.stack import Stack


async def opened(stack: Stack) -> tuple[TurnEnded, list[RequestOpened]]:
    """Run a turn; return how it ended and its requests."""
    start = await stack.ask(tools=("current_time",))
    ended = await stack.run_to_end(start)
    events = await stack.events(start.turn_id)
    return ended, [one for one in events if isinstance(one, RequestOpened)]


async def test_p80_a_refused_parameter_is_left_out_and_nobody_hears_of_it(stack: Stack) -> None:
    """A server that knows no stream_options still answers."""
    stack.provider.script(refusal(400, "Unknown parameter: stream_options"), say("Fine."))

    ended, requests = await opened(stack)

    assert (ended.status, ended.requests, stack.contents()) == ("completed", 2, ["Fine."])
    assert [(one.attempt, one.dropped) for one in requests] == [
        ("first", ()),
        ("degraded", ("stream_options",)),
    ]
    sent = [set(one.body) for one in stack.provider.requests]
    assert sent[0] - sent[1] == {"stream_options"}


async def test_pt114_an_error_before_the_answer_counts_as_a_refusal(stack: Stack) -> None:
    """Some servers begin with 200 and refuse then."""
    refused = '{"error":{"code":400,"message":"bad request"}}'
    stack.provider.script(Answer(payloads=(refused,)), say("Fine."))

    ended, requests = await opened(stack)

    assert (ended.status, stack.contents()) == ("completed", ["Fine."])
    assert [one.attempt for one in requests] == ["first", "degraded"]


async def test_pt115_an_error_after_the_first_word_is_final(stack: Stack) -> None:
    """What people have seen is not said again."""
    said = '{"choices":[{"index":0,"delta":{"content":"Half an"}}]}'
    refused = '{"error":{"code":400,"message":"bad request"}}'
    stack.provider.script(Answer(payloads=(said, refused)))

    ended, requests = await opened(stack)

    assert (ended.status, ended.error, len(requests)) == ("error", "400", 1)


async def test_p84_the_last_refusal_is_the_one_reported(stack: Stack) -> None:
    """When nothing helps, the reason does."""
    stack.provider.script(*[refusal(400, "bad request")] * 3)

    ended, requests = await opened(stack)

    assert (ended.status, ended.error) == ("error", "400")
    assert [one.dropped for one in requests] == [
        (),
        ("stream_options",),
        ("stream_options", "tools"),
    ]


async def test_pt120_a_stop_while_a_second_form_is_asked_is_the_end(stack: Stack) -> None:
    """No third request leaves."""
    stack.provider.script(
        refusal(400, "bad request"), Answer(pieces=("never",), gates={0: asyncio.Event()})
    )
    start = await stack.ask(tools=("current_time",))
    running = stack.run(start)
    request = await stack.provider.received(2)

    await stack.stop(start)
    await request.closed.wait()
    await running

    ended = await stack.end_of(start.turn_id)
    assert (ended.status, len(stack.provider.requests)) == ("stopped_by_user", 2)
