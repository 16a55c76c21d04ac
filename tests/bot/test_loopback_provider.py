"""The scripted provider: it speaks the wire format, and breaks it where the script says."""

import asyncio
import json
import signal
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from actors.errors import TransportError
from actors.http_port import HttpRequest, Transport
from actors.providers.adapter import ContextItem, ModelRoute
from actors.providers.framing import BodyFramer, is_success
from actors.providers.registry import provider_for
from actors.transport import AiohttpTransport
from bot.loopback.provider import LoopbackProvider
from bot.loopback.script import Answer, Body, Fault, Tokens, read_script, refusal, say
from events.generation import Chunk, StreamEnd

WIRE = Path(__file__).parents[3] / "shared" / "fixtures" / "wire"


@pytest.fixture
async def provider() -> AsyncIterator[LoopbackProvider]:
    """Return a scripted provider."""
    async with LoopbackProvider() as made:
        yield made


@pytest.fixture
async def transport() -> AsyncIterator[AiohttpTransport]:
    """Return the real transport."""
    made = AiohttpTransport()
    yield made
    await made.aclose()


def request_to(base_url: str, text: str = "hi") -> HttpRequest:
    """Return the request that a turn would send."""
    route = ModelRoute(provider="main", kind="openai", base_url=base_url, api_key="k", model="m")
    return provider_for("openai").request(route, (ContextItem(role="user", content=text),))


async def ask(transport: Transport, request: HttpRequest) -> list[Chunk]:
    """Return what a turn would make of the answer, over transport, framing and adapter."""
    reader = provider_for("openai").reader()
    chunks: list[Chunk] = []
    end: StreamEnd = "eof"
    try:
        async with transport.open(request) as stream:
            framer = BodyFramer(stream.status, stream.content_type)
            async for data in stream.chunks():
                for payload in framer.feed(data):
                    chunks += reader.feed(payload.text)
                if reader.is_done:
                    return chunks
            rest = framer.finish()
    except TransportError as error:
        return chunks + reader.finish(error.end)
    if not is_success(stream.status):
        return reader.fail(stream.status, rest[0].text, stream.retry_after_seconds)
    for payload in rest:
        chunks += reader.feed(payload.text)
    return chunks + reader.finish(end)


def text_of(chunks: list[Chunk]) -> str:
    """Return the text of the chunks."""
    return "".join(chunk.text for chunk in chunks)


async def test_without_a_script_it_answers_and_reports_usage(
    provider: LoopbackProvider, transport: AiohttpTransport
) -> None:
    """A demo must work before anybody wrote a script."""
    chunks = await ask(transport, request_to(provider.base_url))

    assert text_of(chunks).startswith("Hello!")
    assert [one.finish_reason for one in chunks if one.type == "done"] == ["stop"]
    assert any(one.usage and one.usage.output_tokens for one in chunks)


async def test_the_script_is_answered_in_order_then_the_responder(
    transport: AiohttpTransport,
) -> None:
    """A test scripts what it is about and leaves the rest to a rule."""

    def echo(body: Body) -> Answer:
        return say("echo: " + body["messages"][-1]["content"])

    async with LoopbackProvider(echo) as provider:
        provider.script(say("one"), refusal(503, "busy"))
        answers = [await ask(transport, request_to(provider.base_url)) for _ in range(3)]

    assert [text_of(one) for one in answers] == ["one", "", "echo: hi"]
    assert answers[1][0].error is not None
    assert answers[1][0].error.code == "503"
    assert provider.requests[0].body["stream_options"] == {"include_usage": True}
    assert provider.requests[0].headers["authorization"] == "Bearer k"


@pytest.mark.parametrize("cut", [0, 1, 7, 4096])
async def test_a_cut_changes_the_writes_and_not_the_answer(
    provider: LoopbackProvider, transport: AiohttpTransport, cut: int
) -> None:
    """PT5 over a real socket: characters are cut in two, and none is lost."""
    provider.script(Answer(pieces=("é那", "🌍 done"), reasoning=("hm",), cut=cut))

    chunks = await ask(transport, request_to(provider.base_url))

    assert text_of(chunks) == "é那🌍 done"
    assert chunks[0].thoughts[0].content == "hm"


@pytest.mark.parametrize("cut", [1, 7, 4096])
@pytest.mark.parametrize(
    "name",
    ["openrouter-error-in-200.sse", "mistral-text.chunks.txt", "azure-model-router.1.chunks.txt"],
)
async def test_a_recorded_stream_over_http_gives_what_it_gives_in_memory(
    provider: LoopbackProvider, transport: AiohttpTransport, name: str, cut: int
) -> None:
    """The socket between them must not show."""
    path = WIRE / name
    if not path.exists():
        pytest.skip(f"no recorded stream at {path}")
    text = path.read_text()
    lines = [line for line in text.splitlines() if line.strip()]
    body = (
        text if path.suffix == ".sse" else "".join(f"data: {one}\n\n" for one in [*lines, "[DONE]"])
    )
    reader = provider_for("openai").reader()
    framer = BodyFramer(200, "text/event-stream")
    expected = [chunk for one in framer.feed(body.encode()) for chunk in reader.feed(one.text)]
    provider.script(Answer(body=body.encode(), cut=cut))

    chunks = await ask(transport, request_to(provider.base_url))

    assert chunks == expected


