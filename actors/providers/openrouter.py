"""OpenRouter: chat completions by whoever serves the model.

A dialect of `openai`. Its own: what the model thought goes back with the calls that it led to, the
endpoint must support tools where there are any, and a call whose arguments the router could not
make sense of comes as an error inside the stream. The model gets such a call back as malformed, so
that it can do better.
"""

import re
from typing import Final

import msgspec
from msgspec.structs import replace
from typing_extensions import override

from actors.http_port import HttpRequest
from actors.providers import errors
from actors.providers.adapter import ContextItem, ModelRoute, ToolDefinition
from actors.providers.json_text import JsonObject, parse_object
from actors.providers.openai import ChatReader, OpenAI
from events.generation import Chunk

_TITLE: Final = {"X-OpenRouter-Title": "Rejoinder"}
_MALFORMED_WORDS: Final = frozenset(
    ("invalid_type", "invalid_union", "invalid_value", "invalid_literal", "unrecognized_keys")
)
_MALFORMED: Final = re.compile(r"\bexpected \w{1,20}, received \w{1,20}\b")
_UNREADABLE: Final = "null"


class OpenRouter(OpenAI):
    """The wire format `openrouter`."""

    def __init__(self) -> None:
        super().__init__("openrouter")

    @override
    def request(
        self,
        route: ModelRoute,
        context: tuple[ContextItem, ...],
        tools: tuple[ToolDefinition, ...] = (),
    ) -> HttpRequest:
        """Return the request that asks `route` to continue `context`; it may call `tools`."""
        asked = super().request(route, context, tools)
        headers = {**asked.headers, **_TITLE}
        if not tools:
            return replace(asked, headers=headers)
        body = {**parse_object(asked.body), "provider": {"require_parameters": True}}
        return replace(asked, headers=headers, body=msgspec.json.encode(body).decode())

    @override
    def reader(self) -> "OpenRouterReader":
        """Return an adapter for one response."""
        return OpenRouterReader()

    @override
    def _messages(self, route: ModelRoute, context: tuple[ContextItem, ...]) -> list[JsonObject]:
        messages = super()._messages(route, context)
        for message in messages:
            if "tool_calls" in message and not message["content"]:
                message["content"] = None
        return messages


class OpenRouterReader(ChatReader):
    """Reads one chat completion of OpenRouter."""

    def __init__(self) -> None:
        super().__init__("openrouter")

    @override
    def _failure(self, report: errors.ErrorReport, reason: str | None) -> list[Chunk]:
        if not self._calls.is_open or not _is_malformed_call(report):
            return super()._failure(report, reason)
        concluded = self._conclude("tool_calls")
        self._is_done = True
        if all(one.function_call is None for one in concluded):
            return [Chunk(type="done", finish_reason="other:malformed_tool_call")]
        return [
            replace(one, function_call=replace(one.function_call, arguments=_UNREADABLE))
            for one in concluded
            if one.function_call is not None
        ]


def _is_malformed_call(report: errors.ErrorReport) -> bool:
    return not _MALFORMED_WORDS.isdisjoint(report.words) or bool(_MALFORMED.search(report.message))
