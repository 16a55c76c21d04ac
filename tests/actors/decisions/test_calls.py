"""Decision calls over real HTTP, by the vectors TD and TS18 of the specification."""

import asyncio
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs
from typing_extensions import override

from actors.decisions.models import DecisionReference, DecisionScope, load_decision_models
from actors.decisions.questions import Question
from actors.decisions.results import (
    Cancelled,
    Completed,
    Denied,
    Failed,
    InvalidInput,
    Refused,
    Unavailable,
)
from actors.errors import UnreadableKeyError
from actors.http_port import HttpRequest
from actors.spending.denials import RequestDeniedError
from events.decisions import DecisionAnswered, DecisionRequested
from events.generation import Usage
from events.spending import UsageReport
from tests.actors.decisions.asking import (
    CUSTOM,
    EVIDENCE,
    KEY,
    NATIVE,
    PERSONAL,
    SERVER,
    Asker,
    Purse,
    Rerouted,
    an_ask,
    body,
    no_key,
    registered,
    set_token,
)
from tests.actors.gate.outside import Outside, response
from tests.fakes import ManualClock

USAGE = {"input_tokens": 41, "output_tokens": 0, "cost": 0.000001722}


def url(outside: Outside) -> str:
    """Return the base of a custom endpoint, by a name."""
    return f"http://gw.example:{outside.port}/v1"


def levels(logs: list[Any]) -> list[str]:
    """Return how loud each line was."""
    return [line["log_level"] for line in logs]


async def test_td1_without_a_choice_nobody_is_asked() -> None:
    """A guild that never chose a model must cost nothing, not even a look."""
    async with Asker() as asker:
        with capture_logs() as logs:
            result = await asker.ask(reference=None)

        assert result == Unavailable(correlation="c1", reason="not-selected")
        assert (logs, asker.catalog.loads, asker.journal.events) == ([], 0, [])


@pytest.mark.parametrize(
    ("evidence", "questions"),
    [
        pytest.param("e", [("a-b", "x")], id="TD3"),
        pytest.param("e", [("a", "x"), ("a", "y")], id="TD4"),
        pytest.param("e", [], id="TD5-0"),
        pytest.param("e", [(f"q{n}", "x") for n in range(65)], id="TD5-65"),
        pytest.param("\ud800", [("a", "x")], id="TD8"),
    ],
)
async def test_what_cant_be_asked_is_not_sent(
    evidence: str, questions: list[tuple[str, str]]
) -> None:
    """It is the asker's fault, and no failure."""
    asked = [Question(id=one, instructions=text) for one, text in questions]
    async with Outside() as outside, Asker(registered(url(outside))) as asker:
        with capture_logs() as logs:
            result = await asker.ask(evidence=evidence, questions=asked)

        assert isinstance(result, InvalidInput)
        assert (logs, outside.connections, asker.catalog.loads) == ([], 0, 0)


@pytest.mark.parametrize(
    "reference",
    [
        DecisionReference(provider="custom:03", model_id=1, custom_endpoint_id=9),
        DecisionReference(provider="custom:3", model_id=1),
        DecisionReference(provider="openrouter", model_id=0),
        DecisionReference(provider="openrouter", model_id=1, custom_endpoint_id=9),
        DecisionReference(provider="main", model_id=1),
        DecisionReference(provider="custom:3", model_id=1, custom_endpoint_id=9, registration_id=2),
    ],
)
async def test_d4_a_choice_whose_fields_dont_belong_together_is_none(
    reference: DecisionReference,
) -> None:
    """It was not made by a menu."""
    async with Asker(registered(reference=reference)) as asker:
        result = await asker.ask(reference=reference)

        assert isinstance(result, InvalidInput)
        assert asker.catalog.loads == 0


