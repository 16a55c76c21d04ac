"""A turn, as an operator reads it."""

import pytest

from events.base import ChannelId, Event, MessageId, TriggerId, UserId
from events.codec import EVENT_TYPES, kind_of
from events.decisions import DecisionAnswered, DecisionRequested
from events.delivery import ButtonDisabled, Retraction, SendFailed
from events.generation import (
    Chunk,
    Flush,
    FunctionCall,
    Piece,
    ProcessedChunk,
    ProviderFault,
    RequestClosed,
    Thought,
    ToolCalled,
    ToolReturned,
)
from events.notes import NotePinned
from events.settings import (
    FallbacksChosen,
    ModelChosen,
    Persona,
    PersonaDefined,
    PersonaRemoved,
    ProviderRemoved,
    ProviderSaved,
    SettingChanged,
)
from events.spending import HoldOpened, HoldSettled, RequestDenied
from events.turn import StopObserved, TriggerDropped, TurnRecovered
from projections.timeline import excerpt, summary, timeline
from tests.projections.histories import (
    OTHER_TURN,
    TURN,
    History,
    attempt,
    ended,
    opened,
    raw,
    receipt,
    report,
    said,
    started,
    stop,
    trigger,
)

FLUSH = Flush(
    flush=1,
    text="Hi\n",
    boundary="newline",
    start=0,
    end=3,
    pieces=(Piece(content="Hi", start=0, end=2),),
    withheld={"blank": 1},
)
FAULT = ProviderFault(type="rate_limit", code="429", retryable=True)
LAST_WORDS = ProcessedChunk(
    request=1,
    chunks=(
        Chunk(type="text", text="x", thoughts=(Thought(content="hmm"),)),
        Chunk(type="function_call", function_call=FunctionCall(name="look_up")),
        Chunk(type="error", error=FAULT),
        Chunk(type="done", finish_reason="stop"),
    ),
)
DROPPED = TriggerDropped(trigger_id=TriggerId("1"), reason="expired")
FAILED = SendFailed(attempt=1, outcome="unconfirmed", reason="timeout")
LINES: list[tuple[Event, str]] = [
    (ButtonDisabled(message_id=MessageId(5)), "the button of message 5 is disabled"),
    (
        ButtonDisabled(message_id=MessageId(5), failure="http_404"),
        "the button of message 5 could not be disabled: http_404",
    ),
    (trigger("1"), 'Ann asks by mention: "Hello?"'),
    (DROPPED, "the trigger gets no turn: expired"),
    (stop(), "31 asks to stop (stop)"),
    (started(), "Ren answers Ann with main/tiny, spare/tiny"),
    (
        StopObserved(position=1, stop="stop", requester="31"),
        "the turn acts on the stop of 31 (stop)",
    ),
    (
        TurnRecovered(epoch=1, found="text received", decision="deliver_rest"),
        "taken over, epoch 1: text received; deliver_rest",
    ),
    (
        ended("error", error="429", received=9, delivered=7, messages=2, withheld={"blank": 2}),
        "error (429): 2 messages, 9 characters received, 7 delivered, 2 blank",
    ),
    (opened(), "request 1 (first) to main/tiny"),
    (raw("a", "b", end="eof"), "2 payloads of request 1, the body ended: eof"),
    (said("a\nb"), 'text "a\\nb"'),
    (
        LAST_WORDS,
        'text "x" and 3 characters of thought; calls look_up; error rate_limit 429; done (stop)',
    ),
    (
        RequestClosed(request=1, end="done", error=FAULT, ms=12.4),
        "request 1 closed by done with rate_limit 429 after 12 ms",
    ),
    (
        ToolCalled(call=1, request=1, function=FunctionCall(name="look_up")),
        'call 1 of look_up: "{}"',
    ),
    (
        ToolReturned(call=1, outcome="failed", reason="tool_error", result="{}", ms=2.5),
        'call 1 failed (tool_error) after 2 ms: "{}"',
    ),
    (
        NotePinned(turn_id=TURN, call=1, note="Ann likes tea.", by="Ann"),
        'a note is kept: "Ann likes tea."',
    ),
    (Retraction(attempts=(1, 2)), "the messages of attempts 1, 2 are withdrawn"),
    (
        Retraction(attempts=(1, 2), is_done=True, kept=(2,)),
        "withdrawn: 1, 2; of them still stand: 2",
    ),
    (
        RequestDenied(request=2, provider="main", model="tiny", origin="hook", code="no_budget"),
        "request 2 to main/tiny denied by a hook: no_budget",
    ),
    (
        HoldOpened(hold_id="t/0/1", estimate_pico=5 * 10**10, provider="main", model="tiny"),
        "0.050000 USD set aside for t/0/1",
    ),
    (
        HoldSettled(hold_id="t/0/1", spent_pico=4_200_000_000, basis="reported"),
        "0.004200 USD spent by t/0/1 (reported)",
    ),
    (FLUSH, 'flush 1 at newline, 1 messages, 1 blank: "Hi\\n"'),
    (attempt(1, 1), 'attempt 1 by bot, flush 1.0: "Hi"'),
    (attempt(2, 0, is_notice=True), 'attempt 2 by bot, a notice: "Hi"'),
    (receipt(1), "attempt 1 is message 1001, 0 ms, 1 tries"),
    (FAILED, "attempt 1 unconfirmed: timeout"),
    (
        report(tokens_in=9, cost=1_500_000),
        "measured: 9 in, unknown out, cost 0.000002 USD",
    ),
    (
        DecisionRequested(
            correlation="c1",
            slot="decision",
            provider="custom",
            api_style="system-one",
            model="judge",
            model_id=1,
            question_count=3,
            body_bytes=2_210,
        ),
        "asks judge 3 questions (decision)",
    ),
    (
        DecisionAnswered(
            correlation="c1",
            api_style="system-one",
            model="judge",
            status="failed",
            category="malformed_response",
            elapsed_ms=12,
        ),
        "judge failed (malformed_response): 0 answers, 0 refused, 12 ms",
    ),
    (
        PersonaDefined(persona=Persona(name="Ren"), by=UserId(77)),
        "77 defines the persona Ren",
    ),
    (PersonaRemoved(name="Ren", by=UserId(77)), "77 removes the persona Ren"),
    (
        SettingChanged(setting="live_streaming", value=False, persona="Ren", by=UserId(77)),
        "77 sets live_streaming of Ren to False",
    ),
    (
        SettingChanged(setting="live_streaming", value=None, by=UserId(77)),
        "77 sets live_streaming to the default",
    ),
    (
        ProviderSaved(
            name="ours",
            wire="openai",
            base_url="https://models.example/v1",
            credential="c1",
            by=UserId(77),
        ),
        "77 saves the provider ours, openai at https://models.example/v1",
    ),
    (ProviderRemoved(name="ours", by=UserId(77)), "77 removes the provider ours"),
    (ModelChosen(model="ours/m", by=UserId(77)), "77 chooses ours/m"),
    (ModelChosen(model="ours/m", persona="Ren", by=UserId(77)), "77 chooses ours/m for Ren"),
    (
        ModelChosen(model=None, channel_id=ChannelId(5), by=UserId(77)),
        "77 chooses no model in channel 5",
    ),
    (FallbacksChosen(models=("a/b", "c/d"), by=UserId(77)), "77 chooses as fallbacks: a/b, c/d"),
    (FallbacksChosen(models=(), by=UserId(77)), "77 chooses as fallbacks: none"),
    (FallbacksChosen(models=None, by=UserId(77)), "77 chooses as fallbacks: the default"),
]


