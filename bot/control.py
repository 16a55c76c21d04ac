"""The operator's questions over the control socket: the bot's end, and the command line's.

One route takes every question, JSON in and out: `POST /ask` with `{"operation": "turns", …}`. What
an operation raises crosses as what it is: a refusal stays a refusal.
"""

from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self, TypeVar

import aiohttp
import msgspec
import structlog
from aiohttp import web
from msgspec import Struct

from actors.errors import FailureError, RefusalError, SqlRefusedError
from actors.table import Table
from bot import control_socket
from bot.control_socket import is_running
from bot.operations import Operations, ReplayReport, Status, VerifyReport
from events.errors import EventLogError

__all__ = ["ControlClient", "ControlError", "ControlServer", "is_running"]

LARGEST_QUESTION: Final = 1024 * 1024
"""Bytes of a question's body."""
ANSWER_SECONDS: Final = 120.0
"""How long any answer but a verification's may take; SQL has a tighter limit of its own."""
SHUTDOWN_SECONDS: Final = 2.0
"""How long answers under way may hold up the end of the bot."""

_log = structlog.stdlib.get_logger(__name__)
_Answer = TypeVar("_Answer", bound=Struct)


class ControlError(FailureError):
    """The bot did not answer, or could not."""


class _Question(Struct, frozen=True, tag_field="operation", forbid_unknown_fields=True):
    """Base of what can be asked."""


class _Turns(_Question, frozen=True, tag="turns"):
    limit: int

    async def ask(self, operations: Operations) -> Table:
        return await operations.turns(self.limit)


class _Replay(_Question, frozen=True, tag="replay"):
    turn: str

    async def ask(self, operations: Operations) -> ReplayReport:
        return await operations.replay(self.turn)


class _Verify(_Question, frozen=True, tag="verify"):
    since: datetime | None = None

    async def ask(self, operations: Operations) -> VerifyReport:
        return await operations.verify(self.since)


class _Usage(_Question, frozen=True, tag="usage"):
    by: tuple[str, ...]

    async def ask(self, operations: Operations) -> Table:
        return await operations.usage(self.by)


class _Budgets(_Question, frozen=True, tag="budgets"):
    month: str

    async def ask(self, operations: Operations) -> Table:
        return await operations.budgets(self.month)


class _Sql(_Question, frozen=True, tag="sql"):
    query: str

    async def ask(self, operations: Operations) -> Table:
        return await operations.sql(self.query)


class _Stopped(Struct, frozen=True):
    turn_id: str | None


class _Stop(_Question, frozen=True, tag="stop"):
    channel_id: int
    requester: str

    async def ask(self, operations: Operations) -> _Stopped:
        return _Stopped(await operations.stop(self.channel_id, self.requester))


class _Status(_Question, frozen=True, tag="status"):
    async def ask(self, operations: Operations) -> Status:
        return await operations.status()


_AnyQuestion = _Turns | _Replay | _Verify | _Usage | _Budgets | _Sql | _Stop | _Status
_questions: Final = msgspec.json.Decoder(_AnyQuestion)


class _Problem(Struct, frozen=True):
    error: Literal["sql_refused", "refused", "failed"]
    message: str

    def exception(self) -> Exception:
        match self.error:
            case "sql_refused":
                return SqlRefusedError(self.message)
            case "refused":
                return RefusalError(self.message)
            case "failed":
                return ControlError(self.message)


