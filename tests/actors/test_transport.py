"""The transport over real sockets: what comes through, and what each fault is called."""

import asyncio
import socket
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from actors.errors import TransportError
from actors.http_port import HttpRequest
from actors.transport import AiohttpTransport, retry_after_seconds
from bot.loopback.provider import LoopbackProvider
from bot.loopback.script import Answer, Fault, refusal

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
DATA = b"data: 1\n\n"
RESET = struct.pack("ii", 1, 0)


@pytest.fixture
async def transport() -> AsyncIterator[AiohttpTransport]:
    """Return a transport that gives a silent server a tenth of a second."""
    made = AiohttpTransport(read_timeout_seconds=0.1)
    yield made
    await made.aclose()


@pytest.fixture
async def patient() -> AsyncIterator[AiohttpTransport]:
    """Return a transport as production has it."""
    made = AiohttpTransport()
    yield made
    await made.aclose()


@pytest.fixture
async def provider() -> AsyncIterator[LoopbackProvider]:
    """Return a scripted provider."""
    async with LoopbackProvider() as made:
        yield made


def asking(base_url: str) -> HttpRequest:
    """Return a streaming request."""
    return HttpRequest(
        url=f"{base_url}/chat/completions",
        headers={"Content-Type": "application/json", "Authorization": "Bearer sk-secret"},
        body='{"stream":true}',
    )


async def read(transport: AiohttpTransport, url: str) -> bytes:
    """Return a whole body."""
    async with transport.open(asking(url)) as stream:
        return b"".join([chunk async for chunk in stream.chunks()])