@pytest.mark.parametrize(("ceiling", "is_sent"), [(109, True), (108, False)])
async def test_td7_the_bytes_of_the_body_are_the_bound(ceiling: int, is_sent: bool) -> None:  # noqa: FBT001 - a test's parameter
    """Evidence is never cut; what may not fit is not sent."""
    async with Outside(response(200, body())) as outside:
        row = registered(url(outside), ceiling=ceiling)
        async with Asker(row) as asker:
            result = await asker.ask(evidence="Ünïcode 🙂")

        assert isinstance(result, Completed if is_sent else InvalidInput)
        assert [len(one) for one in outside.bodies] == ([109] if is_sent else [])


async def test_td9_a_token_that_is_set_ends_it_before_the_start() -> None:
    """Nobody waits for the answer any more."""
    async with Outside() as outside, Asker(registered(url(outside))) as asker:
        with capture_logs() as logs:
            result = await asker.ask(abort=set_token())

        assert result == Cancelled(correlation="c1")
        assert levels(logs) == ["info"]
        assert (outside.connections, asker.catalog.loads) == (0, 0)


@pytest.mark.parametrize(
    ("style", "path"),
    [("system-one", "/v1/systemone"), ("openai-decisions", "/v1/decisions")],
)
async def test_d16_a_custom_endpoint_is_asked_below_its_base(style: Any, path: str) -> None:  # noqa: ANN401 - a protocol
    """TD30, TD31: with its key, where it has one."""
    async with Outside(response(500)) as outside:
        row = registered(url(outside), style=style)
        async with Asker(row) as asker:
            await asker.ask()
            asker.catalog.rows = [
                registered(url(outside), style=style, read_key=no_key, requires_key=False)
            ]
            await asker.ask()

        with_key, without = outside.heads
        assert with_key.startswith(f"POST {path} HTTP/1.1")
        assert f"Authorization: Bearer {KEY}" in with_key
        assert "content-type: application/json" in with_key.lower()
        assert "authorization" not in without.lower()


async def test_1_4_a_native_answer_is_completed() -> None:
    """The example of the specification, whole: events, figures, ids."""
    answer = body(id="dec_9f2", model="acme/decide-1-20261101", usage=USAGE)
    async with Outside(response(200, answer)) as outside:
        transport = Rerouted(outside.port)
        row = registered(reference=NATIVE, style="openrouter-decisions")
        async with Asker(row, transport=transport) as asker:
            with capture_logs() as logs:
                result = await asker.ask(reference=NATIVE, evidence="Ünïcode 🙂")
        await transport.aclose()

    assert isinstance(result, Completed)
    assert [verdict.probability for verdict in result.verdicts] == [0.82]
    assert (result.request_id, result.model) == ("dec_9f2", "acme/decide-1-20261101")
    assert result.usage == Usage(input_tokens=41, output_tokens=0, cost_pico=1_722_000)
    [request] = transport.asked
    assert (request.url, request.gate) == ("https://openrouter.ai/api/alpha/decisions", None)
    assert request.headers["X-OpenRouter-Title"] == "Rejoinder"
    requested, report, answered = asker.journal.events
    assert isinstance(requested, DecisionRequested)
    assert (requested.body_bytes, requested.question_count) == (109, 1)
    assert isinstance(report, UsageReport)
    assert (report.correlation, report.cost_pico) == ("c1", 1_722_000)
    assert isinstance(answered, DecisionAnswered)
    assert (answered.status, answered.answer_count) == ("completed", 1)
    [line] = logs
    assert (line["log_level"], line["outcome"], line["cost_pico"]) == ("info", "completed", 1722000)
    assert not {EVIDENCE, KEY, "acme/decide-1"} & set(map(str, line.values()))


