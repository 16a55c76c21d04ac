"""Figures on a terminal."""

import io

import pytest
from typing_extensions import override

from bot.tables import print_table
from tests.bot.operating import TURNS


class Terminal(io.StringIO):
    """A page that is one."""

    @override
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_drawn_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same cells, and still nothing that steers."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    page = Terminal()

    print_table(TURNS, page)

    drawn = page.getvalue()
    assert "persona" in drawn
    assert "名前\\x1b[31m, \\n" in drawn
    assert "\x1b[31m" not in drawn