@pytest.mark.parametrize(
    ("event", "line"), LINES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_an_event_is_told_in_a_line(event: Event, line: str) -> None:
    """An operator reads sentences, not structs."""
    assert summary(event) == line


def test_every_kind_of_event_can_be_told() -> None:
    """A kind without words would be a hole in the story."""
    assert {kind_of(event) for event, _ in LINES} == {kind_of(kind) for kind in EVENT_TYPES}


def test_both_streams_and_the_channel_make_one_story() -> None:
    """What came, what was decided and what was sent belong together."""
    history = History().of_channel(trigger("0"), trigger("1"), stop(turn=OTHER_TURN))
    history.of_turn(started("1"), opened()).of_turn(started("0"), turn=OTHER_TURN)
    history.of_delivery(attempt(1, 1)).of_channel(stop()).of_turn(ended())

    entries = timeline(TURN, reversed(history.events))

    assert [entry.kind for entry in entries] == [
        "trigger_received",
        "turn_started",
        "request_opened",
        "send_attempt",
        "stop_requested",
        "turn_ended",
    ]
    assert [entry.offset_ms for entry in entries] == [-200.0, 0.0, 100.0, 300.0, 400.0, 500.0]
    assert entries[0].detail["trigger_id"] == "1"


def test_a_turn_without_a_start_can_still_be_told() -> None:
    """A log whose oldest part is gone still has a story."""
    entries = timeline(TURN, History().of_turn(ended()).events)

    assert [entry.offset_ms for entry in entries] == [0.0]


def test_a_long_text_is_cut_to_one_line() -> None:
    """A code block would push the story off the screen."""
    assert excerpt("a" * 61) == '"' + "a" * 59 + '…"'
    assert excerpt("a" * 60) == '"' + "a" * 60 + '"'
