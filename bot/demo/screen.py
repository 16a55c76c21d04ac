"""What the demo looks like: a Discord channel in a terminal, and what goes on behind it."""

from collections.abc import Sequence
from typing import Final, TextIO

from rich.console import Console, Group
from rich.markdown import Markdown
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

NAME_WIDTH: Final = 15
"""Columns of the speaker's name."""
SMALL_PRINT: Final = "-# "
"""What Discord writes a line small for."""
PLAIN_WIDTH: Final = 96
"""Columns where the output is no terminal."""


class Screen:
    """Prints the channel as it grows."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        """Where it all goes, plain."""
        is_terminal = out.isatty()
        self.console = Console(
            file=out, highlight=False, width=None if is_terminal else PLAIN_WIDTH
        )
        """Where it all goes, drawn."""
        self._scenes = 0

    def title(self, text: str, beneath: str) -> None:
        """Print the head of it all."""
        self.console.print()
        self.console.print(Text(text, style="bold"))
        self.console.print(Text(beneath, style="dim"))

    def scene(self, text: str) -> None:
        """Begin the next scene."""
        self._scenes += 1
        head = Text(f"{self._scenes}  {text}", style="bold")
        self.console.print()
        self.console.print(Rule(head, align="left", style="dim"))

    def message(
        self,
        name: str,
        content: str,
        *,
        is_bot: bool,
        replies_to: str | None = None,
        below: Sequence[str] = (),
    ) -> None:
        """Print a message of the channel, and a line for each thing `below` its text."""
        parts: list[Markdown | Text] = []
        if replies_to is not None:
            parts.append(Text(f"↱ replying to {replies_to}", style="dim italic"))
        if content.startswith(SMALL_PRINT):
            parts.append(Text(content.removeprefix(SMALL_PRINT), style="dim"))
        elif content:
            parts.append(Markdown(content) if is_bot else Text(content))
        parts += [Text(line, style="magenta") for line in below]
        body = Group(*parts)
        row = Table.grid(padding=(0, 2))
        row.add_column(width=NAME_WIDTH, justify="right")
        row.add_column()
        row.add_row(Text(name, style="bold cyan" if is_bot else "bold green"), body)
        self.console.print(row)

    def aside(self, text: str) -> None:
        """Print what only somebody behind the scenes sees."""
        self.console.print(Padding(Text(f"· {text}", style="dim"), (0, 0, 0, NAME_WIDTH + 2)))

    def private(self, content: str) -> None:
        """Print what only one member sees."""
        self.console.print(Padding(Markdown(content), (0, 0, 0, NAME_WIDTH + 2)))

    def proof(self, text: str) -> None:
        """Print what was checked and held."""
        line = Text("✓ ", style="bold green") + Text(text)
        self.console.print(Padding(line, (0, 0, 0, NAME_WIDTH + 2)))

    def commands(self, *lines: str) -> None:
        """Print commands to go on with; whole, so that they can be copied."""
        self.console.print()
        for line in lines:
            self.console.print(Text(f"  {line}", style="bold"), soft_wrap=True)
        self.console.print()