async def test_td33_a_partial_refusal_keeps_both() -> None:
    """The asker may still use what was answered."""
    answer = msgspec.json.encode(
        {
            "model": "judge",
            "answers": [
                {"type": "predicate", "name": "a", "probability": 0.97},
                {"type": "refusal", "name": "b"},
            ],
            "usage": {"input_tokens": 88},
        }
    )
    async with Outside(response(200, answer)) as outside:
        async with Asker(registered(url(outside), style="openai-decisions")) as asker:
            result = await asker.ask(
                questions=[Question(id="a", instructions="x"), Question(id="b", instructions="y")]
            )

        assert isinstance(result, Refused)
        assert [verdict.probability for verdict in result.verdicts] == [0.97, None]
        [answered] = asker.journal.of(DecisionAnswered)
        assert isinstance(answered, DecisionAnswered)
        assert (answered.status, answered.answer_count, answered.refusal_count) == ("refused", 1, 1)


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        pytest.param(b'{"model":"m","answers":{"q1":{"type":"noul","noul":1e999}}}', [], id="TD10"),
        pytest.param(
            b'{"model":"m","answers":{},"usage":{"input_tokens":17,"output_tokens":2}}',
            [17],
            id="TD12",
        ),
        pytest.param(b'{"model":"m","model":"m"}', [], id="TD13"),
        pytest.param(body(answers={"q1": {"type": "predicate"}}), [], id="TD14"),
        pytest.param(body(truncated=True, usage={"input_tokens": 5}), [5], id="TD16"),
        pytest.param(body(usage={"input_tokens": -1}), [], id="TD17"),
        pytest.param(b"<html>", [], id="no JSON"),
    ],
)
async def test_a_malformed_answer_fails_once_and_its_usage_counts(
    answer: bytes, tokens: list[int]
) -> None:
    """It was paid for, whatever it is worth."""
    seen: list[Usage] = []
    async with Outside(response(200, answer)) as outside, Asker(registered(url(outside))) as asker:
        with capture_logs() as logs:
            result = await asker.ask(on_usage=seen.append)

        assert isinstance(result, Failed)
        assert (result.category, result.coarse) == ("malformed_response", "malformed")
        assert result.error_logged
        assert levels(logs) == ["error"]
        assert [usage.input_tokens for usage in seen] == tokens
        assert len(asker.journal.of(UsageReport)) == len(tokens)


async def test_td18_usage_that_is_absent_is_unknown() -> None:
    """Unknown is no zero, and nobody is told."""
    seen: list[Usage] = []
    async with Outside(response(200, body())) as outside, Asker(registered(url(outside))) as asker:
        result = await asker.ask(on_usage=seen.append)

        assert isinstance(result, Completed)
        assert (result.usage, seen, asker.journal.of(UsageReport)) == (None, [], [])


PADDED = body(pad="")


@pytest.mark.parametrize("has_length", [True, False], ids=["announced", "silent"])
@pytest.mark.parametrize(("size", "is_read"), [(1_048_576, True), (1_048_577, False)])
async def test_td19_a_body_is_read_up_to_its_bound(
    size: int,
    is_read: bool,  # noqa: FBT001 - a test's parameter
    has_length: bool,  # noqa: FBT001 - as above
) -> None:
    """Memory is not the sender's to fill."""
    answer = body(pad="x" * (size - len(PADDED)))
    head = b"HTTP/1.1 200 x\r\n\r\n"
    wire = response(200, answer) if has_length else head + answer
    async with Outside(wire) as outside, Asker(registered(url(outside))) as asker:
        result = await asker.ask()

        assert len(answer) == size
        if is_read:
            assert isinstance(result, Completed)
        else:
            assert isinstance(result, Failed)
            assert (result.category, result.stage) == ("malformed_response", "response")


async def test_td20_what_came_before_the_token_was_set_is_recorded() -> None:
    """The answer is thrown away; it is paid for all the same."""
    token = asyncio.Event()
    async with Outside(response(200, body(usage={"input_tokens": 21}))) as outside:
        transport = Rerouted(outside.port, on_chunk=token.set)
        async with Asker(registered(url(outside)), transport=transport) as asker:
            with capture_logs() as logs:
                result = await asker.ask(abort=token)
        await transport.aclose()

    assert isinstance(result, Cancelled)
    [report] = asker.journal.of(UsageReport)
    assert isinstance(report, UsageReport)
    assert report.input_tokens == 21
    assert levels(logs) == ["info"]