class ControlServer:
    """The bot's end of the socket."""

    def __init__(self, directory: Path, operations: Operations) -> None:
        self._directory = directory
        self._operations = operations
        self._runner: web.AppRunner | None = None
        self._made: tuple[int, int] | None = None

    async def start(self) -> None:
        """Listen.

        Raises:
            RefusalError: Another bot listens there already.
            OSError: The directory can't hold a socket.
        """
        listener = control_socket.listen(self._directory)
        self._made = control_socket.identity(self._directory)
        application = web.Application(client_max_size=LARGEST_QUESTION)
        application.router.add_post("/ask", self._handle)
        # A question whose asker is gone is not worked on any further.
        runner = web.AppRunner(
            application,
            access_log=None,
            handler_cancellation=True,
            shutdown_timeout=SHUTDOWN_SECONDS,
        )
        self._runner = runner
        await runner.setup()
        await web.SockSite(runner, listener).start()

    async def aclose(self) -> None:
        """Listen no longer and remove the socket."""
        if self._made is not None:
            control_socket.remove(self._directory, self._made)
            self._made = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _handle(self, request: web.Request) -> web.Response:
        try:
            question = _questions.decode(await request.read())
        except msgspec.MsgspecError as error:
            return _respond(400, _Problem("failed", f"no question: {error}"))
        try:
            return _respond(200, await question.ask(self._operations))
        except SqlRefusedError as error:
            return _respond(409, _Problem("sql_refused", str(error)))
        except RefusalError as error:
            return _respond(409, _Problem("refused", str(error)))
        except (FailureError, EventLogError) as error:
            return _respond(503, _Problem("failed", str(error)))
        except Exception as error:  # noqa: BLE001 - the socket's edge: Ray raises anything
            # The asker learns the kind alone; the words may quote what nobody should read.
            _log.exception("control_question_failed", question=type(question).__name__)
            return _respond(500, _Problem("failed", f"the bot failed: {type(error).__name__}"))


def _respond(status: int, answer: Struct) -> web.Response:
    body = msgspec.json.encode(answer)
    return web.Response(status=status, body=body, content_type="application/json")


class ControlClient:
    """`Operations` of the bot that runs on a log directory; an async context manager."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def __aenter__(self) -> Self:
        self._address = control_socket.address(self._directory)
        path = self._address.__enter__()
        self._session = aiohttp.ClientSession(connector=aiohttp.UnixConnector(path))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._session.close()
        self._address.__exit__(None, None, None)

    async def turns(self, limit: int) -> Table:
        """Return the most recent turns."""
        return await self._ask(_Turns(limit), Table)

    async def replay(self, turn: str) -> ReplayReport:
        """Return the timeline of `turn`."""
        return await self._ask(_Replay(turn), ReplayReport)

    async def verify(self, since: datetime | None) -> VerifyReport:
        """Replay the turns since `since`; takes as long as there are turns."""
        return await self._ask(_Verify(since), VerifyReport, seconds=None)

    async def usage(self, by: tuple[str, ...]) -> Table:
        """Return usage grouped by `by`."""
        return await self._ask(_Usage(by), Table)

    async def budgets(self, month: str) -> Table:
        """Return what payers have spent and set aside in `month`."""
        return await self._ask(_Budgets(month), Table)

    async def sql(self, query: str) -> Table:
        """Return what `query` gives."""
        return await self._ask(_Sql(query), Table)

    async def stop(self, channel_id: int, requester: str) -> str | None:
        """Stop the channel's running turn and return its id."""
        return (await self._ask(_Stop(channel_id, requester), _Stopped)).turn_id

    async def status(self) -> Status:
        """Return how the bot does."""
        return await self._ask(_Status(), Status)

    async def _ask(
        self,
        question: _AnyQuestion,
        kind: type[_Answer],
        seconds: float | None = ANSWER_SECONDS,
    ) -> _Answer:
        timeout = aiohttp.ClientTimeout(total=seconds, connect=control_socket.PATIENCE_SECONDS)
        data = msgspec.json.encode(question)
        try:
            async with self._session.post("http://bot/ask", data=data, timeout=timeout) as response:
                body = await response.read()
        except TimeoutError as error:
            raise ControlError("the bot does not answer") from error
        except (aiohttp.ClientError, OSError) as error:
            raise ControlError(f"the bot can't be reached: {error}") from error
        try:
            if response.status == web.HTTPOk.status_code:
                return msgspec.json.decode(body, type=kind)
            problem = msgspec.json.decode(body, type=_Problem)
        except msgspec.MsgspecError as error:
            raise ControlError("the bot answers in another version's words") from error
        raise problem.exception()
