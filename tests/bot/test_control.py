"""The control socket: who may connect, and that answers and refusals cross it unchanged."""

import asyncio
import os
import socket
import stat
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from typing_extensions import override

from actors.errors import RefusalError, SqlRefusedError
from actors.table import Table
from bot import control_socket
from bot.control import ControlClient, ControlError, ControlServer, is_running
from bot.control_socket import LONGEST_ADDRESS, NAME
from events.errors import LogUnavailableError
from tests.bot.operating import BUDGETS, MORNING, REPLAY, STATUS, TURNS, FakeOperations


@pytest.fixture
def operations() -> FakeOperations:
    """Return what the bot answers from."""
    return FakeOperations()


@pytest.fixture
async def directory(tmp_path: Path, operations: FakeOperations) -> AsyncIterator[Path]:
    """Yield the log directory of a bot that listens."""
    async with ControlServer(tmp_path, operations):
        yield tmp_path


def names_in(directory: Path) -> list[str]:
    """Return the names of all files in `directory`."""
    return [one.name for one in directory.iterdir()]


Call = Callable[[ControlClient], Coroutine[Any, Any, object]]

CALLS: list[tuple[Call, tuple[object, ...], object]] = [
    (lambda bot: bot.replay("0192"), ("replay", "0192"), REPLAY),
    (lambda bot: bot.budgets("2026-12"), ("budgets", "2026-12"), BUDGETS),
    (lambda bot: bot.stop(1187, "operator"), ("stop", 1187, "operator"), "0192"),
    (lambda bot: bot.status(), ("status",), STATUS),
]
TABLES: list[tuple[Call, tuple[object, ...]]] = [
    (lambda bot: bot.turns(20), ("turns", 20)),
    (lambda bot: bot.usage(("guild", "day")), ("usage", ("guild", "day"))),
    (lambda bot: bot.sql("SELECT 'ä'"), ("sql", "SELECT 'ä'")),
]


@pytest.mark.parametrize(
    ("call", "asked", "answer"), CALLS, ids=["replay", "budgets", "stop", "status"]
)
async def test_a_question_reaches_the_bot_and_its_answer_the_asker(
    directory: Path,
    operations: FakeOperations,
    call: Call,
    asked: tuple[object, ...],
    answer: object,
) -> None:
    """Command line and bot are two processes and speak as one."""
    async with ControlClient(directory) as client:
        assert await call(client) == answer

    assert operations.asked == [asked]


@pytest.mark.parametrize(("call", "asked"), TABLES, ids=["turns", "usage", "sql"])
async def test_tables_cross_with_their_columns_and_every_row(
    directory: Path, operations: FakeOperations, call: Call, asked: tuple[object, ...]
) -> None:
    """Ids of 64 bits and null stay what they are; a time comes as text."""
    async with ControlClient(directory) as client:
        table = await call(client)

    assert operations.asked == [asked]
    rows = tuple(tuple(_as_text(value) for value in row) for row in TURNS.rows)
    assert table == type(TURNS)(columns=TURNS.columns, rows=rows, is_truncated=True)


def _as_text(value: object) -> object:
    return "2026-01-02T03:04:05.678000Z" if value == MORNING else value


@pytest.mark.parametrize("since", [None, MORNING])
async def test_verify_carries_its_time(
    directory: Path, operations: FakeOperations, since: datetime | None
) -> None:
    """A time that lost its zone would verify other turns."""
    async with ControlClient(directory) as client:
        report = await client.verify(since)

    assert report.checked == 3
    assert operations.asked == [("verify", since)]


async def test_a_channel_where_nothing_runs_gives_none(
    directory: Path, operations: FakeOperations
) -> None:
    """None is an answer, and not a failure."""
    operations.stopped = None

    async with ControlClient(directory) as client:
        assert await client.stop(1, "operator") is None


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (RefusalError("no turn 0192"), RefusalError),
        (SqlRefusedError("one SELECT only"), SqlRefusedError),
        (LogUnavailableError("disk full"), ControlError),
    ],
)
async def test_what_an_operation_raises_crosses_as_what_it_is(
    directory: Path, operations: FakeOperations, raised: Exception, kind: type[Exception]
) -> None:
    """The asker decides by the class and shows the words."""
    operations.error = raised

    async with ControlClient(directory) as client:
        with pytest.raises(kind) as caught:
            await client.sql("SELECT 1")

    assert type(caught.value) is kind
    assert str(caught.value) == str(raised)


async def test_an_unexpected_error_crosses_without_its_words(
    directory: Path, operations: FakeOperations
) -> None:
    """They may quote what the asker should not read; the bot goes on answering."""
    operations.error = ValueError("made-up-key")

    async with ControlClient(directory) as client:
        with pytest.raises(ControlError) as caught:
            await client.status()
        operations.error = None
        assert await client.status() == STATUS

    assert str(caught.value) == "the bot failed: ValueError"