async def test_d11_a_token_ends_a_call_in_flight() -> None:
    """The socket closes, so that the provider stops."""
    arrived, closed = asyncio.Event(), asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.set()
        await reader.read()
        writer.close()
        closed.set()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    token = asyncio.Event()
    row = registered(f"http://gw.example:{server.sockets[0].getsockname()[1]}")
    async with server, Asker(row) as asker:
        calling = asyncio.create_task(asker.ask(abort=token))
        await arrived.wait()
        token.set()
        result = await calling
        await closed.wait()

    assert isinstance(result, Cancelled)
    assert [type(event) for event in asker.journal.events] == [DecisionRequested, DecisionAnswered]


@pytest.mark.parametrize("way", ["time", "task"])
async def test_d16_time_and_a_cancelled_task_end_a_call(way: str) -> None:
    """A call has one budget; a cancellation is never swallowed, and leaves its event."""
    arrived = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.set()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    row = registered(f"http://gw.example:{server.sockets[0].getsockname()[1]}")
    clock = ManualClock()
    async with server, Asker(row, clock=clock) as asker:
        calling = asyncio.create_task(asker.ask())
        await arrived.wait()
        if way == "time":
            await clock.advance(120)
            result = await calling
            assert isinstance(result, Failed)
            assert (result.category, result.is_retryable) == ("timeout", True)
        else:
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling

        [answered] = asker.journal.of(DecisionAnswered)
        assert isinstance(answered, DecisionAnswered)
        assert answered.status == ("failed" if way == "time" else "cancelled")


class Broken(Rerouted):
    """A transport whose failures quote all that they know."""

    @override
    def open(self, request: HttpRequest) -> Any:
        """Fail."""
        raise ConnectionResetError(f"{EVIDENCE} {request.headers}")


async def test_td21_a_failure_quotes_nothing() -> None:
    """Exceptions know the request; logs are read by others."""
    transport = Broken(0)
    async with Asker(registered("http://gw.example"), transport=transport) as asker:
        with capture_logs() as logs:
            result = await asker.ask()

    assert isinstance(result, Failed)
    assert (result.category, levels(logs)) == ("network", ["warning"])
    told = f"{result} {logs} {asker.journal.events}"
    assert EVIDENCE not in told
    assert KEY not in told


async def test_an_unreachable_endpoint_is_the_networks_fault() -> None:
    """Row 14, over a real socket that nobody listens on."""
    async with Outside() as gone:
        address = url(gone)
    async with Asker(registered(address)) as asker:
        result = await asker.ask()

    assert isinstance(result, Failed)
    assert (result.category, result.stage) == ("network", "transport")


@pytest.mark.parametrize(
    ("status", "category", "level"),
    [
        *[
            pytest.param(status, category, "warning", id=f"TD22-{status}")
            for status, category in (
                (401, "authentication"),
                (403, "authentication"),
                (404, "model_unavailable"),
                (408, "upstream"),
                (429, "throttled"),
                (500, "upstream"),
                (503, "upstream"),
            )
        ],
        *[
            pytest.param(status, "malformed_request", "error", id=f"TD23-{status}")
            for status in (400, 422)
        ],
    ],
)
async def test_a_status_says_what_went_wrong(status: int, category: str, level: str) -> None:
    """What to do about it differs: wait, pay, mend."""
    refusal = b'{"error":{"message":"Ada asked about her illness","type":"some_error"}}'
    async with Outside(response(status, refusal, Retry_After="3")) as outside:
        async with Asker(registered(url(outside))) as asker:
            with capture_logs() as logs:
                result = await asker.ask()

        assert isinstance(result, Failed)
        assert (result.category, result.http_status) == (category, status)
        assert (result.retry_after_seconds, result.stage) == (3, "response")
        assert levels(logs) == [level]
        assert "illness" not in f"{logs} {result}"
        assert logs[0]["codes"] == ("some_error",)


