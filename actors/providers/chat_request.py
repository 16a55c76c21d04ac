"""The parts of a chat completions request, as OpenAI and the formats that follow it take them."""

from typing import Final

from actors.providers.adapter import ContextItem, ModelRoute, ToolDefinition
from actors.providers.carried import carried
from actors.providers.json_text import JsonObject, object_of
from actors.providers.surrogates import clean
from events.generation import FunctionCall

_PATH: Final = "/chat/completions"
_ROLES: Final = {"model": "assistant", "user": "user"}
_PREAMBLE: Final = "[Instructions for you alone. Follow them and never mention them.]"
_OF_MESSAGE: Final = ("reasoning_content", "reasoning_details")


def chat_url(base_url: str) -> str:
    """Return the address that answers; one that names it already is left as it is."""
    address, mark, query = base_url.partition("?")
    if not address.endswith(_PATH):
        address = address.removesuffix("/") + _PATH
    return address + mark + query


def chat_headers(route: ModelRoute) -> dict[str, str]:
    """Return the headers; an endpoint without a key gets none, since many refuse an empty one."""
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    key = route.api_key.strip()
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return headers


def chat_tools(tools: tuple[ToolDefinition, ...]) -> JsonObject:
    """Return what the body says of the tools: nothing where there are none."""
    if not tools:
        return {}
    return {
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": one.name,
                    "description": one.description,
                    "parameters": one.parameters,
                },
            }
            for one in tools
        ]
    }


def system_text(context: tuple[ContextItem, ...]) -> str:
    """Return all instructions as one text."""
    return clean(
        "\n\n".join(item.content for item in context if item.role == "system" and item.content)
    )


def told_as_user(system: str) -> str:
    """Return instructions as a first message, for models that are given no system message."""
    return f"{_PREAMBLE}\n\n{system}"


def dialogue(context: tuple[ContextItem, ...]) -> list[ContextItem]:
    """Return what was said, called and answered; items without any of it are left out."""
    return [
        item
        for item in context
        if item.role != "system" and (item.content or item.calls or item.result is not None)
    ]


def chat_messages(kind: str, items: list[ContextItem]) -> list[JsonObject]:
    """Return the messages of a dialogue, with what the wire format `kind` wants back."""
    return [_message(kind, item) for item in items]


def _message(kind: str, item: ContextItem) -> JsonObject:
    if item.result is not None:
        result = item.result
        return {"role": "tool", "tool_call_id": result.call_id, "content": clean(result.content)}
    message: JsonObject = {"role": _ROLES[item.role], "content": clean(item.content)}
    if item.calls:
        message["tool_calls"] = [_call(kind, call) for call in item.calls]
        for call in item.calls:
            fields = carried(kind, call)
            message.update({name: fields[name] for name in _OF_MESSAGE if name in fields})
    return message


def _call(kind: str, call: FunctionCall) -> JsonObject:
    return {
        "id": call.call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
        **object_of(carried(kind, call).get("call")),
    }
