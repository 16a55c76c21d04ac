"""What is asked of a model."""

import json

import pytest

from actors.providers.adapter import ContextItem, ModelRoute
from actors.providers.registry import provider_for


def route(base_url: str = "https://api.example.com/v1", api_key: str = "sk-1") -> ModelRoute:
    """Return a route to a model."""
    return ModelRoute(
        provider="main", kind="openai", base_url=base_url, api_key=api_key, model="gpt-5-mini"
    )


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("https://a.example/v1", "https://a.example/v1/chat/completions"),
        ("https://a.example/v1/", "https://a.example/v1/chat/completions"),
        ("https://a.example/chat/completions", "https://a.example/chat/completions"),
        (
            "https://a.example/chat/completions?api-version=1",
            "https://a.example/chat/completions?api-version=1",
        ),
    ],
)
def test_p39_the_address_is_completed_once(base_url: str, expected: str) -> None:
    """Operators paste either form."""
    assert provider_for("openai").request(route(base_url), ()).url == expected


@pytest.mark.parametrize(
    ("key", "expected"), [("sk-1", "Bearer sk-1"), (" sk-1\n", "Bearer sk-1"), ("  ", None)]
)
def test_p39_a_key_is_sent_only_where_there_is_one(key: str, expected: str | None) -> None:
    """Local servers refuse an empty bearer."""
    request = provider_for("openai").request(route(api_key=key), ())

    assert request.headers.get("Authorization") == expected
    assert request.headers["Accept"] == "text/event-stream"
    assert "sk-1" not in request.body + request.url


def test_p40_p41_the_body_streams_and_opens_with_one_system_message() -> None:
    """Many templates accept a system message only at the front, and only one."""
    context = (
        ContextItem(role="system", content="Be kind."),
        ContextItem(role="user", content="Mira: hi"),
        ContextItem(role="model", content="Hello."),
        ContextItem(role="system", content="Be brief."),
        ContextItem(role="system", content=""),
        ContextItem(role="user", content="Mira: so?\ud83d"),
    )

    request = provider_for("openai").request(route(), context)

    assert json.loads(request.body) == {
        "model": "gpt-5-mini",
        "messages": [
            {"role": "system", "content": "Be kind.\n\nBe brief."},
            {"role": "user", "content": "Mira: hi"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "Mira: so?\ufffd"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_p183_readers_share_nothing() -> None:
    """Two turns read at the same time."""
    provider = provider_for("openai")
    first, second = provider.reader(), provider.reader()

    first.feed("[DONE]")

    assert (first.is_done, second.is_done) == (True, False)
