"""A turn, told to an operator: one line an event, in the order of the log."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, assert_never, cast

import msgspec
from msgspec import Struct

from events.base import Event, Recorded, TurnId, delivery_stream, turn_stream
from events.codec import AnyEvent, kind_of
from events.decisions import DecisionAnswered, DecisionRequested
from events.delivery import ButtonDisabled, Receipt, Retraction, SendAttempt, SendFailed
from events.generation import (
    Chunk,
    Flush,
    ProcessedChunk,
    RawChunk,
    RequestClosed,
    RequestOpened,
    ToolCalled,
    ToolReturned,
)
from events.notes import NotePinned
from events.settings import (
    FallbacksChosen,
    ModelChosen,
    PersonaDefined,
    PersonaRemoved,
    ProviderRemoved,
    ProviderSaved,
    SettingChanged,
)
from events.spending import HoldOpened, HoldSettled, RequestDenied, UsageReport
from events.turn import (
    StopObserved,
    StopRequested,
    TriggerDropped,
    TriggerReceived,
    TurnEnded,
    TurnRecovered,
    TurnStarted,
)

Request = TriggerReceived | TriggerDropped | StopRequested | StopObserved
"""What people want of a turn."""
Life = TurnStarted | TurnRecovered | TurnEnded
"""What befalls it."""
Generation = RequestOpened | RawChunk | ProcessedChunk | RequestClosed | UsageReport
"""What a provider says."""
ToolUse = ToolCalled | ToolReturned | NotePinned
"""What tools do for it."""
Spending = RequestDenied | HoldOpened | HoldSettled
"""Who pays for it."""
Decision = DecisionRequested | DecisionAnswered
"""What a decision model is asked, and how that ends."""
Delivery = Flush | SendAttempt | Receipt | SendFailed | Retraction | ButtonDisabled
"""What becomes of it."""
ModelChoice = ProviderSaved | ProviderRemoved | ModelChosen | FallbacksChosen
Configuration = PersonaDefined | PersonaRemoved | SettingChanged | ModelChoice
"""What a guild sets."""

_EXCERPT: Final = 60


class TimelineEntry(Struct, frozen=True, kw_only=True):
    """One event of a turn, in words."""

    at: datetime
    """When it happened, UTC."""
    offset_ms: float
    """Milliseconds since the turn started; negative for what came before."""
    stream: str
    """The stream it stands in."""
    kind: str
    """Its kind."""
    summary: str
    """What happened, in a line."""
    detail: dict[str, Any]
    """All of its fields, as JSON has them."""


def timeline(turn_id: TurnId, events: Iterable[Recorded]) -> list[TimelineEntry]:
    """Return what `events` say of the turn, in order of position.

    Args:
        turn_id: The turn.
        events: Its two streams and its channel's, in any order; of the channel only the turn's
            trigger and its stops are told.
    """
    ordered = sorted(events, key=lambda recorded: recorded.position)
    start = next((one for one in ordered if _starts(one, turn_id)), None)
    trigger_id = start.event.trigger_id if start and isinstance(start.event, TurnStarted) else None
    told = [one for one in ordered if _concerns(one, turn_id, trigger_id)]
    zero = start.recorded_at if start else (told[0].recorded_at if told else None)
    return [_entry(one, zero or one.recorded_at) for one in told]


def summary(event: Event) -> str:
    """Return what `event` says, in a line."""
    known = cast("AnyEvent", event)
    if isinstance(known, Request):
        return _request(known)
    if isinstance(known, Life):
        return _life(known)
    if isinstance(known, Generation):
        return _generation(known)
    if isinstance(known, Delivery):
        return _delivery(known)
    return _beside(known)


def _beside(event: ToolUse | Spending | Decision | Configuration) -> str:
    if isinstance(event, ToolUse):
        return _tool_use(event)
    if isinstance(event, Spending):
        return _spending(event)
    if isinstance(event, Decision):
        return _decision(event)
    return _configuration(event)


def _starts(recorded: Recorded, turn_id: TurnId) -> bool:
    return recorded.stream == turn_stream(turn_id) and isinstance(recorded.event, TurnStarted)


def _concerns(recorded: Recorded, turn_id: TurnId, trigger_id: str | None) -> bool:
    match recorded.event:
        case TriggerReceived() as trigger:
            return trigger.trigger_id == trigger_id
        case TriggerDropped() as dropped:
            return dropped.trigger_id == trigger_id
        case StopRequested() | NotePinned():
            return recorded.event.turn_id == turn_id
        case _:
            return recorded.stream in (turn_stream(turn_id), delivery_stream(turn_id))


def _entry(recorded: Recorded, zero: datetime) -> TimelineEntry:
    return TimelineEntry(
        at=recorded.recorded_at,
        offset_ms=round((recorded.recorded_at - zero).total_seconds() * 1_000, 3),
        stream=recorded.stream,
        kind=kind_of(recorded.event),
        summary=summary(recorded.event),
        detail=msgspec.to_builtins(recorded.event),
    )


def _request(event: Request) -> str:
    match event:
        case TriggerReceived():
            return f"{event.author_name} asks by {event.trigger}: {excerpt(event.content)}"
        case TriggerDropped():
            return f"the trigger gets no turn: {event.reason}"
        case StopRequested():
            return f"{event.requester} asks to stop ({event.stop})"
        case StopObserved():
            return f"the turn acts on the stop of {event.requester} ({event.stop})"
        case _:
            assert_never(event)


def _life(event: Life) -> str:
    match event:
        case TurnStarted():
            return f"{event.persona} answers {event.author_name} with {', '.join(event.models)}"
        case TurnRecovered():
            return f"taken over, epoch {event.epoch}: {event.found}; {event.decision}"
        case TurnEnded():
            return _ending(event)
        case _:
            assert_never(event)


def _ending(event: TurnEnded) -> str:
    reason = f" ({event.error or event.stop_reason})" if event.error or event.stop_reason else ""
    withheld = "".join(f", {count} {rule}" for rule, count in event.withheld.items())
    return (
        f"{event.status}{reason}: {event.messages} messages, "
        f"{event.received} characters received, {event.delivered} delivered{withheld}"
    )


def _generation(event: Generation) -> str:
    match event:
        case RequestOpened():
            cut = f", without the {event.left_out} oldest messages" if event.left_out else ""
            model = f"{event.provider}/{event.model}"
            return f"request {event.request} ({event.attempt}) to {model}{cut}"
        case RawChunk():
            end = f", the body ended: {event.end}" if event.end else ""
            return f"{len(event.payloads)} payloads of request {event.request}{end}"
        case ProcessedChunk():
            return "; ".join(_chunk(chunk) for chunk in event.chunks) or "nothing"
        case RequestClosed():
            fault = f" with {event.error.type} {event.error.code}" if event.error else ""
            return f"request {event.request} closed by {event.end}{fault} after {event.ms:.0f} ms"
        case UsageReport():
            return _usage(event)
        case _:
            assert_never(event)


def _tool_use(event: ToolUse) -> str:
    match event:
        case ToolCalled(function=function):
            return f"call {event.call} of {function.name}: {excerpt(function.arguments)}"
        case ToolReturned():
            reason = f" ({event.reason})" if event.reason else ""
            return (
                f"call {event.call} {event.outcome}{reason} after {event.ms:.0f} ms: "
                f"{excerpt(event.result)}"
            )
        case NotePinned():
            return f"a note is kept: {excerpt(event.note)}"
        case _:
            assert_never(event)


def _chunk(chunk: Chunk) -> str:
    thought = f" and {sum(len(one.content) for one in chunk.thoughts)} characters of thought"
    suffix = thought if chunk.thoughts else ""
    match chunk.type:
        case "text":
            return f"text {excerpt(chunk.text)}{suffix}"
        case "function_call":
            name = chunk.function_call.name if chunk.function_call else ""
            return f"calls {name}{suffix}"
        case "error":
            fault = chunk.error
            return f"error {fault.type} {fault.code}{suffix}" if fault else f"error{suffix}"
        case "done":
            return f"done ({chunk.finish_reason}){suffix}"
        case _:
            assert_never(chunk.type)


def _usage(event: UsageReport) -> str:
    cost = "unknown" if event.cost_pico is None else _dollars(event.cost_pico)
    tokens = (
        "unknown" if count is None else str(count)
        for count in (event.input_tokens, event.output_tokens)
    )
    return f"{event.measurement}: {' in, '.join(tokens)} out, cost {cost}"


def _dollars(pico: int) -> str:
    return f"{pico / 10**12:.6f} USD"


def _spending(event: Spending) -> str:
    match event:
        case RequestDenied():
            what = f"request {event.request} to {event.provider}/{event.model}"
            return f"{what} denied by a {event.origin}: {event.code}"
        case HoldOpened():
            return f"{_dollars(event.estimate_pico)} set aside for {event.hold_id}"
        case HoldSettled():
            return f"{_dollars(event.spent_pico)} spent by {event.hold_id} ({event.basis})"
        case _:
            assert_never(event)


def _decision(event: Decision) -> str:
    match event:
        case DecisionRequested():
            return f"asks {event.model} {event.question_count} questions ({event.slot})"
        case DecisionAnswered():
            fault = f" ({event.category})" if event.category else ""
            return (
                f"{event.model} {event.status}{fault}: {event.answer_count} answers, "
                f"{event.refusal_count} refused, {event.elapsed_ms} ms"
            )
        case _:
            assert_never(event)


def _delivery(event: Delivery) -> str:
    match event:
        case Flush():
            withheld = "".join(f", {count} {rule}" for rule, count in event.withheld.items())
            return (
                f"flush {event.flush} at {event.boundary}, {len(event.pieces)} messages{withheld}: "
                f"{excerpt(event.text)}"
            )
        case SendAttempt():
            return _attempt(event)
        case Receipt():
            return (
                f"attempt {event.attempt} is message {event.message_id}, {event.ms:.0f} ms, "
                f"{event.tries} tries"
            )
        case SendFailed():
            return f"attempt {event.attempt} {event.outcome}: {event.reason}"
        case ButtonDisabled():
            failure = (
                f" could not be disabled: {event.failure}" if event.failure else " is disabled"
            )
            return f"the button of message {event.message_id}{failure}"
        case Retraction():
            return _retraction(event)
        case _:
            assert_never(event)


def _attempt(event: SendAttempt) -> str:
    what = {
        "answer": f"flush {event.flush}.{event.piece}",
        "notice": "a notice",
        "reply_notice": "what it replies to",
    }[event.purpose]
    name = f" as {event.identity}" if event.identity else ""
    part = f", part {event.part}" if event.part else ""
    files = f", {len(event.attachments)} files" if event.attachments else ""
    said = f"{what}{part}{files}: {excerpt(event.content)}"
    return f"attempt {event.attempt} by {event.route}{name}, {said}"


def _retraction(event: Retraction) -> str:
    ordinals = ", ".join(str(attempt) for attempt in event.attempts)
    if not event.is_done:
        return f"the messages of attempts {ordinals} are withdrawn"
    kept = ", ".join(str(attempt) for attempt in event.kept)
    return f"withdrawn: {ordinals}" + (f"; of them still stand: {kept}" if kept else "")


def excerpt(text: str) -> str:
    """Return `text` in quotes, on one line, at most 60 characters of it."""
    shown = text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"
    return '"' + shown.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r") + '"'


def _configuration(event: Configuration) -> str:
    match event:
        case PersonaDefined():
            return f"{event.by} defines the persona {event.persona.name}"
        case PersonaRemoved():
            return f"{event.by} removes the persona {event.name}"
        case SettingChanged():
            whose = f" of {event.persona}" if event.persona else ""
            value = "the default" if event.value is None else event.value
            return f"{event.by} sets {event.setting}{whose} to {value}"
        case ProviderSaved() | ProviderRemoved() | ModelChosen() | FallbacksChosen():
            return _model_choice(event)
        case _:
            assert_never(event)


def _model_choice(event: ModelChoice) -> str:
    match event:
        case ProviderSaved():
            return f"{event.by} saves the provider {event.name}, {event.wire} at {event.base_url}"
        case ProviderRemoved():
            return f"{event.by} removes the provider {event.name}"
        case ModelChosen():
            return f"{event.by} chooses {event.model or 'no model'}{_whose(event)}"
        case FallbacksChosen(models=models):
            chosen = "the default" if models is None else ", ".join(models) or "none"
            return f"{event.by} chooses as fallbacks: {chosen}"
        case _:
            assert_never(event)


def _whose(choice: ModelChosen) -> str:
    if choice.persona:
        return f" for {choice.persona}"
    return "" if choice.channel_id is None else f" in channel {choice.channel_id}"
