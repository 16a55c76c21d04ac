"""Real answers of real providers: the text is what the deltas make, by an independent reading."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.actors.providers.wire import DONE, chunks_of, cut, joined, last_usage, sse, thoughts

WIRE = Path(__file__).parents[4] / "shared" / "fixtures" / "wire"
OTHER_FORMATS = ("anthropic-", "google-")
FILES = sorted(
    path
    for path in [*WIRE.glob("*.chunks.txt"), *WIRE.glob("*.sse")]
    if not path.name.startswith(OTHER_FORMATS)
)
IDS = [path.name.split(".")[0] for path in FILES]

pytestmark = pytest.mark.skipif(not FILES, reason=f"no recorded streams at {WIRE}")


def body_of(path: Path) -> bytes:
    """Return the body as it was on the wire."""
    if path.suffix == ".sse":
        return path.read_bytes()
    lines = [line for line in path.read_text().splitlines() if line.strip()]
    return sse([*lines, DONE])


def payloads_of(path: Path) -> list[dict[str, Any]]:
    """Return the JSON payloads, read without any of the code under test."""
    lines = path.read_text().splitlines()
    texts = [line.removeprefix("data: ") for line in lines if not line.startswith(":")]
    return [json.loads(text) for text in texts if text.strip() and text != DONE]


def field_of(path: Path, *names: str) -> str:
    """Return what the deltas say under the first of `names` that each one has."""
    choices: list[dict[str, Any]] = [
        one for payload in payloads_of(path) for one in payload.get("choices") or ()
    ]
    deltas: list[dict[str, Any]] = [one["delta"] for one in choices]
    return "".join(next((delta[name] for name in names if delta.get(name)), "") for delta in deltas)


@pytest.mark.parametrize("size", [1, 7, 4096])
@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_the_text_and_the_reasoning_are_what_the_deltas_make(path: Path, size: int) -> None:
    """Nobody here wrote these streams, so nobody here bent them to the code."""
    chunks = chunks_of(cut(body_of(path), size))

    assert joined(chunks) == field_of(path, "content")
    assert thoughts(chunks) == field_of(path, "reasoning_content", "reasoning")
    assert chunks == chunks_of([body_of(path)])


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_the_usage_is_the_last_one_reported(path: Path) -> None:
    """Every one of these providers reports it in a place of its own."""
    reported = [one["usage"] for one in payloads_of(path) if one.get("usage")]

    usage = last_usage(chunks_of([body_of(path)]))

    assert (usage is None) == (not reported)
    if usage is not None:
        assert usage.input_tokens == reported[-1]["prompt_tokens"]


@pytest.mark.parametrize(
    "path", [path for path in FILES if "tool-call" in path.name], ids=lambda path: path.name
)
def test_a_tool_call_comes_out_whole(path: Path) -> None:
    """Arguments that came in pieces are one JSON text, and no piece of it is shown."""
    calls = [one.function_call for one in chunks_of([body_of(path)]) if one.function_call]

    assert len(calls) == 1
    assert calls[0].name in ("weather", "webSearchTool")
    assert isinstance(json.loads(calls[0].arguments), dict)


def test_openrouter_s_error_inside_a_200_is_an_error() -> None:
    """It came after text, with usage, and without a finish reason."""
    chunks = chunks_of([(WIRE / "openrouter-error-in-200.sse").read_bytes()])

    fault = chunks[-1].error
    assert fault is not None
    assert (fault.type, fault.code, fault.retryable) == ("api_error", "400", False)
    assert chunks[-1].usage is not None
    assert chunks[0].serving_provider == "Minimax"