LIMIT = (
    '{{"error":{{"code":402,"message":"prose that must not be shown",'
    '"metadata":{{"limit_source":"{}","media_minimum_usd":{},"remedy_hint":"prose"}}}}}}'
)


@pytest.mark.parametrize(
    ("status", "source", "minimum", "cause"),
    [
        pytest.param(
            402, "openrouter_key_limit", "null", ("openrouter_key_limit", None), id="TD24"
        ),
        pytest.param(402, "something_new", "1", None, id="TD25"),
        pytest.param(403, "openrouter_credits", "0.5", ("openrouter_credits", 0.5), id="TN12"),
        pytest.param(402, "openrouter_credits", "-1", ("openrouter_credits", None), id="negative"),
    ],
)
async def test_a_limit_is_told_without_the_providers_words(
    status: int, source: str, minimum: str, cause: tuple[str, float | None] | None
) -> None:
    """Whoever shows it has words of his own."""
    refusal = LIMIT.format(source, minimum).encode()
    async with Outside(response(status, refusal)) as outside:
        async with Asker(registered(url(outside))) as asker:
            with capture_logs() as logs:
                result = await asker.ask()

        assert isinstance(result, Failed)
        assert result.category == "payment_required"
        assert (result.cause.args if result.cause else None) == cause
        assert "prose" not in f"{result!r} {logs} {asker.journal.events}"


class Stranger:
    """Another owner."""


@pytest.mark.parametrize("is_theirs", [True, False], ids=["TD26", "TD27"])
async def test_a_denial_is_its_owners_alone(is_theirs: bool) -> None:  # noqa: FBT001 - a test's parameter
    """Another owner's refusal must not be shown as one's own."""
    denial = RequestDeniedError(None if is_theirs else Stranger(), "budget_reached")
    purse = Purse(denial)
    async with Outside() as outside, Asker(registered(url(outside)), purse=purse) as asker:
        with capture_logs() as logs:
            result = await asker.ask()

        if is_theirs:
            assert isinstance(result, Denied)
            assert result.denial is denial
            assert levels(logs) == ["info"]
        else:
            assert isinstance(result, Failed)
            assert (result.category, levels(logs)) == ("unexpected", ["error"])
        assert (purse.settled, outside.connections, asker.journal.events) == ([], 0, [])


@pytest.mark.parametrize(
    ("wire", "settled"),
    [
        (response(200, body(usage=USAGE)), (1_722_000, "reported")),
        (response(200, body(answers={}, usage=USAGE)), (1_722_000, "reported")),
        (response(200, body()), (5, "estimate")),
        (response(500), (0, "zero")),
        (b"", (0, "none")),
    ],
)
async def test_d36_a_hold_is_settled_by_how_the_request_ended(
    wire: bytes, settled: tuple[int, str]
) -> None:
    """7.3, TH17: what was paid counts, whatever the verdict is worth."""
    purse = Purse()
    async with Outside(wire) as outside, Asker(registered(url(outside)), purse=purse) as asker:
        await asker.ask()

        [info] = purse.began
        assert (info.api_key, info.body.encode()) == (KEY, outside.bodies[0])
        assert purse.settled == [settled]
        assert len(purse.reports) == (settled[1] == "reported")


async def test_td29_a_model_that_was_registered_again_is_another() -> None:
    """An old choice must not come to mean something else."""
    old = DecisionReference(provider="openrouter", model_id=5, registration_id=7)
    new = DecisionReference(provider="openrouter", model_id=5, registration_id=8)
    row = registered(reference=new, style="openrouter-decisions", owner=SERVER)
    async with Asker(row) as asker:
        result = await asker.ask(reference=old)
        offered = await load_decision_models(asker.catalog, None, SERVER)

    assert result == Unavailable(correlation="c1", reason="not-owned")
    assert [option.reference for option in offered] == [new]