@asynccontextmanager
async def raw_server(serve: Serve) -> AsyncGenerator[str]:
    """Serve bytes that no HTTP library would write; gives the base address."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b'{"stream":true}')
        await serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


def reset(writer: asyncio.StreamWriter) -> None:
    """Close a socket by RST."""
    peer: socket.socket = writer.get_extra_info("socket")
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()


async def test_p184_a_response_streams_and_nothing_is_compressed(
    patient: AiohttpTransport, provider: LoopbackProvider
) -> None:
    """A compressor holds text back until its window is full."""
    gate = asyncio.Event()
    provider.script(Answer(payloads=("1", "2"), gates={1: gate}))

    async with patient.open(asking(provider.base_url)) as stream:
        chunks = stream.chunks()
        first = await anext(chunks)
        gate.set()
        rest = b"".join([chunk async for chunk in chunks])

    [request] = provider.requests
    assert (stream.status, stream.content_type, first) == (200, "text/event-stream", DATA)
    assert rest == b"data: 2\n\n"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["authorization"] == "Bearer sk-secret"


async def test_a_failure_gives_its_status_its_wait_and_its_body(
    patient: AiohttpTransport, provider: LoopbackProvider
) -> None:
    """A status is no exception: its body says why."""
    provider.script(refusal(429, "slow down", retry_after=1.5))

    async with patient.open(asking(provider.base_url)) as stream:
        body = b"".join([chunk async for chunk in stream.chunks()])

    assert (stream.status, stream.retry_after_seconds) == (429, 1.5)
    assert stream.content_type == "application/json"
    assert b"slow down" in body


async def test_a_redirect_is_not_followed(
    patient: AiohttpTransport, provider: LoopbackProvider
) -> None:
    """It would carry the key to whoever the server names."""
    provider.script(
        Answer(status=307, body=b"", headers={"Location": f"{provider.base_url}/chat/completions"})
    )

    async with patient.open(asking(provider.base_url)) as stream:
        assert stream.status == 307

    assert len(provider.requests) == 1


async def test_pt9_leaving_an_open_response_closes_its_socket(
    patient: AiohttpTransport, provider: LoopbackProvider
) -> None:
    """A model goes on generating, and charging, for as long as the socket is open."""
    provider.script(Answer(pieces=("a",), fault=Fault(kind="hang", after=99)))

    async with patient.open(asking(provider.base_url)) as stream:
        await anext(stream.chunks())

    await provider.requests[0].closed.wait()
    assert provider.requests[0].ending == "client_closed"


async def test_an_exception_in_the_block_closes_the_socket(
    patient: AiohttpTransport, provider: LoopbackProvider
) -> None:
    """By whatever path, says the port."""
    provider.script(Answer(fault=Fault(kind="hang", after=0)))

    with pytest.raises(KeyError):
        async with patient.open(asking(provider.base_url)):
            raise KeyError

    await provider.requests[0].closed.wait()


@pytest.mark.parametrize("after", [None, 0, 1], ids=["headers", "first byte", "second payload"])
async def test_p186_a_cancelled_reader_closes_its_socket_and_stays_cancelled(
    patient: AiohttpTransport, provider: LoopbackProvider, after: int | None
) -> None:
    """A stop must end a request at any point of it, and at once."""
    provider.script(Answer(payloads=("1", "2"), fault=Fault(kind="hang", after=after)))

    reading = asyncio.create_task(read(patient, provider.base_url))
    request = await provider.received()
    reading.cancel()

    with pytest.raises(asyncio.CancelledError):
        await reading
    await request.closed.wait()
    assert request.ending == "client_closed"


FAULTS = {
    "reset before the headers": Fault(kind="reset"),
    "closed before the headers": Fault(kind="close"),
    "reset after the headers": Fault(kind="reset", after=0),
    "reset in the body": Fault(kind="reset", after=1),
    "closed in the body": Fault(kind="close", after=1),
    "closed without the last chunk": Fault(kind="close", after=99),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_p114_a_broken_connection_is_lost(
    patient: AiohttpTransport, provider: LoopbackProvider, name: str
) -> None:
    """An answer that broke off must not pass for a whole one."""
    provider.script(Answer(payloads=("1", "2"), fault=FAULTS[name]))

    with pytest.raises(TransportError) as caught:
        await read(patient, provider.base_url)

    assert caught.value.end == "connection_lost"
    assert "secret" not in str(caught.value)


async def test_what_came_before_a_fault_is_given(
    patient: AiohttpTransport, provider: LoopbackProvider
) -> None:
    """Text that arrived is delivered, whatever follows it."""
    provider.script(Answer(payloads=("1", "2"), fault=Fault(kind="reset", after=1)))
    got: list[bytes] = []

    async def collect() -> None:
        async with patient.open(asking(provider.base_url)) as stream:
            async for chunk in stream.chunks():
                got.append(chunk)  # noqa: PERF401 - a comprehension would lose them with the fault

    with pytest.raises(TransportError):
        await collect()

    assert got == [DATA]


@pytest.mark.parametrize("after", [None, 0, 1], ids=["headers", "first byte", "second payload"])
async def test_b46_a_silent_server_times_out(
    transport: AiohttpTransport, provider: LoopbackProvider, after: int | None
) -> None:
    """A dead socket must not hold a channel."""
    provider.script(Answer(payloads=("1", "2"), fault=Fault(kind="hang", after=after)))

    with pytest.raises(TransportError) as caught:
        await read(transport, provider.base_url)

    assert caught.value.end == "timeout"
    await (await provider.received()).closed.wait()


async def test_b46_a_slow_answer_is_not_cut_off(provider: LoopbackProvider) -> None:
    """Only silence counts: an answer may take longer than a silence may."""
    transport = AiohttpTransport(read_timeout_seconds=0.5)
    provider.script(Answer(payloads=tuple("abcdefghij"), delay_seconds=0.06))

    body = await read(transport, provider.base_url)
    await transport.aclose()

    assert body.endswith(b"data: j\n\n")


async def test_p114_a_refused_connection_is_refused(patient: AiohttpTransport) -> None:
    """PT125: nobody listens there, and trying again will not help."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

        with pytest.raises(TransportError) as caught:
            await read(patient, f"http://127.0.0.1:{port}/v1")

    assert (caught.value.end, caught.value.detail) == (
        "refused",
        "ClientConnectorError ECONNREFUSED",
    )


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/v1", "http://[bad/v1", "nonsense"])
async def test_an_address_that_is_none_is_refused(patient: AiohttpTransport, url: str) -> None:
    """A slip in the configuration is an answer to the operator, not a crash."""
    with pytest.raises(TransportError) as caught:
        await read(patient, url)

    assert caught.value.end == "refused"


