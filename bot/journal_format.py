"""How the program's own log lines look: one format for all libraries, and no secret in any of them.

Lines go to stderr: drawn for a terminal, JSON elsewhere. Known secrets, and whatever has the shape
of a credential, are blanked in the finished line, tracebacks included; so no library can say one by
a way that nobody thought of.
"""

import json
import logging
import re
from collections.abc import Iterable
from typing import Final, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger
from typing_extensions import override

from bot.secret import Secret

HIDDEN: Final = "[hidden]"
"""Stands where a secret stood."""

_SHORTEST_SECRET: Final = 6
# An Authorization header's value; the token in a webhook's or an interaction's address; the shape
# of a bot's token.
_CREDENTIALS: Final = (
    re.compile(r"(?i)(?<=\bbearer\s)(?=\S*[\d_.-])[^\s\"',]{6,}"),
    re.compile(r"(?<=\bBot\s)[\w-]{18,}\.[\w.-]+"),
    re.compile(r"(?<=/webhooks/)(\d+)/[\w-]{20,}"),
    re.compile(r"(?<=/interactions/)(\d+)/[\w-]{20,}"),
    re.compile(r"\b[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}\b"),
)
# These tell of every heartbeat and bucket below a warning.
_CHATTY: Final = ("hikari", "arc", "aiohttp", "asyncio", "urllib3")


class Redactor:
    """Blanks secrets in text."""

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        values = [secret.reveal() for secret in secrets]
        known = {*values, *(json.dumps(value)[1:-1] for value in values)}
        # The longest first: a secret may be a part of another. A very short one is no secret, and
        # blanking it would make every line unreadable.
        self._known = sorted(
            (value for value in known if len(value) >= _SHORTEST_SECRET), key=len, reverse=True
        )

    def __call__(self, text: str) -> str:
        """Return `text` without the known secrets and without what looks like one."""
        for value in self._known:
            text = text.replace(value, HIDDEN)
        for shape in _CREDENTIALS:
            text = shape.sub(HIDDEN, text)
        return text


class _RedactingFormatter(structlog.stdlib.ProcessorFormatter):
    """Renders a record by structlog, then blanks it."""

    def __init__(
        self, renderers: list[Processor], shared: list[Processor], redact: Redactor
    ) -> None:
        super().__init__(foreign_pre_chain=shared, processors=renderers)
        self._redact = redact

    @override
    def format(self, record: logging.LogRecord) -> str:
        return self._redact(super().format(record))


def set_up(
    secrets: Iterable[Secret] = (), *, level: int = logging.INFO, page: TextIO | None = None
) -> None:
    """Send the log lines of the whole process to `page` (default: stderr).

    Args:
        secrets: Values to blank wherever they turn up.
        level: The lowest level shown; libraries are shown from warnings on.
        page: Where to write.
    """
    handler = logging.StreamHandler(page)
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderers = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        *_render(handler.stream.isatty()),
    ]
    handler.setFormatter(_RedactingFormatter(renderers, shared, Redactor(secrets)))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def set_up_actor(secrets: tuple[str, ...]) -> None:
    """Send the log lines of an actor's process where Ray keeps them, without its `secrets`.

    Each actor is told only of secrets that it holds anyway: a list of all would put the token into
    processes that have no use for it.
    """
    set_up(map(Secret, secrets))


def _render(is_terminal: bool) -> list[Processor]:  # noqa: FBT001 - private
    if is_terminal:
        # The plain traceback: the drawn one shows the values of variables.
        return [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
    return [
        structlog.processors.format_exc_info,
        _name_first,
        structlog.processors.JSONRenderer(ensure_ascii=False),
    ]


def _name_first(_logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
    head = {key: line.pop(key) for key in ("timestamp", "level", "event") if key in line}
    return {**head, **line}
