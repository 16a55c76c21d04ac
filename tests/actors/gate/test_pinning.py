"""What goes through the gate, seen at real sockets: who is connected to, and what is sent there."""

import asyncio
import socket
import ssl

import pytest

from actors.errors import PictureRefusedError, RemoteUrlPolicyError, TransportError
from actors.gate.addresses import Policy, parse_address
from actors.gate.fetching import Fetcher
from actors.gate.pictures import fetch_picture
from actors.gate.pinned import _Socket, judged_addresses  # pyright: ignore[reportPrivateUsage]
from actors.gate.urls import admitted
from actors.http_port import HttpRequest
from actors.transport import AiohttpTransport
from tests.actors.gate.outside import Names, Outside, response

PRODUCTION = Policy()
RELAXED = Policy(allow_private=True)
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


def fetcher(names: Names, policy: Policy = RELAXED) -> Fetcher:
    """Return a fetcher that asks `names`."""
    return Fetcher(policy=policy, resolve=names)


async def post(url: str, names: Names, policy: Policy) -> int:
    """Ask a chat endpoint through the gate; return the status."""
    transport = AiohttpTransport(resolve=names)
    request = HttpRequest(
        url=url, headers={"Authorization": "Bearer sk-secret"}, body="{}", gate=policy
    )
    try:
        async with transport.open(request) as stream:
            return stream.status
    finally:
        await transport.aclose()


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://outside.example:{port}/", "blocked_address"),
        ("https://127.0.0.1:{port}/", "blocked_address"),
        ("https://[::ffff:127.0.0.1]:{port}/", "blocked_address"),
        ("https://localhost:{port}/", "blocked_host"),
        ("http://outside.example:{port}/", "bad_scheme"),
    ],
)
async def test_g1_no_address_is_contacted_before_the_gate_has_passed(url: str, code: str) -> None:
    """A connection alone tells an attacker what listens inside."""
    async with Outside() as inner:
        names = Names(["127.0.0.1"])
        address = url.format(port=inner.port)

        with pytest.raises(RemoteUrlPolicyError) as caught:
            await fetcher(names, PRODUCTION).get(address, limit_bytes=10)
        with pytest.raises(TransportError) as chat:
            await post(address, names, PRODUCTION)

        assert caught.value.failure_code == code
        assert (chat.value.end, chat.value.detail) == ("refused", code)
        assert inner.connections == 0


async def test_ts10_one_inner_address_refuses_the_whole_name() -> None:
    """Which of them a client takes is a matter of luck."""
    names = Names(["93.184.216.34", "10.0.0.5"])

    with pytest.raises(RemoteUrlPolicyError) as caught:
        await judged_addresses(admitted("https://a.example/", PRODUCTION), PRODUCTION, names)

    assert (caught.value.hostname, caught.value.failure_code) == ("a.example", "blocked_address")


@pytest.mark.parametrize("is_chat", [True, False], ids=["chat", "fetch"])
async def test_ts11_a_name_that_changes_its_answer_is_asked_once(is_chat: bool) -> None:  # noqa: FBT001 - a test's parameter
    """DNS rebinding: judged by one answer, connected by the next."""
    async with Outside() as first, Outside(host="127.0.0.2", port=first.port) as second:
        names = Names(["127.0.0.1"], ["127.0.0.2"])
        url = f"http://outside.example:{first.port}/"

        if is_chat:
            await post(url, names, RELAXED)
        else:
            await fetcher(names).get(url, limit_bytes=10)

        assert names.asked == ["outside.example"]
        assert (first.connections, second.connections) == (1, 0)
        assert f"Host: outside.example:{first.port}" in first.heads[0]


async def test_g10_no_socket_is_made_for_another_address() -> None:
    """The last word before a connect, should a client ever ask elsewhere."""
    allowed = parse_address("93.184.216.34")
    assert allowed is not None
    make = _Socket("a.example", [allowed])

    with pytest.raises(RemoteUrlPolicyError) as caught:
        make((socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 443)))

    assert caught.value.failure_code == "unpinnable"


async def test_g10_tls_keeps_the_name() -> None:
    """A certificate is for a name, not for the address that was pinned."""
    seen: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sni_callback = lambda _socket, name, _context: seen.append(name)
    server = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]

    with pytest.raises(TransportError):
        await fetcher(Names(["127.0.0.1"])).get(f"https://tls.example:{port}/", limit_bytes=1)
    server.close()
    await server.wait_closed()

    assert seen == ["tls.example"]


@pytest.mark.parametrize("location", ["https://169.254.169.254/", "ftp://a.example/", ""])
async def test_ts12_a_redirect_to_a_refused_address_is_not_followed(location: str) -> None:
    """What stands there would come back as a picture."""
    async with Outside(response(302, b"secret", Location=location)) as outside:
        names = Names(["127.0.0.1"])

        with pytest.raises(RemoteUrlPolicyError):
            await fetcher(names).get(f"http://a.example:{outside.port}/", limit_bytes=10)

        assert outside.connections == 1