async def test_p114_a_name_that_does_not_resolve_is_dns(patient: AiohttpTransport) -> None:
    """The reserved top level never resolves."""
    with pytest.raises(TransportError) as caught:
        await read(patient, "http://nobody.invalid/v1")

    assert caught.value.end == "dns"


async def test_p114_a_server_without_tls_is_tls(
    patient: AiohttpTransport, provider: LoopbackProvider
) -> None:
    """An https address that leads to a plain server fails in the handshake."""
    with pytest.raises(TransportError) as caught:
        await read(patient, provider.base_url.replace("http:", "https:"))

    assert caught.value.end == "tls"


async def test_a_body_shorter_than_its_length_is_lost(patient: AiohttpTransport) -> None:
    """A length is a promise."""

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"Content-Length: 99\r\n\r\n" + DATA)
        await writer.drain()

    async with raw_server(serve) as url:
        with pytest.raises(TransportError) as caught:
            await read(patient, url)

    assert caught.value.end == "connection_lost"


async def test_a_body_that_ends_with_the_connection_ends(patient: AiohttpTransport) -> None:
    """Without a length the close is the end: the adapter says what it means."""

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"Connection: close\r\n\r\n" + DATA)
        await writer.drain()

    async with raw_server(serve) as url:
        assert await read(patient, url) == DATA


async def test_a_reset_is_no_end_even_where_the_close_would_be(patient: AiohttpTransport) -> None:
    """Aiohttp takes both for the end of such a body."""
    received = asyncio.Event()

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"Connection: close\r\n\r\n" + DATA)
        await received.wait()
        reset(writer)

    async def collect(url: str) -> None:
        async with patient.open(asking(url)) as stream:
            async for _chunk in stream.chunks():
                received.set()

    async with raw_server(serve) as url:
        with pytest.raises(TransportError) as caught:
            await collect(url)

    assert caught.value.end == "connection_lost"


async def test_a_server_that_speaks_no_http_is_lost(patient: AiohttpTransport) -> None:
    """What answers there is no provider at the moment."""

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n\r\n")
        await writer.drain()

    async with raw_server(serve) as url:
        with pytest.raises(TransportError) as caught:
            await read(patient, url)

    assert caught.value.end == "connection_lost"


async def test_a_whole_body_gives_its_connection_back(
    patient: AiohttpTransport, provider: LoopbackProvider
) -> None:
    """A handshake for each request would cost its latency each time."""
    for _ in range(2):
        await read(patient, provider.base_url)

    assert provider.requests[0].peer_port == provider.requests[1].peer_port


async def test_a_closed_transport_opens_anew(provider: LoopbackProvider) -> None:
    """Closing is for the end of a process; nothing breaks where it was not the end."""
    transport = AiohttpTransport()
    await transport.aclose()
    await read(transport, provider.base_url)
    await transport.aclose()
    await transport.aclose()


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"Retry-After": "2"}, 2.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "2", "retry-after-ms": "1500"}, 1.5),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "soon", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"Retry-After": "-1"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "1e999"}, None),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
        (
            {
                "Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT",
                "Date": "Wed, 21 Oct 2026 07:28:00 GMT",
            },
            30.0,
        ),
        (
            {
                "Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT",
                "Date": "Wed, 21 Oct 2026 07:29:00 GMT",
            },
            0.0,
        ),
    ],
)
def test_a_wait_is_read_in_each_of_its_forms(
    headers: dict[str, str], expected: float | None
) -> None:
    """A provider that names a wait is to be believed, once it can be understood."""
    assert retry_after_seconds(CIMultiDictProxy(CIMultiDict(headers))) == expected
