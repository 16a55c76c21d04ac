"""Hypothesis strategies: one per event type, one per append, and whole legal turns.

`EVENTS` maps each event type to its strategy; a type without one fails a test. `histories` gives
turns as the actors write them, each event in its stream, in order of time.
"""

from datetime import UTC, datetime
from typing import get_args
from uuid import UUID

from hypothesis import strategies as st

from events.base import (
    ChannelId,
    Event,
    GuildId,
    MessageId,
    Scope,
    TriggerId,
    TurnId,
    UserId,
)
from events.decisions import (
    ApiStyle,
    DecisionAnswered,
    DecisionFailure,
    DecisionRequested,
    DecisionStatus,
)
from events.delivery import (
    ButtonDisabled,
    Outcome,
    Purpose,
    Receipt,
    Retraction,
    Route,
    SendAttempt,
    SendFailed,
)
from events.generation import (
    AttemptKind,
    Chunk,
    ErrorType,
    Flush,
    FunctionCall,
    Piece,
    ProcessedChunk,
    ProviderFault,
    RawChunk,
    RequestClosed,
    RequestOpened,
    StreamEnd,
    Thought,
    ToolCalled,
    ToolOutcome,
    ToolReturned,
    Usage,
)
from events.notes import NotePinned
from events.scene import Participant, Scene, ServerEmoji
from events.settings import (
    FallbacksChosen,
    ModelChosen,
    Persona,
    PersonaDefined,
    PersonaRemoved,
    ProviderRemoved,
    ProviderSaved,
    SettingChanged,
    Sprite,
)
from events.spending import Basis, HoldOpened, HoldSettled, RequestDenied, UsageReport
from events.turn import (
    RecoveryDecision,
    StopKind,
    StopObserved,
    StopRequested,
    TriggerDropped,
    TriggerKind,
    TriggerReceived,
    TurnEnded,
    TurnRecovered,
    TurnSettings,
    TurnStarted,
    TurnStatus,
)
from tests.legal_turns import History, TurnWriter

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
"""Any text that UTF-8 can hold, control characters and astral ones included."""
words = st.from_regex(r"[a-z][a-z0-9_-]{0,11}", fullmatch=True)
"""Names and codes."""
counts = st.integers(0, 2**40)
"""Numbers of tokens, characters, milliseconds."""
ordinals = st.integers(1, 10_000)
"""Ordinals from 1."""
milliseconds = st.floats(0, 1e9, allow_nan=False)
"""Durations."""
times = st.datetimes(datetime(2020, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds must be naive
"""Aware UTC times, microseconds."""

snowflakes = st.integers(0, 2**64 - 1)
"""Discord's ids."""
channel_ids = snowflakes.map(ChannelId)
guild_ids = snowflakes.map(GuildId)
message_ids = snowflakes.map(MessageId)
user_ids = snowflakes.map(UserId)
trigger_ids = snowflakes.map(lambda one: TriggerId(str(one)))


def _uuid7(parts: tuple[int, int, int]) -> TurnId:
    ms, high, low = parts
    return TurnId(str(UUID(int=ms << 80 | 7 << 76 | high << 64 | 2 << 62 | low)))


turn_ids = st.tuples(
    st.integers(0, 2**48 - 1), st.integers(0, 2**12 - 1), st.integers(0, 2**62 - 1)
).map(_uuid7)
"""UUIDv7s."""
scopes = st.builds(
    Scope,
    turn_id=st.none() | turn_ids,
    channel_id=st.none() | channel_ids,
    guild_id=st.none() | guild_ids,
)
"""Whom an event concerns."""


def one_of_literal(literal: object) -> st.SearchStrategy[str]:
    """Return a strategy of the words of a `Literal`."""
    return st.sampled_from(get_args(literal))


maybe_counts = st.none() | counts
maybe_words = st.none() | words
withheld = st.dictionaries(words, counts, max_size=3)

usages = st.builds(
    Usage,
    input_tokens=maybe_counts,
    output_tokens=maybe_counts,
    cache_read_tokens=maybe_counts,
    cache_write_tokens=maybe_counts,
    reasoning_tokens=maybe_counts,
    cost_pico=maybe_counts,
)
faults = st.builds(
    ProviderFault,
    type=one_of_literal(ErrorType),
    code=words,
    retryable=st.booleans(),
    message=texts,
    retry_after_ms=maybe_counts,
)
thoughts = st.builds(Thought, content=texts, form=st.sampled_from(["raw", "summary"]))
calls = st.builds(
    FunctionCall, name=words, arguments=texts, call_id=maybe_words, carried=st.just("") | texts
)
chunks = st.builds(
    Chunk,
    type=st.sampled_from(["text", "function_call", "error", "done"]),
    text=texts,
    thoughts=st.lists(thoughts, max_size=2).map(tuple),
    function_call=st.none() | calls,
    error=st.none() | faults,
    finish_reason=maybe_words,
    usage=st.none() | usages,
    serving_provider=maybe_words,
    response_id=maybe_words,
)
pieces = st.builds(
    Piece,
    content=texts,
    start=counts,
    end=counts,
    is_table=st.booleans(),
    mentions=st.lists(snowflakes, max_size=2).map(tuple),
)
settings = st.builds(
    TurnSettings,
    live_streaming=st.booleans(),
    paced_messages=st.booleans(),
    sentence_splitting=st.booleans(),
    force_lowercase=st.booleans(),
    punctuation_splits=st.booleans(),
    send_message_limit=st.integers(0, 50),
    stops_at_speakers=st.booleans(),
    uses_emojis=st.booleans(),
    keeps_unknown_emojis=st.booleans(),
    repeats_emojis=st.booleans(),
)

scenes = st.builds(
    Scene,
    aliases=st.lists(texts, max_size=2).map(tuple),
    sprites=st.lists(words, max_size=2).map(tuple),
    participants=st.lists(
        st.builds(
            Participant,
            user_id=st.none() | user_ids,
            names=st.lists(texts, min_size=1, max_size=2).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
    emojis=st.lists(
        st.builds(ServerEmoji, name=words, emoji_id=snowflakes, is_animated=st.booleans()),
        max_size=2,
    ).map(tuple),
    recent_emojis=st.lists(words, max_size=2).map(tuple),
    seen_labels=st.lists(texts, max_size=2).map(tuple),
)
sprites = st.builds(Sprite, key=words, image=texts, is_identity=st.booleans())
personas = st.builds(
    Persona,
    name=texts,
    avatar=texts,
    triggers=st.lists(words, max_size=2).map(tuple),
    prompt=texts,
    sprites=st.lists(sprites, max_size=2).map(tuple),
)

EVENTS: dict[type[Event], st.SearchStrategy[Event]] = {
    TriggerReceived: st.builds(
        TriggerReceived,
        trigger_id=trigger_ids,
        trigger=one_of_literal(TriggerKind),
        channel_id=channel_ids,
        guild_id=st.none() | guild_ids,
        message_id=st.none() | message_ids,
        author_id=user_ids,
        author_name=texts,
        content=texts,
        persona=texts,
        parent_id=st.none() | channel_ids,
        quoted_author=texts,
        quoted=texts,
        extras=st.lists(texts, max_size=2).map(tuple),
    ),
    TriggerDropped: st.builds(
        TriggerDropped,
        trigger_id=trigger_ids,
        reason=st.sampled_from(["expired", "queue_full", "superseded", "given_up", "killed"]),
    ),
    StopRequested: st.builds(
        StopRequested, turn_id=turn_ids, requester=words, stop=one_of_literal(StopKind)
    ),
    TurnStarted: st.builds(
        TurnStarted,
        trigger_id=trigger_ids,
        channel_id=channel_ids,
        guild_id=st.none() | guild_ids,
        message_id=st.none() | message_ids,
        author_id=user_ids,
        author_name=texts,
        prompt=texts,
        persona=texts,
        system_prompt=texts,
        models=st.lists(words, min_size=1, max_size=3).map(tuple),
        settings=settings,
        delivery_mode=st.sampled_from(["persona", "user_impersonation"]),
        seed=st.integers(0, 2**63 - 1),
        code_version=words,
        text_version=ordinals,
        scene=scenes,
    ),
    StopObserved: st.builds(
        StopObserved, position=ordinals, stop=one_of_literal(StopKind), requester=words
    ),
    TurnRecovered: st.builds(
        TurnRecovered, epoch=ordinals, found=texts, decision=one_of_literal(RecoveryDecision)
    ),
    TurnEnded: st.builds(
        TurnEnded,
        status=one_of_literal(TurnStatus),
        stop_reason=maybe_words,
        error=maybe_words,
        delivered_text=texts,
        received=counts,
        delivered=counts,
        withheld=withheld,
        messages=counts,
        requests=counts,
    ),
    RequestOpened: st.builds(
        RequestOpened,
        request=ordinals,
        provider=words,
        kind_of_provider=words,
        model=words,
        attempt=one_of_literal(AttemptKind),
        url=texts,
        body=texts,
        dropped=st.lists(words, max_size=2).map(tuple),
        key=counts,
        left_out=counts,
    ),
    RawChunk: st.builds(
        RawChunk,
        request=ordinals,
        payloads=st.lists(texts, max_size=3).map(tuple),
        arrived_ms=st.lists(milliseconds, max_size=3).map(tuple),
        base64=st.lists(st.integers(0, 2), max_size=2).map(tuple),
        http_status=st.integers(100, 599),
        retry_after_seconds=st.none() | milliseconds,
        end=st.none() | one_of_literal(StreamEnd),
    ),
    ProcessedChunk: st.builds(
        ProcessedChunk, request=ordinals, chunks=st.lists(chunks, max_size=3).map(tuple)
    ),
    RequestClosed: st.builds(
        RequestClosed,
        request=ordinals,
        end=one_of_literal(StreamEnd),
        http_status=st.none() | st.integers(100, 599),
        finish_reason=maybe_words,
        error=st.none() | faults,
        ms=milliseconds,
        provider=words,
        key=counts,
    ),
    ToolCalled: st.builds(ToolCalled, call=ordinals, request=ordinals, function=calls),
    ToolReturned: st.builds(
        ToolReturned,
        call=ordinals,
        outcome=one_of_literal(ToolOutcome),
        reason=words,
        result=texts,
        ms=milliseconds,
    ),
    Flush: st.builds(
        Flush,
        flush=ordinals,
        text=texts,
        boundary=st.sampled_from(["code_open", "code_close", "newline", "period", "final"]),
        start=counts,
        end=counts,
        pieces=st.lists(pieces, max_size=2).map(tuple),
        withheld=withheld,
        modifier=texts,
        is_copied=st.booleans(),
        details=st.lists(texts, max_size=2).map(tuple),
    ),
    SendAttempt: st.builds(
        SendAttempt,
        attempt=ordinals,
        flush=counts,
        piece=counts,
        purpose=one_of_literal(Purpose),
        route=one_of_literal(Route),
        channel_id=channel_ids,
        content=texts,
        identity=st.none() | texts,
        reply_to=st.none() | message_ids,
        attachments=st.lists(words, max_size=2).map(tuple),
        pacing_ms=milliseconds,
        lock_ms=milliseconds,
        rate_limit_ms=milliseconds,
        sender=words,
        part=counts,
        buttons=st.lists(words, max_size=1).map(tuple),
        prefix=texts,
        webhook_id=st.none() | snowflakes,
    ),
    Receipt: st.builds(
        Receipt,
        attempt=ordinals,
        message_id=message_ids,
        destination_id=channel_ids,
        route=one_of_literal(Route),
        webhook_id=st.none() | snowflakes,
        identity=st.none() | texts,
        speaker_kind=st.sampled_from(["bot", "appearance", "identity_sprite", "copied"]),
        sprite=maybe_words,
        ms=milliseconds,
        tries=ordinals,
        persona=maybe_words,
        is_generic=st.booleans(),
    ),
    SendFailed: st.builds(
        SendFailed,
        attempt=ordinals,
        outcome=one_of_literal(Outcome),
        reason=words,
        code=maybe_counts,
        http_status=st.none() | st.integers(100, 599),
        ms=milliseconds,
        tries=counts,
    ),
    ButtonDisabled: st.builds(ButtonDisabled, message_id=message_ids, failure=st.none() | words),
    Retraction: st.builds(
        Retraction,
        attempts=st.lists(ordinals, max_size=3).map(tuple),
        is_done=st.booleans(),
        kept=st.lists(ordinals, max_size=3).map(tuple),
    ),
    NotePinned: st.builds(NotePinned, turn_id=turn_ids, call=ordinals, note=texts, by=texts),
    UsageReport: st.builds(
        UsageReport,
        request=ordinals,
        provider=words,
        model=words,
        measurement=st.sampled_from(["measured", "estimated"]),
        response_id=maybe_words,
        serving_provider=maybe_words,
        input_tokens=maybe_counts,
        output_tokens=maybe_counts,
        cache_read_tokens=maybe_counts,
        cache_write_tokens=maybe_counts,
        reasoning_tokens=maybe_counts,
        cost_pico=maybe_counts,
        correlation=st.just("") | words,
    ),
    DecisionRequested: st.builds(
        DecisionRequested,
        correlation=words,
        slot=words,
        provider=st.sampled_from(["openrouter", "custom"]),
        api_style=one_of_literal(ApiStyle),
        model=words,
        model_id=ordinals,
        registration_id=maybe_counts,
        custom_endpoint_id=maybe_counts,
        question_count=st.integers(1, 64),
        body_bytes=counts,
    ),
    DecisionAnswered: st.builds(
        DecisionAnswered,
        correlation=words,
        api_style=one_of_literal(ApiStyle),
        model=words,
        status=one_of_literal(DecisionStatus),
        category=st.none() | one_of_literal(DecisionFailure),
        stage=maybe_words,
        http_status=st.none() | st.integers(100, 599),
        answer_count=st.integers(0, 64),
        refusal_count=st.integers(0, 64),
        actual_model=st.none() | texts,
        provider_request_id=maybe_words,
        elapsed_ms=counts,
        limit_source=maybe_words,
        media_minimum_pico=maybe_counts,
    ),
    RequestDenied: st.builds(
        RequestDenied,
        request=ordinals,
        provider=words,
        model=words,
        origin=st.sampled_from(["hook", "translator"]),
        code=words,
    ),
    HoldOpened: st.builds(
        HoldOpened, hold_id=words, estimate_pico=counts, provider=words, model=words
    ),
    HoldSettled: st.builds(
        HoldSettled, hold_id=words, spent_pico=counts, basis=one_of_literal(Basis)
    ),
    PersonaDefined: st.builds(PersonaDefined, persona=personas, by=user_ids),
    PersonaRemoved: st.builds(PersonaRemoved, name=texts, by=user_ids),
    SettingChanged: st.builds(
        SettingChanged,
        setting=words,
        value=st.none() | st.booleans() | st.integers(0, 100) | texts,
        persona=texts,
        by=user_ids,
    ),
    ProviderSaved: st.builds(
        ProviderSaved, name=words, wire=words, base_url=texts, credential=words, by=user_ids
    ),
    ProviderRemoved: st.builds(ProviderRemoved, name=words, by=user_ids),
    ModelChosen: st.builds(
        ModelChosen,
        model=st.none() | words,
        persona=texts,
        channel_id=st.none() | channel_ids,
        by=user_ids,
    ),
    FallbacksChosen: st.builds(
        FallbacksChosen,
        models=st.none() | st.lists(words, max_size=3).map(tuple),
        by=user_ids,
    ),
}
"""One strategy an event type."""

events = st.one_of(*EVENTS.values())
"""Any event."""


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draw a legal turn: what was received is delivered or withheld, and every attempt settled.

    It may be stopped, be cut off by an unconfirmed send, or be recovered; it always ends.
    """
    turn_id, channel_id = draw(turn_ids), draw(channel_ids)
    started = draw(EVENTS[TurnStarted])
    assert isinstance(started, TurnStarted)
    scope = Scope(turn_id=turn_id, channel_id=channel_id, guild_id=started.guild_id)
    segments = draw(st.lists(texts.filter(str.strip), max_size=4))
    cut = draw(st.none() | st.tuples(st.integers(0, 4), st.sampled_from(["stop", "unconfirmed"])))
    history = TurnWriter(turn_id, channel_id, started, segments)
    if draw(st.booleans()):
        history.recover()
    history.request()
    history.deliver(*(cut or (len(segments), None)))
    history.end()
    return History(turn_id=turn_id, channel_id=channel_id, scope=scope, facts=tuple(history.facts))