async def test_a_gate_holds_a_piece_until_it_is_opened(
    provider: LoopbackProvider, transport: AiohttpTransport
) -> None:
    """Tests control time by gates, not by sleeping."""
    gate = asyncio.Event()
    provider.script(Answer(pieces=("a", "b"), gates={1: gate}))

    async with transport.open(request_to(provider.base_url)) as stream:
        chunks = stream.chunks()
        first = await anext(chunks)
        request = await provider.received()
        written = request.payloads_written
        gate.set()
        rest = b"".join([chunk async for chunk in chunks])

    assert (b'"a"' in first, b'"b"' in first, b'"b"' in rest, written) == (True, False, True, 1)


async def test_it_says_how_each_exchange_ended(transport: AiohttpTransport) -> None:
    """What tests ask most: was the provider's socket closed, and by whom."""
    async with LoopbackProvider() as provider:
        provider.script(
            say("whole"),
            Answer(fault=Fault(kind="reset", after=1), pieces=("a", "b")),
            Answer(fault=Fault(kind="close")),
            Answer(fault=Fault(kind="hang", after=0)),
            Answer(fault=Fault(kind="hang")),
        )
        async with transport.open(request_to(provider.base_url)) as stream:
            async for _chunk in stream.chunks():
                pass
        await ask(transport, request_to(provider.base_url))
        await ask(transport, request_to(provider.base_url))
        async with transport.open(request_to(provider.base_url)):
            pass
        hanging = asyncio.create_task(ask(transport, request_to(provider.base_url)))
        await provider.received(5)

    for request in provider.requests:
        await request.closed.wait()
    endings = [request.ending for request in provider.requests]
    assert endings == ["completed", "reset", "closed", "client_closed", "shut_down"]
    assert [one.error and one.error.code for one in await hanging] == ["connection_lost"]


async def test_leaving_it_does_not_wait_for_an_exchange(transport: AiohttpTransport) -> None:
    """A test that fails in the middle of a stream must not hang in its fixture."""
    async with LoopbackProvider() as provider:
        provider.script(Answer(pieces=("a",), gates={0: asyncio.Event()}))
        pending = asyncio.create_task(ask(transport, request_to(provider.base_url)))
        await provider.received()

    assert (await pending)[-1].error is not None


async def test_a_request_that_does_not_stream_gets_one_body(
    provider: LoopbackProvider, transport: AiohttpTransport
) -> None:
    """The same script serves both ways of asking."""
    request = request_to(provider.base_url)
    body: Body = json.loads(request.body)
    plain = HttpRequest(
        url=request.url,
        headers=request.headers,
        body=json.dumps({**body, "stream": False}),
    )
    provider.script(Answer(pieces=("Hi ", "there"), usage=Tokens(cached_tokens=4, cost=0.5)))

    chunks = await ask(transport, plain)

    assert text_of(chunks) == "Hi there"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.cost_pico == 500_000_000_000
    assert chunks[-1].usage.cache_read_tokens == 4


async def test_a_stream_without_its_last_words_ends_as_a_turn_sees_it(
    provider: LoopbackProvider, transport: AiohttpTransport
) -> None:
    """Servers forget the finish reason, the usage and `[DONE]`."""
    provider.script(Answer(pieces=("a",), finish_reason=None, usage=None, has_done=False))

    chunks = await ask(transport, request_to(provider.base_url))

    assert [(one.type, one.finish_reason) for one in chunks] == [("text", None), ("done", "eof")]


def test_it_runs_in_a_loop_of_its_own_thread() -> None:
    """The demo keeps it out of the loop that the bot runs in."""
    ready = threading.Event()
    provider = LoopbackProvider()
    stops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        stop = asyncio.Event()
        async with provider:
            stops.append((asyncio.get_running_loop(), stop))
            ready.set()
            await stop.wait()

    async def client() -> list[Chunk]:
        transport = AiohttpTransport()
        chunks = await ask(transport, request_to(provider.base_url))
        await transport.aclose()
        return chunks

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    ready.wait()
    chunks = asyncio.run(client())
    loop, stop = stops[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join()

    assert text_of(chunks).startswith("Hello!")


async def test_it_runs_as_a_process_of_its_own_with_a_script(
    transport: AiohttpTransport, tmp_path: Path
) -> None:
    """A script is a file that people write by hand."""
    script = tmp_path / "script.json"
    script.write_text('[{"pieces": ["once"]}, {"status": 429, "body": "e30="}]')
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot.loopback.provider", "--script", str(script)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    base_url = json.loads(await process.stdout.readline())["base_url"]

    answers = [await ask(transport, request_to(base_url)) for _ in range(3)]
    process.send_signal(signal.SIGINT)
    code = await process.wait()

    assert [text_of(one) for one in answers] == ["once", "", "once"]
    assert code == 0


def test_a_script_with_an_unknown_shape_is_named(tmp_path: Path) -> None:
    """A typo in a script should say where it is."""
    script = tmp_path / "script.json"
    script.write_text('[{"pieces": 7}]')

    with pytest.raises(msgspec.ValidationError, match="pieces"):
        read_script(script)
