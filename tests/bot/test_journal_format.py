"""The program's own log lines: readable by programs, and free of secrets."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from bot.journal_format import HIDDEN, Redactor, set_up
from bot.secret import Secret

KEY = 'made-up"key'
BOT_TOKEN = f"{'x' * 26}.{'y' * 6}.{'z' * 38}"


@pytest.fixture
def page() -> Iterator[io.StringIO]:
    """Yield where the lines go; logging is as before afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    page = io.StringIO()
    set_up([Secret(KEY)], page=page)
    yield page
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_line_is_one_json_object_with_what_happened_first(page: io.StringIO) -> None:
    """Log collectors parse it."""
    structlog.stdlib.get_logger("bot.app").info("bot_started", directory="data")

    line = json.loads(page.getvalue())

    assert list(line)[:3] == ["timestamp", "level", "event"]
    assert (line["event"], line["directory"], line["logger"]) == ("bot_started", "data", "bot.app")


def test_libraries_speak_in_the_same_form_and_only_of_trouble(page: io.StringIO) -> None:
    """A heartbeat a line would bury everything else."""
    logging.getLogger("hikari.gateway").info("heartbeat")
    logging.getLogger("hikari.gateway").warning("closed: %s", 4000)

    [line] = page.getvalue().splitlines()

    assert json.loads(line)["event"] == "closed: 4000"


def test_a_known_secret_is_blanked_wherever_it_turns_up(page: io.StringIO) -> None:
    """In a field, in a message, in an exception's words."""
    log = structlog.stdlib.get_logger("bot.app")
    log.error("failed", key=KEY, exc_info=ValueError(f"sent {KEY}"))
    logging.getLogger("any").error("with %s", KEY)

    assert "made-up" not in page.getvalue()
    assert page.getvalue().count(HIDDEN) == 3


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abc-123", "abc-123"),
        (f"Authorization: Bot {BOT_TOKEN}", BOT_TOKEN),
        (f"POST /webhooks/123/{'w' * 68}?wait=true", "w" * 68),
        (f"POST /interactions/123/{'i' * 60}/callback", "i" * 60),
        (f"token={BOT_TOKEN}", BOT_TOKEN),
    ],
)
def test_what_has_the_shape_of_a_credential_is_blanked(text: str, secret: str) -> None:
    """Webhook tokens come into being at run time: nobody could name them at the start."""
    blanked = Redactor()(text)

    assert secret not in blanked
    assert HIDDEN in blanked


def test_ordinary_lines_are_left_alone() -> None:
    """A log in which words are missing is no use."""
    line = "POST /channels/1187/messages 200, Bot connected; bearer of news from example.com"

    assert Redactor([Secret("")])(line) == line
