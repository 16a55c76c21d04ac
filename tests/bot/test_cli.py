"""The command line: what it asks, what it prints, how it exits."""

import asyncio
import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

import pytest
from msgspec import structs
from typer.testing import CliRunner, Result

from actors.errors import SqlRefusedError
from actors.table import Column, Table
from bot.cli import main
from bot.control import ControlServer
from bot.operations import TurnFailure
from bot.settings import MINIMAL_FILE, Settings
from events.errors import LogLockedError
from tests.bot.operating import DIFFERENCE, REPLAY, FakeOperations

ENVIRON = {"DISCORD_TOKEN": "MTIz.aBcDeF.made-up", "OPENAI_API_KEY": "made-up-key"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Return a sound configuration file; its secrets are not in the environment."""
    path = tmp_path / "rejoinder.toml"
    path.write_text(MINIMAL_FILE, encoding="utf-8")
    return path


@pytest.fixture
def operations(monkeypatch: pytest.MonkeyPatch) -> FakeOperations:
    """Return what the files at rest answer."""
    fake = FakeOperations()
    module = ModuleType("bot.offline")

    @asynccontextmanager
    async def offline_operations(settings: Settings) -> AsyncGenerator[FakeOperations]:
        assert settings.log.directory.is_absolute()
        yield fake

    module.__dict__["offline_operations"] = offline_operations
    monkeypatch.setitem(sys.modules, "bot.offline", module)
    return fake


def rejoinder(*arguments: str | Path, environ: dict[str, str] | None = None) -> Result:
    """Run the command in this process."""
    cleared = {"DISCORD_TOKEN": None, "OPENAI_API_KEY": None}
    return CliRunner().invoke(main, [*map(str, arguments)], env={**cleared, **(environ or {})})


def test_a_table_is_plain_columns_where_no_terminal_is(
    config: Path, operations: FakeOperations
) -> None:
    """People pipe it into other programs; colours and cut cells would be in their way."""
    result = rejoinder("sql", "SELECT 1", "--config", config)

    assert result.exit_code == 0
    assert result.stdout == (
        "          channel_id  persona           cost (USD)  started                      reply\n"
        "                1187  Mira                0.001200  2026-01-02T03:04:05.678000Z  true\n"
        "18446744073709551615  名前\\x1b[31m, \\n                                           false\n"
        "… cut after 2 rows\n"
    )
    assert operations.asked == [("sql", "SELECT 1")]


def test_turns_shows_what_people_look_for_first(config: Path, operations: FakeOperations) -> None:
    """A line a turn must fit a screen; JSON has the rest."""
    result = rejoinder("turns", "--config", config)

    assert result.stdout.splitlines()[0].split() == ["channel", "persona"]
    assert operations.asked == [("turns", 20)]


def test_json_is_an_array_of_objects_with_true_numbers(
    config: Path, operations: FakeOperations
) -> None:
    """Programs read it."""
    result = rejoinder("turns", "--json", "--limit", "5", "--config", config)

    assert json.loads(result.stdout) == [
        {
            "channel_id": 1187,
            "persona": "Mira",
            "cost": 0.0012,
            "started": "2026-01-02T03:04:05.678000Z",
            "reply": True,
        },
        {
            "channel_id": 18446744073709551615,
            "persona": "名前\x1b[31m, \n",
            "cost": None,
            "started": None,
            "reply": False,
        },
    ]
    assert result.stderr == "cut after 2 rows\n"
    assert operations.asked == [("turns", 5)]


def test_no_rows_are_still_json(config: Path, operations: FakeOperations) -> None:
    """An empty log must not break a script."""
    operations.table = Table(columns=(Column(name="a", type="INTEGER"),), rows=())

    assert json.loads(rejoinder("turns", "--json", "--config", config).stdout) == []


def test_csv_reads_back(config: Path, operations: FakeOperations) -> None:
    """Spreadsheets read it; commas and line ends stand in messages."""
    result = rejoinder("sql", "SELECT 1", "--format", "csv", "--config", config)

    rows = list(csv.reader(io.StringIO(result.stdout)))
    assert rows == [
        ["channel_id", "persona", "cost", "started", "reply"],
        ["1187", "Mira", "0.001200", "2026-01-02T03:04:05.678000Z", "true"],
        ["18446744073709551615", "名前\x1b[31m, \n", "", "", "false"],
    ]
    assert operations.asked == [("sql", "SELECT 1")]


def test_usage_groups_as_asked(config: Path, operations: FakeOperations) -> None:
    """The default and a choice."""
    rejoinder("usage", "--config", config)
    rejoinder("usage", "--by", "day, model", "--json", "--config", config)

    assert operations.asked == [
        ("usage", ("guild", "model", "day")),
        ("usage", ("day", "model")),
    ]


def budgeted(config: Path, **options: str) -> Path:
    """Return the configuration with budgets turned on."""
    lines = [f'{name} = "{value}"' for name, value in options.items()]
    table = ["", "[extensions.budget.options]", *lines, ""]
    config.write_text(config.read_text(encoding="utf-8") + "\n".join(table), encoding="utf-8")
    return config


def test_usage_shows_what_is_spent_and_open_of_budgets_where_they_are_on(
    config: Path, operations: FakeOperations
) -> None:
    """Whoever set a cap wants to see how near it is; whoever set none is not told of caps."""
    assert "guild/42" not in rejoinder("usage", "--config", config).stdout
    operations.asked.clear()

    result = rejoinder("usage", "--config", budgeted(config, guild_usd="2.50"))

    lines = [line.split() for line in result.stdout.splitlines() if "/" in line]
    assert [asked[0] for asked in operations.asked] == ["usage", "budgets"]
    assert [(one[0], one[2], one[3]) for one in lines] == [
        ("guild/42", "0.310000000000", "0.050000000000"),
        ("user/7", "0.020000000000", "0.000000000000"),
    ]
    assert lines[0][4] == "2.5"
    assert len(lines[1]) == 4


def test_budgets_as_json_name_the_unit_of_every_figure(
    config: Path, operations: FakeOperations
) -> None:
    """A program must not have to guess whether it reads dollars or cents."""
    result = rejoinder("usage", "--budget", "--json", "--config", budgeted(config, user_usd="1"))

    rows = json.loads(result.stdout)
    assert [asked[0] for asked in operations.asked] == ["budgets"]
    assert list(rows[0]) == [
        "payer", "month", "spent_usd", "open_usd", "open_requests", "cap_usd",
    ]  # fmt: skip
    assert [row["cap_usd"] for row in rows] == [None, 1]


def test_a_cap_that_cannot_be_read_is_named_and_not_shown_as_none(
    config: Path, operations: FakeOperations
) -> None:
    """A cap that silently is none is the worst of mistakes."""
    result = rejoinder("usage", "--budget", "--config", budgeted(config, guild_usd="much"))

    assert result.exit_code == 1
    assert "guild_usd is 'much'" in result.stderr
    assert operations.asked


def test_replay_prints_the_timeline_and_where_the_text_went(
    config: Path, operations: FakeOperations
) -> None:
    """The page that an operator reads when something went wrong; nothing in it may steer."""
    result = rejoinder("replay", "0192", "--config", config)

    assert result.exit_code == 0
    assert result.stdout == (
        "turn 0192, completed\n"
        "03:04:05.678         +0 ms  turn_started  by Ada\n"
        "03:04:05.678      +1234 ms  flush         newline \\x1b[2J\n"
        "12 characters received = 10 delivered + 2 stop\n"
    )
    assert operations.asked == [("replay", "0192")]


def test_replay_with_diff_shows_where_todays_code_differs(
    config: Path, operations: FakeOperations
) -> None:
    """The exit code is for scripts."""
    same = rejoinder("replay", "0192", "--diff", "--config", config)
    operations.report = structs.replace(REPLAY, difference=DIFFERENCE)
    differing = rejoinder("replay", "0192", "--diff", "--config", config)

    assert (same.exit_code, differing.exit_code) == (0, 1)
    assert same.stdout.endswith("today's code gives what is on record\n")
    assert differing.stdout.endswith(
        "today's code differs at flush 1\n  raw_chunk 1\n- Hello\n+ Hallo\n"
    )


def test_replay_as_json_is_one_object(config: Path, operations: FakeOperations) -> None:
    """Programs read it."""
    operations.report = structs.replace(REPLAY, difference=DIFFERENCE)

    report = json.loads(rejoinder("replay", "0192", "--json", "--config", config).stdout)

    assert report["turn_id"] == "0192"
    assert [entry["kind"] for entry in report["entries"]] == ["turn_started", "flush"]
    assert report["difference"]["computed"] == "Hallo"


def test_verify_exits_with_1_where_anything_differs(
    config: Path, operations: FakeOperations
) -> None:
    """It is a test, and runs in pipelines."""
    fine = rejoinder("verify", "--config", config)
    operations.failures = (TurnFailure(turn_id="0192", problem="flush 1 differs"),)
    failing = rejoinder("verify", "--config", config)

    assert (fine.exit_code, fine.stdout) == (0, "3 turns checked, 0 differ\n")
    assert failing.exit_code == 1
    assert failing.stdout == "0192  flush 1 differs\n3 turns checked, 1 differ\n"


@pytest.mark.parametrize(
    ("since", "span"),
    [
        ("7d", timedelta(days=7)),
        ("12h", timedelta(hours=12)),
        ("30m", timedelta(minutes=30)),
        ("45s", timedelta(seconds=45)),
        ("2w", timedelta(weeks=2)),
    ],
)
def test_verify_reaches_back_as_far_as_asked(
    config: Path, operations: FakeOperations, since: str, span: timedelta
) -> None:
    """The spans that people type."""
    before = datetime.now(UTC)  # noqa: TID251 - what the command itself measures against

    rejoinder("verify", "--since", since, "--config", config)

    [(_, earliest)] = operations.asked
    assert isinstance(earliest, datetime)
    assert timedelta(0) <= earliest + span - before < timedelta(minutes=1)


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "--since", "yesterday"),
        ("verify", "--since", "999999999999d"),
        ("usage", "--by", "user"),
        ("usage", "--by", ","),
        ("sql", "SELECT 1", "--format", "xml"),
        ("turns", "--limit", "0"),
        ("stop", "general"),
        ("fly",),
    ],
)
def test_arguments_that_make_no_sense_exit_with_2(
    config: Path, operations: FakeOperations, arguments: tuple[str, ...]
) -> None:
    """Before anything is asked."""
    result = rejoinder(*arguments, "--config", config)

    assert result.exit_code == 2
    assert result.stderr
    assert operations.asked == []


@pytest.mark.parametrize(
    "error", [SqlRefusedError("one SELECT only"), LogLockedError("events.duckdb", 12)]
)
def test_what_cant_be_answered_is_said_in_a_line(
    config: Path, operations: FakeOperations, error: Exception
) -> None:
    """Nobody wants a traceback for a mistyped query."""
    operations.error = error

    result = rejoinder("sql", "DROP TABLE events", "--config", config)

    assert result.exit_code == 1
    assert result.stderr == f"rejoinder: {error}\n"
    assert result.stdout == ""


@pytest.mark.parametrize("command", ["run", "turns"])
def test_a_wrong_configuration_exits_with_2_and_names_every_fault(
    config: Path, command: str
) -> None:
    """The contract: key, what is wrong, what is allowed."""
    config.write_text(MINIMAL_FILE + "max_actors = 0\nmodle = 1\n")

    result = rejoinder(command, "--config", config, environ=ENVIRON)

    assert result.exit_code == 2
    assert "chat.max_actors: is 0; allowed: a whole number, at least 1\n" in result.stderr
    assert 'chat.modle: unknown key, did you mean "model"?; allowed: ' in result.stderr


def test_a_missing_file_is_answered_with_one_that_would_do(tmp_path: Path) -> None:
    """The first thing that a new operator sees."""
    result = rejoinder("turns", "--config", tmp_path / "none.toml")

    assert result.exit_code == 2
    assert f"{tmp_path / 'none.toml'}: there is no such file" in result.stderr
    assert result.stderr.endswith(MINIMAL_FILE)


def test_only_run_needs_the_secrets(config: Path, operations: FakeOperations) -> None:
    """Analysts read the log of a bot whose token they don't have."""
    reading = rejoinder("turns", "--config", config)
    running = rejoinder("run", "--config", config)

    assert reading.exit_code == 0
    assert operations.asked == [("turns", 20)]
    assert running.exit_code == 2
    assert "environment variable DISCORD_TOKEN is not set" in running.stderr


def test_run_exits_as_the_bot_does(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Service managers look at it."""
    module = ModuleType("bot.app")

    async def run(settings: Settings) -> int:
        return len(settings.providers) + 2

    module.__dict__["run"] = run
    monkeypatch.setitem(sys.modules, "bot.app", module)

    assert rejoinder("run", "--config", config, environ=ENVIRON).exit_code == 3


def test_demo_needs_no_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the first thing that people try."""
    module = ModuleType("bot.demo")
    module.__dict__["run"] = lambda: 0
    monkeypatch.setitem(sys.modules, "bot.demo", module)

    assert rejoinder("demo").exit_code == 0


def test_a_stop_needs_a_bot(config: Path, operations: FakeOperations) -> None:
    """Without one there is nothing to stop, and no file should be opened to find out."""
    result = rejoinder("stop", "1187", "--config", config)

    assert result.exit_code == 1
    assert result.stderr == f"rejoinder: no bot runs on {config.parent / 'data'}\n"
    assert operations.asked == []


async def test_a_running_bot_is_asked_over_its_socket(
    config: Path, operations: FakeOperations
) -> None:
    """DuckDB locks its file: only the bot can answer while it runs."""
    bot = FakeOperations()

    async with ControlServer(config.parent / "data", bot):
        listed = await _in_a_process("turns", "--json", "--config", str(config))
        stopped = await _in_a_process("stop", "<#1187>", "--config", str(config))
        bot.stopped = None
        idle = await _in_a_process("stop", "1187", "--config", str(config))

    assert json.loads(listed)[0]["cost"] == 0.0012
    assert stopped == "stopped turn 0192\n"
    assert idle == "nothing is running in channel 1187\n"
    assert bot.asked == [("turns", 20), *[("stop", 1187, "operator")] * 2]
    assert operations.asked == []


async def _in_a_process(*arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", *arguments, stdout=subprocess.PIPE
    )
    stdout, _ = await process.communicate()
    assert process.returncode == 0
    return stdout.decode()


async def test_a_reader_that_leaves_is_no_error_worth_a_word(config: Path) -> None:
    """`rejoinder turns | head` is what people type."""
    reading, writing = os.pipe()
    os.close(reading)
    async with ControlServer(config.parent / "data", FakeOperations()):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "bot", "turns", "--config", str(config)),
            stdout=writing,
            stderr=subprocess.PIPE,
        )
        os.close(writing)
        _, stderr = await process.communicate()

    assert stderr == b""


def test_the_version_is_told() -> None:
    """Bug reports begin with it."""
    result = rejoinder("--version")

    assert result.exit_code == 0
    assert result.stdout.startswith("rejoinder 0.")


def test_help_comes_without_the_heavy_imports() -> None:
    """Ray alone takes a second, and operators type in haste."""
    code = (
        "import sys\n"
        "from bot.cli import main\n"
        "try: main(['turns', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'ray', 'hikari', 'arc', 'duckdb', 'aiohttp'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )

    done = subprocess.run(  # noqa: S603 - the code stands above
        [sys.executable, "-c", code], check=False, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    assert "--json" in done.stdout
