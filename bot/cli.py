"""The command line: reads arguments, asks, prints.

It starts in a fraction of a second, since operators type it while something burns: Ray, hikari,
DuckDB and aiohttp are imported by the commands that need them, when they run. Where a bot runs on
the log directory, the commands ask it over its control socket; else they open the files themselves.
"""

import asyncio
import os
import re
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, NoReturn, TypeVar

import typer

from actors.errors import ActorError
from actors.table import Table
from bot import tables
from bot.budgets import is_budgeted, with_caps
from bot.clock import SystemClock
from bot.control_socket import is_running
from bot.glance import BUDGETS, TURNS, USAGE, View, at_a_glance, width_of
from bot.operations import Operations
from bot.settings import Settings, load
from bot.settings_errors import SettingsError
from bot.version import version
from events.errors import EventLogError

main = typer.Typer(
    name="rejoinder",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    # Its tracebacks show the values of variables, keys and tokens among them.
    pretty_exceptions_enable=False,
)
"""The `rejoinder` command."""

WRONG_SETTINGS: Final = 2
"""Exit code for a configuration or an argument that can't be used."""
OPERATOR: Final = "operator"
"""Who stops a turn from here, as the log names it."""

_GROUPS: Final = ("guild", "model", "day")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_T = TypeVar("_T")


class Format(StrEnum):
    """How `sql` prints."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


Config = Annotated[Path, typer.Option("--config", help="The configuration file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DEFAULT_CONFIG: Final = Path("rejoinder.toml")


def _print_version(is_asked: bool) -> None:  # noqa: FBT001 - as typer calls it
    if is_asked:
        typer.echo(f"rejoinder {version()}")
        raise typer.Exit


@main.callback()
def _begin(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=_print_version,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Stream language-model answers into Discord, and ask the log about every one of them."""


@main.command()
def demo() -> None:
    """Show everything on this machine, without any account."""
    from bot.demo import run as run_demo  # noqa: PLC0415 - see the module

    raise typer.Exit(run_demo())


@main.command()
def run(config: Config = DEFAULT_CONFIG) -> None:
    """Run the bot until it is asked to end."""
    settings = _settings(config, require_secrets=True)
    from bot.app import run as run_bot  # noqa: PLC0415 - see the module

    raise typer.Exit(asyncio.run(run_bot(settings)))


@main.command()
def turns(
    *,
    limit: Annotated[int, typer.Option(min=1, help="Most turns to show.")] = 20,
    json: Json = False,
    config: Config = DEFAULT_CONFIG,
) -> None:
    """List recent turns, the latest first."""
    table = _ask(config, lambda operations: operations.turns(limit))
    _show_view(table, TURNS, json=json)


@main.command()
def replay(
    turn: Annotated[str, typer.Argument(help="The turn's id.")],
    *,
    json: Json = False,
    diff: Annotated[bool, typer.Option("--diff", help="Compare with today's code.")] = False,
    config: Config = DEFAULT_CONFIG,
) -> None:
    """Show what happened in a turn; with --diff, exit 1 where today's code would differ."""
    report = _ask(config, lambda operations: operations.replay(turn))
    if json:
        sys.stdout.write(tables.report_json(report))
    else:
        tables.print_replay(report, sys.stdout)
    if diff and not json:
        tables.print_difference(report.difference, sys.stdout)
    raise typer.Exit(int(diff and report.difference is not None))


@main.command()
def verify(
    since: Annotated[
        str | None, typer.Option(help="How far back: 7d, 12h, 30m; without it, all.")
    ] = None,
    config: Config = DEFAULT_CONFIG,
) -> None:
    """Replay recorded turns through today's code; exit 1 where anything differs."""
    earliest = None if since is None else _earliest(since)
    report = _ask(config, lambda operations: operations.verify(earliest))
    for failure in report.failures:
        typer.echo(f"{tables.printable(failure.turn_id)}  {tables.printable(failure.problem)}")
    typer.echo(f"{report.checked} turns checked, {len(report.failures)} differ")
    raise typer.Exit(int(bool(report.failures)))


@main.command()
def usage(
    *,
    by: Annotated[
        str, typer.Option(help="Any of guild, model and day, with commas between.")
    ] = ",".join(_GROUPS),
    budget: Annotated[
        bool, typer.Option("--budget", help="Show this month's budgets alone.")
    ] = False,
    json: Json = False,
    config: Config = DEFAULT_CONFIG,
) -> None:
    """Show tokens and cost; where budgets are on, what is spent and open of them too."""
    groups = _groups(by)
    settings = _settings(config, require_secrets=False)
    if not budget:
        table = _ask_with(settings, lambda operations: operations.usage(groups))
        _show_view(table, USAGE, json=json)
    if budget or (is_budgeted(settings) and not json):
        table = _ask_with(settings, lambda operations: _budgets(operations, settings))
        _show_view(table, BUDGETS, json=json)


