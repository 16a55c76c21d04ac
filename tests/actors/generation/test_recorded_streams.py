"""Real providers' recorded answers, served over HTTP in awkward cuts, posted as what they say.

The recordings are no part of the project; where they are absent these tests are skipped.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.loopback.script import Answer, say
from tests.stack import Stack

FOLDER = Path(__file__).parents[4] / "shared" / "fixtures" / "wire"
OTHER_FORMATS = ("anthropic-", "google-")
STREAMS = sorted(
    path.name
    for path in (FOLDER.iterdir() if FOLDER.is_dir() else ())
    if path.suffix in (".txt", ".sse") and not path.name.startswith(OTHER_FORMATS)
)

AFTERWARDS = "That is all."
"""What the model says once its tools have answered."""

pytestmark = [
    pytest.mark.skipif(not STREAMS, reason=f"no recorded streams at {FOLDER}"),
    pytest.mark.timeout(120),
]


@pytest.fixture
async def stack() -> AsyncIterator[Stack]:
    """The whole path, healthy."""
    async with Stack() as one:
        yield one


def payloads_of(name: str) -> list[str]:
    """Return the data payloads of a recording, read without any code of the project."""
    text = (FOLDER / name).read_text()
    if name.endswith(".sse"):
        lines = [line for line in text.splitlines() if line.startswith("data:")]
        return [line.removeprefix("data:").strip() for line in lines]
    return [line for line in text.splitlines() if line.strip()]


def text_of(payloads: list[str]) -> str:
    """Return the text that the deltas make."""
    parts: list[str] = []
    for payload in payloads:
        if payload == "[DONE]":
            continue
        body: dict[str, Any] = json.loads(payload)
        parts += [text_in(choice) for choice in body.get("choices") or ()]
    return "".join(parts)


def text_in(choice: dict[str, dict[str, str | list[dict[str, str]] | None] | None]) -> str:
    """Return the text of a choice's delta, which some send in typed parts."""
    content = (choice.get("delta") or {}).get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def served(name: str, cut: int) -> Answer:
    """Return the recording as the provider's answer, written `cut` bytes at a time."""
    if name.endswith(".sse"):
        body = (FOLDER / name).read_bytes()
        return Answer(body=body, content_type="text/event-stream", cut=cut)
    return Answer(payloads=(*payloads_of(name), "[DONE]"), cut=cut)


@pytest.mark.parametrize("cut", [1, 7, 4096])
@pytest.mark.parametrize("name", STREAMS or ["none"])
async def test_a_recorded_stream_is_posted_as_exactly_what_its_deltas_say(
    stack: Stack, name: str, cut: int
) -> None:
    """However the network cuts it."""
    expected = text_of(payloads_of(name))
    stack.provider.script(served(name, cut), say(AFTERWARDS))
    start = await stack.ask()

    await stack.run(start)

    ended = await stack.end_of(start.turn_id)
    if len(stack.provider.requests) > 1:  # it called a tool, and was told what came of it
        expected += f"\n{AFTERWARDS}"
    notices = ended.status == "error" or not expected
    said = stack.contents()[: -1 if notices else None]
    if len(stack.provider.requests) == 1:
        assert ended.delivered_text == expected.strip()
    assert lines_of("\n".join(said)) == lines_of(expected)
    assert sum(ended.withheld.values()) == ended.withheld.get("blank", 0)


def lines_of(text: str) -> list[str]:
    """Return the lines that show, without the blanks that Discord trims from messages."""
    return [line.strip() for line in text.splitlines() if line.strip()]
