"""Each actor's host takes over its process's log lines, and tells of the secrets it holds alone."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace
from typing_extensions import override

from actors.cluster.adapters import ActorName, Handle
from actors.cluster.analyst_host import AnalystHost
from actors.cluster.hosts import ChannelTurnHost, TurnRouterHost
from actors.cluster.runtime import RuntimeSpec
from actors.cluster.sender_host import SenderHost
from actors.event_log import EventLogHost
from actors.log_owner import open_owned
from bot.app import runtime_spec
from bot.clock import SystemClock
from bot.settings import load

TOKEN = "MQ.made-up.token"
FILE = """
[discord]
token = { env = "DISCORD_TOKEN" }

[providers.main]
kind = "openai"
base_url = "http://127.0.0.1:1"
api_keys = ["first-key", "second-key"]

[providers.other]
kind = "openai"
base_url = "http://127.0.0.1:2"
api_keys = ["third-key"]

[chat]
model = "main/one"
fallbacks = ["other/two"]
"""
KEYS = ("first-key", "second-key", "third-key")


class Nobody(ActorName, frozen=True, kw_only=True):
    """The name of no actor, so that a host can be built without Ray."""

    @override
    def handle(self) -> Handle:
        return None


NOBODY = Nobody(name="nobody", namespace="nowhere")


class Told:
    """Takes over log lines in word only, and notes what they must not show."""

    def __init__(self) -> None:
        self.secrets: list[tuple[str, ...]] = []

    def __call__(self, secrets: tuple[str, ...]) -> None:
        """Note it."""
        self.secrets.append(secrets)


@pytest.fixture
def told() -> Told:
    """Return who is told of secrets."""
    return Told()


@pytest.fixture
def spec(tmp_path: Path, told: Told) -> RuntimeSpec:
    """Return what a bot's actors are built from."""
    file = tmp_path / "rejoinder.toml"
    file.write_text(FILE)
    spec = runtime_spec(load(file, {"DISCORD_TOKEN": TOKEN}), SystemClock())
    turns = replace(spec.router.turns, set_up_log=told)
    return replace(spec, set_up_log=told, router=replace(spec.router, turns=turns))


def test_the_sender_keeps_the_token_out_of_its_lines(spec: RuntimeSpec, told: Told) -> None:
    """It is the only actor that holds it."""
    SenderHost(NOBODY, spec.clock, spec.api_url, spec.token, spec.set_up_log)

    assert told.secrets == [(TOKEN,)]


def test_router_and_turns_keep_every_providers_keys_out_of_theirs(
    spec: RuntimeSpec, told: Told
) -> None:
    """Each turn is handed them, and an exception may quote a request."""
    TurnRouterHost(NOBODY, NOBODY, spec.router)
    ChannelTurnHost(NOBODY, NOBODY, spec.router.turns)

    assert told.secrets == [KEYS, KEYS]


def test_log_and_analyst_speak_in_the_same_form_and_are_told_no_secret(
    spec: RuntimeSpec, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they never hold, they can't say."""

    def stay(_increment: int) -> int:
        return 0

    monkeypatch.setattr(os, "nice", stay)
    EventLogHost(lambda: open_owned(spec.directory), spec.set_up_log)
    AnalystHost(NOBODY, spec.clock, spec.directory, spec.set_up_log)

    assert told.secrets == [(), ()]