async def _budgets(operations: Operations, settings: Settings) -> Table:
    month = f"{SystemClock().now():%Y-%m}"
    return with_caps(await operations.budgets(month), settings)


@main.command()
def sql(
    query: Annotated[str, typer.Argument(help="One SELECT.")],
    form: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TABLE,
    config: Config = DEFAULT_CONFIG,
) -> None:
    """Ask the log in read-only SQL."""
    _show(_ask(config, lambda operations: operations.sql(query)), form)


@main.command()
def stop(
    channel: Annotated[str, typer.Argument(help="The channel's id.")],
    config: Config = DEFAULT_CONFIG,
) -> None:
    """Stop the turn that runs in a channel."""
    channel_id = _channel_id(channel)
    settings = _settings(config, require_secrets=False)
    if not is_running(settings.log.directory):
        _fail(f"no bot runs on {settings.log.directory}")
    stopped = _ask_with(settings, lambda operations: operations.stop(channel_id, OPERATOR))
    nothing = f"nothing is running in channel {channel_id}"
    typer.echo(nothing if stopped is None else f"stopped turn {stopped}")


def _show_view(table: Table, view: View, *, json: bool) -> None:
    if json:
        _show(table, Format.JSON)
    else:
        _show(at_a_glance(table, view, width_of(sys.stdout)), Format.TABLE)


def _show(table: Table, form: Format) -> None:
    page = sys.stdout
    match form:
        case Format.JSON:
            page.write(tables.as_json(table))
        case Format.CSV:
            page.write(tables.as_csv(table))
        case Format.TABLE:
            tables.print_table(table, page)
    if table.is_truncated and form is not Format.TABLE:
        typer.echo(f"cut after {len(table.rows)} rows", err=True)


def _settings(config: Path, *, require_secrets: bool) -> Settings:
    try:
        return load(config, os.environ, require_secrets=require_secrets)
    except SettingsError as error:
        typer.echo(str(error), err=True)
        if error.hint:
            typer.echo(f"\n{error.hint}", err=True, nl=False)
        raise typer.Exit(WRONG_SETTINGS) from error


def _ask(config: Path, question: Callable[[Operations], Awaitable[_T]]) -> _T:
    return _ask_with(_settings(config, require_secrets=False), question)


def _ask_with(settings: Settings, question: Callable[[Operations], Awaitable[_T]]) -> _T:
    async def ask() -> _T:
        async with _operations(settings) as operations:
            return await question(operations)

    try:
        return asyncio.run(ask())
    except (ActorError, EventLogError, OSError) as error:
        _fail(str(error))


@asynccontextmanager
async def _operations(settings: Settings) -> AsyncGenerator[Operations]:
    if is_running(settings.log.directory):
        from bot.control import ControlClient  # noqa: PLC0415 - see the module

        async with ControlClient(settings.log.directory) as client:
            yield client
    else:
        from bot.offline import offline_operations  # noqa: PLC0415 - see the module

        async with offline_operations(settings) as offline:
            yield offline


def _fail(reason: str) -> NoReturn:
    typer.echo(f"rejoinder: {tables.printable(reason)}", err=True)
    raise typer.Exit(1)


def _earliest(since: str) -> datetime:
    found = re.fullmatch(r"(\d+)([smhdw])", since.strip())
    if found is None:
        raise typer.BadParameter(f'"{since}" is no time span such as 7d, 12h or 30m')
    try:
        return SystemClock().now() - timedelta(**{_UNITS[found[2]]: int(found[1])})
    except OverflowError as error:
        raise typer.BadParameter(f'"{since}" reaches back too far') from error


def _groups(by: str) -> tuple[str, ...]:
    groups = tuple(dict.fromkeys(name.strip() for name in by.split(",") if name.strip()))
    for name in groups:
        if name not in _GROUPS:
            raise typer.BadParameter(f'--by takes {", ".join(_GROUPS)}, not "{name}"')
    if not groups:
        raise typer.BadParameter(f"--by takes at least one of {', '.join(_GROUPS)}")
    return groups


def _channel_id(channel: str) -> int:
    found = re.fullmatch(r"(?:<#)?([0-9]{1,20})>?", channel.strip())
    if found is None:
        raise typer.BadParameter(f'"{channel}" is no channel id')
    return int(found[1])
