"""Endpoints that people supply: chat completions, with what old servers need."""

import json
from typing import Any

import pytest

from actors.providers.adapter import ContextItem, ModelRoute
from actors.providers.registry import is_gated, provider_for

CONTEXT = (
    ContextItem(role="system", content="Be kind."),
    ContextItem(role="user", content="Ann: hi"),
)


def messages(base_url: str) -> list[dict[str, Any]]:
    """Return what the endpoint is told."""
    route = ModelRoute(provider="main", kind="custom", base_url=base_url, api_key="", model="m")
    return json.loads(provider_for("custom").request(route, CONTEXT).body)["messages"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_p42_a_server_that_drops_system_messages_is_told_as_a_user_is(host: str) -> None:
    """It would answer as nobody."""
    told = messages(f"http://{host}:8000/v1")

    assert [one["role"] for one in told] == ["user", "user"]
    assert told[0]["content"].endswith("\n\nBe kind.")


@pytest.mark.parametrize("base_url", ["http://localhost:8001/v1", "http://example.com:8000/v1"])
def test_p42_any_other_server_is_told_as_the_format_has_it(base_url: str) -> None:
    """Instructions that look like a person's words are followed less."""
    assert [one["role"] for one in messages(base_url)] == ["system", "user"]


def test_p39_what_people_supply_goes_through_the_gate() -> None:
    """It could point at what stands inside the walls."""
    assert is_gated("custom")
    assert not is_gated("openai")