@pytest.mark.parametrize("scope", [PERSONAL, DecisionScope(kind="server", owner_id=43)])
async def test_d6_another_scopes_connection_is_not_theirs(scope: DecisionScope) -> None:
    """Its key would be spent by strangers."""
    async with Asker(registered("http://gw.example", owner=SERVER)) as asker:
        result = await asker.ask(scope=scope)

        assert result == Unavailable(correlation="c1", reason="not-owned")
        assert await load_decision_models(asker.catalog, None, scope) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"base_url": ""},
        {"base_url": "http://gw.example", "kind": "openai"},
        {"base_url": "http://gw.example", "style": "openrouter-decisions"},
    ],
)
async def test_d1_what_cant_decide_is_not_asked(fields: dict[str, Any]) -> None:
    """Row 6; nor does a menu offer it."""
    async with Asker(registered(**fields)) as asker:
        result = await asker.ask()

        assert result == Unavailable(correlation="c1", reason="unsupported")
        assert await load_decision_models(asker.catalog, None, SERVER) == []


async def unreadable() -> str:
    """Fail to read a key.

    Raises:
        UnreadableKeyError: Always.
    """
    raise UnreadableKeyError


@pytest.mark.parametrize(
    ("read_key", "told"), [(no_key, ["warning"]), (unreadable, [])], ids=["row 10", "row 11"]
)
async def test_d10_without_its_key_a_model_is_not_asked(read_key: Any, told: list[str]) -> None:  # noqa: ANN401 - a function
    """Whoever could not read it has logged that."""
    async with Outside() as outside, Asker(registered(url(outside), read_key=read_key)) as asker:
        with capture_logs() as logs:
            result = await asker.ask()

        assert isinstance(result, Failed)
        assert (result.category, result.stage) == ("credentials", "resolution")
        assert (levels(logs), outside.connections) == (told, 0)


async def test_row_4_a_catalog_that_fails_is_a_failure() -> None:
    """It is ours to mend."""
    async with Asker() as asker:
        asker.catalog._error = RuntimeError(KEY)  # pyright: ignore[reportPrivateUsage] - a test's fault
        with capture_logs() as logs:
            result = await asker.ask()

    assert isinstance(result, Failed)
    assert (result.category, result.stage, levels(logs)) == ("unexpected", "resolution", ["error"])
    assert KEY not in str(logs)


@pytest.mark.parametrize(
    ("base", "scope", "allow_private", "code"),
    [
        pytest.param("https://169.254.169.254/", SERVER, True, "metadata_address", id="TS18"),
        pytest.param("https://127.0.0.1:8080/", PERSONAL, True, "blocked_address", id="TS19"),
        pytest.param("http://gw.example/", SERVER, False, "bad_scheme", id="TS17"),
    ],
)
async def test_a_refused_address_is_the_askers_fault(
    base: str,
    scope: DecisionScope,
    allow_private: bool,  # noqa: FBT001 - a test's parameter
    code: str,
) -> None:
    """G15: an expected outcome, without a word in the error log."""
    purse = Purse()
    async with Asker(registered(base, allow_private=allow_private), purse=purse) as asker:
        with capture_logs() as logs:
            result = await asker.ask(scope=scope)

    assert result == InvalidInput(correlation="c1", reason=code)
    assert (levels(logs), purse.settled) == (["info"], [(0, "zero")])


@pytest.mark.parametrize("is_custom", [True, False], ids=["TS14", "native"])
async def test_a_redirect_is_not_followed(is_custom: bool) -> None:  # noqa: FBT001 - a test's parameter
    """It would carry the evidence and the key to whoever a server names."""
    async with Outside() as other:
        moved = response(307, Location=f"http://b.example:{other.port}/")
        async with Outside(moved) as outside:
            transport = Rerouted(outside.port)
            reference = CUSTOM if is_custom else NATIVE
            row = registered(
                url(outside) if is_custom else "",
                reference=reference,
                style="system-one" if is_custom else "openrouter-decisions",
            )
            async with Asker(row, transport=None if is_custom else transport) as asker:
                result = await asker.ask(reference=reference)
            await transport.aclose()

    if is_custom:
        assert result == InvalidInput(correlation="c1", reason="redirect_forbidden")
    else:
        assert isinstance(result, Failed)
        assert (result.category, result.http_status) == ("malformed_request", 307)
    assert other.connections == 0