@pytest.mark.parametrize("body", [b"", b"{}", b'{"operation":"drop"}', b'{"operation":"turns"}'])
async def test_what_is_no_question_is_answered_with_400(directory: Path, body: bytes) -> None:
    """Other programs may speak to the socket and should be told what is wrong."""
    connector = aiohttp.UnixConnector(str(directory / NAME))
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.post("http://bot/ask", data=body) as response,
    ):
        assert response.status == 400
        assert (await response.json())["message"].startswith("no question: ")


async def test_only_the_bots_own_account_may_connect(directory: Path) -> None:
    """Whoever connects may stop turns and read every conversation."""
    status = (directory / NAME).stat()

    assert stat.S_ISSOCK(status.st_mode)
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert names_in(directory) == [NAME]


async def test_the_mode_does_not_hang_on_the_umask(tmp_path: Path) -> None:
    """Services are started with all kinds of umasks."""
    before = os.umask(0)
    try:
        server = ControlServer(tmp_path, FakeOperations())
        await server.start()
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600
    await server.aclose()


async def test_a_directory_whose_path_is_too_long_for_an_address_works_too(tmp_path: Path) -> None:
    """A Unix socket's address holds 107 bytes, and test runners' folders are deep."""
    deep = tmp_path / ("d" * LONGEST_ADDRESS) / "log"

    async with ControlServer(deep, FakeOperations()), ControlClient(deep) as client:
        assert is_running(deep)
        assert (deep / NAME).is_socket()
        assert await client.status() == STATUS

    assert not is_running(deep)


async def test_a_bot_that_ends_takes_its_socket_along(
    tmp_path: Path, operations: FakeOperations
) -> None:
    """Else every command would first knock at a dead door."""
    async with ControlServer(tmp_path, operations):
        assert is_running(tmp_path)

    assert not is_running(tmp_path)
    assert names_in(tmp_path) == []


async def test_the_socket_of_a_killed_bot_is_replaced(
    tmp_path: Path, operations: FakeOperations
) -> None:
    """A kill leaves the file behind; the next start must neither fail nor believe it."""
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(tmp_path / NAME))
    assert not is_running(tmp_path)

    async with ControlServer(tmp_path, operations), ControlClient(tmp_path) as client:
        assert await client.status() == STATUS


async def test_a_second_bot_is_refused_and_leaves_the_first_its_socket(
    directory: Path, operations: FakeOperations
) -> None:
    """Two bots on one log would fight over it; the operator must still reach the first."""
    second = ControlServer(directory, FakeOperations())

    with pytest.raises(RefusalError, match="already runs"):
        await second.start()
    await second.aclose()

    async with ControlClient(directory) as client:
        await client.status()
    assert operations.asked == [("status",)]


async def test_a_bot_removes_no_socket_but_its_own(tmp_path: Path) -> None:
    """A bot that ends slowly must not cut off its successor."""
    first = ControlServer(tmp_path, FakeOperations())
    await first.start()
    (tmp_path / NAME).unlink()
    successor = ControlServer(tmp_path, FakeOperations())
    await successor.start()

    await first.aclose()

    assert is_running(tmp_path)
    await successor.aclose()


def test_no_directory_means_no_bot(tmp_path: Path) -> None:
    """The first command of all runs before any log exists."""
    assert not is_running(tmp_path / "nowhere")
    assert not is_running(tmp_path / ("d" * LONGEST_ADDRESS) / "nowhere")


async def test_a_bot_that_ends_meanwhile_is_said_to_be_out_of_reach(
    tmp_path: Path, operations: FakeOperations
) -> None:
    """Between the look at the socket and the question lies a moment."""
    server = ControlServer(tmp_path, operations)
    await server.start()
    async with ControlClient(tmp_path) as client:
        await server.aclose()

        with pytest.raises(ControlError, match="can't be reached"):
            await client.status()


async def test_an_asker_that_leaves_ends_the_work(tmp_path: Path) -> None:
    """A query that nobody waits for should not keep the analyst from the next one."""
    begun, ended = asyncio.Event(), asyncio.Event()

    class Slow(FakeOperations):
        @override
        async def sql(self, query: str) -> Table:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return await super().sql(query)

    async with ControlServer(tmp_path, Slow()), ControlClient(tmp_path) as client:
        asking = asyncio.create_task(client.sql("SELECT 1"))
        await begun.wait()
        asking.cancel()

        await ended.wait()

        with pytest.raises(asyncio.CancelledError):
            await asking


def test_no_socket_is_left_where_it_cant_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed start must leave neither an open socket nor a private folder."""

    def refuse(self: Path, target: Path) -> Path:
        raise PermissionError(f"{self} {target}")

    monkeypatch.setattr(Path, "replace", refuse)

    with pytest.raises(PermissionError):
        control_socket.listen(tmp_path)

    assert names_in(tmp_path) == []
