"""An endpoint that somebody supplied: chat completions, as any server of any age speaks them.

A dialect of `openai`, whose address goes through the gate. Some servers drop system messages in
silence; they are told their instructions as a first message instead.
"""

from typing import Final
from urllib.parse import urlsplit

from typing_extensions import override

from actors.providers.adapter import ContextItem, ModelRoute
from actors.providers.chat_request import chat_messages, dialogue, system_text, told_as_user
from actors.providers.json_text import JsonObject
from actors.providers.openai import OpenAI

_LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "::1"))
_DEAF_PORT: Final = 8000
"""Where ChatMock listens, which passes no system message on."""


class Custom(OpenAI):
    """The wire format `custom`."""

    def __init__(self) -> None:
        super().__init__("custom")

    @override
    def _messages(self, route: ModelRoute, context: tuple[ContextItem, ...]) -> list[JsonObject]:
        system = system_text(context)
        if not system or not _drops_system(route.base_url):
            return super()._messages(route, context)
        first = ContextItem(role="user", content=told_as_user(system))
        return chat_messages("custom", [first, *dialogue(context)])


def _drops_system(base_url: str) -> bool:
    parts = urlsplit(base_url)
    return parts.hostname in _LOOPBACK and parts.port == _DEAF_PORT