async def test_g13_a_hop_is_looked_up_anew_and_judged() -> None:
    """The second name leads to where nobody may be sent."""
    async with Outside(response(302, Location="//b.example/x")) as outside:
        names = Names(["127.0.0.1"], ["169.254.169.254"])

        with pytest.raises(RemoteUrlPolicyError) as caught:
            await fetcher(names).get(f"http://a.example:{outside.port}/", limit_bytes=10)

        assert names.asked == ["a.example", "b.example"]
        assert (caught.value.hostname, outside.connections) == ("b.example", 1)


async def test_ts13_a_fourth_redirect_is_refused() -> None:
    """Chains have an end; three are followed."""
    async with Outside(response(302, Location="/again")) as outside:
        with pytest.raises(RemoteUrlPolicyError) as caught:
            await fetcher(Names(["127.0.0.1"])).get(
                f"http://a.example:{outside.port}/", limit_bytes=10
            )

        assert (caught.value.failure_code, outside.connections) == ("redirect_limit", 4)


async def test_g13_three_redirects_are_followed() -> None:
    """Picture hosts redirect to their stores."""
    hop = response(303, Location="/next")
    async with Outside(hop, hop, hop, response(200, b"here")) as outside:
        found = await fetcher(Names(["127.0.0.1"])).get(
            f"http://a.example:{outside.port}/", limit_bytes=10
        )

        assert (found.body, found.status, outside.connections) == (b"here", 200, 4)


async def test_ts14_a_redirected_post_is_not_followed() -> None:
    """It would carry the key and the conversation to whoever the server names."""
    async with Outside() as other:
        moved = response(307, Location=f"http://b.example:{other.port}/")
        async with Outside(moved) as outside:
            status = await post(f"http://a.example:{outside.port}/", Names(["127.0.0.1"]), RELAXED)

        assert (status, outside.bodies, other.connections) == (307, [b"{}"], 0)


async def test_ts15_a_proxy_in_the_environment_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy looks names up itself, and by other rules."""
    async with Outside() as proxy, Outside(response(200, b"direct")) as outside:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")

        found = await fetcher(Names(["127.0.0.1"])).get(
            f"http://a.example:{outside.port}/", limit_bytes=10
        )

        assert (found.body, proxy.connections) == (b"direct", 0)


async def test_g9_a_name_without_addresses_is_a_failure_of_the_network() -> None:
    """No policy: the operator should look at the name, not at the gate."""
    with pytest.raises(TransportError) as caught:
        await fetcher(Names([])).get("https://nobody.example/", limit_bytes=1)

    assert caught.value.end == "dns"


async def test_g12_the_next_judged_address_is_tried() -> None:
    """One of two servers may be down."""
    async with Outside(response(200, b"up"), host="127.0.0.2") as outside:
        found = await fetcher(Names(["127.0.0.1", "127.0.0.2"])).get(
            f"http://a.example:{outside.port}/", limit_bytes=10
        )

        assert found.body == b"up"


@pytest.mark.parametrize(
    "wire",
    [response(200, b"x" * 11), b"HTTP/1.1 200 x\r\n\r\n" + b"x" * 11],
    ids=["announced", "silent about its length"],
)
async def test_a_body_over_the_bound_is_not_taken(wire: bytes) -> None:
    """Memory is not the sender's to fill."""
    async with Outside(wire) as outside:
        asking = fetcher(Names(["127.0.0.1"]))

        with pytest.raises(TransportError) as caught:
            await asking.get(f"http://a.example:{outside.port}/", limit_bytes=10)
        await asking.get(f"http://a.example:{outside.port}/", limit_bytes=11)

        assert caught.value.end == "oversized"


async def test_a_server_that_stays_silent_is_given_up() -> None:
    """A command waits for the picture."""
    left = asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        left.set()

    silent = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    asking = Fetcher(policy=RELAXED, resolve=Names(["127.0.0.1"]), total_seconds=0.05)

    with pytest.raises(TransportError) as caught:
        await asking.get(f"http://a.example:{port}/", limit_bytes=10)
    await left.wait()
    silent.close()

    assert caught.value.end == "timeout"


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\n\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
async def test_a_picture_is_what_its_first_bytes_say(body: bytes, media_type: str) -> None:
    """Servers and names err, or lie."""
    async with Outside(response(200, body, Content_Type="text/html")) as outside:
        picture = await fetch_picture(
            fetcher(Names(["127.0.0.1"])), f"http://a.example:{outside.port}/a.txt"
        )

        assert (picture.media_type, picture.body) == (media_type, body)


@pytest.mark.parametrize(
    "wire",
    [
        response(200, b"<svg xmlns='http://www.w3.org/2000/svg'/>", Content_Type="image/png"),
        response(404, PNG),
        response(200, b""),
    ],
    ids=["svg", "404", "empty"],
)
async def test_what_is_no_picture_is_refused(wire: bytes) -> None:
    """A page that says 'not found' must not become an avatar."""
    async with Outside(wire) as outside:
        with pytest.raises(PictureRefusedError) as caught:
            await fetch_picture(
                fetcher(Names(["127.0.0.1"])), f"http://a.example:{outside.port}/?k=sekret"
            )

        assert "sekret" not in str(caught.value)


async def test_a_picture_is_fetched_by_https_alone() -> None:
    """Without an operator's word every fetch is under the strict rules."""
    with pytest.raises(RemoteUrlPolicyError) as caught:
        await fetch_picture(Fetcher(), "http://a.example/a.png")

    assert caught.value.failure_code == "bad_scheme"