@pytest.mark.parametrize(
    ("error", "category"),
    [
        ({"code": 429, "message": "x"}, "throttled"),
        ({"message": "x"}, "malformed_response"),
        ({"code": True}, "malformed_response"),
    ],
)
async def test_row_30_an_error_with_status_200_is_one(error: dict[str, Any], category: str) -> None:
    """Gateways have begun to answer before they know."""
    wire = msgspec.json.encode({"error": error, "usage": {"input_tokens": 3}})
    async with Outside(response(200, wire)) as outside, Asker(registered(url(outside))) as asker:
        result = await asker.ask()

        assert isinstance(result, Failed)
        assert result.category == category
        assert len(asker.journal.of(UsageReport)) == 1


async def test_td32_a_usable_request_id_is_kept() -> None:
    """An operator asks the provider by it."""
    good = body(id="ok-1")
    wires = (
        response(200, good, X_Request_Id="x" * 201),
        response(200, good, X_Request_Id="h:1", X_Typesafe_Request_Id="not valid"),
    )
    async with Outside(*wires) as outside, Asker(registered(url(outside))) as asker:
        results = [await asker.ask(), await asker.ask()]

    assert [getattr(result, "request_id", None) for result in results] == ["ok-1", "h:1"]


async def test_td34_usage_after_the_deadline_counts_and_its_verdict_does_not() -> None:
    """D33, V1: the answer's event comes at the deadline, then what it used, and nothing else."""
    arrived, release = asyncio.Event(), asyncio.Event()
    told: asyncio.Queue[Usage] = asyncio.Queue()
    answer = response(200, body(usage={"input_tokens": 23}))

    async def answer_late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}}}")
        arrived.set()
        await release.wait()
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer_late, "127.0.0.1", 0)
    row = registered(f"http://gw.example:{server.sockets[0].getsockname()[1]}")
    clock = ManualClock()
    async with server, Asker(row, clock=clock) as asker:
        routing = asyncio.create_task(asker.decisions.decide_by(0.005, an_ask(told.put_nowait)))
        await arrived.wait()
        await clock.advance(0.005)
        result = await routing
        release.set()
        usage = await told.get()

    assert isinstance(result, Cancelled)
    assert usage.input_tokens == 23
    assert [type(event) for event in asker.journal.events] == [
        DecisionRequested,
        DecisionAnswered,
        UsageReport,
    ]


async def test_d33_a_call_that_was_left_before_it_was_sent_is_not_sent() -> None:
    """Nobody would read the answer that is paid for."""
    clock, reading, may_go = ManualClock(), asyncio.Event(), asyncio.Event()

    async def slow_key() -> str:
        reading.set()
        await may_go.wait()
        return KEY

    async with Outside() as outside:
        async with Asker(registered(url(outside), read_key=slow_key), clock=clock) as asker:
            routing = asyncio.create_task(asker.decisions.decide_by(1, an_ask()))
            await reading.wait()
            await clock.advance(1)
            result = await routing
            may_go.set()
            await asker.decisions.drain()

        assert isinstance(result, Cancelled)
        assert (outside.connections, asker.journal.events) == (0, [])


async def test_td36_a_callback_that_fails_costs_nothing() -> None:
    """The answer was paid for; the asker's own fault is logged once."""

    def fail(_usage: Usage) -> None:
        raise RuntimeError(KEY)

    wire = response(200, body(usage=USAGE))
    async with Outside(wire) as outside, Asker(registered(url(outside))) as asker:
        with capture_logs() as logs:
            result = await asker.ask(on_usage=fail)

    assert isinstance(result, Completed)
    assert levels(logs) == ["error", "info"]
    assert KEY not in str(logs)
