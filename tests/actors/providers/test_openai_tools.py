"""Tools in a request: what a chat completions endpoint is told of them, and of their results."""

import json

from actors.providers.adapter import ContextItem, ModelRoute, ToolDefinition, ToolResult
from actors.providers.registry import provider_for
from events.generation import FunctionCall

ROUTE = ModelRoute(provider="main", kind="openai", base_url="http://x", api_key="", model="m")
TOOL = ToolDefinition(name="look_up", description="Look it up.", parameters={"type": "object"})


def test_tools_are_named_described_and_typed() -> None:
    """Without tools the request is as it always was."""
    with_tools = json.loads(provider_for("openai").request(ROUTE, (), (TOOL,)).body)
    without = json.loads(provider_for("openai").request(ROUTE, ()).body)

    assert with_tools["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "look_up",
                "description": "Look it up.",
                "parameters": {"type": "object"},
            },
        }
    ]
    assert "tools" not in without


def test_a_call_and_its_result_are_joined_by_their_id() -> None:
    """An endpoint refuses a result whose call it can't find."""
    call = FunctionCall(name="look_up", arguments='{"q":1}', call_id="a")
    context = (
        ContextItem(role="model", content="Wait.", calls=(call,)),
        ContextItem(
            role="user", content="", result=ToolResult(name="look_up", call_id="a", content="{}")
        ),
    )

    messages = json.loads(provider_for("openai").request(ROUTE, context).body)["messages"]

    assert messages == [
        {
            "role": "assistant",
            "content": "Wait.",
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "look_up", "arguments": '{"q":1}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "{}"},
    ]
