"""What reading a stream costs in each wire format: framing and adapter against `json.loads`.

Run on demand: `python -m tests.benchmarks.bench_provider`. The ratio to `json.loads` of the
same payloads, taken in the same run, is what can be compared between machines.
"""

import json
import time
from collections.abc import Callable

from actors.providers.adapter import ProviderKind
from actors.providers.framing import BodyFramer
from actors.providers.registry import provider_for
from actors.providers.sse import SseDecoder

PAYLOADS = 20_000
ROUNDS = 5
SIZES = (340, 4096, 65_536)
"""Bytes of one read."""


def chat(index: int) -> dict[str, object]:
    """Return a delta as OpenAI sends it: a few characters of text in 300 bytes."""
    return {
        "id": "chatcmpl-D8Z5oo6uDh67AD85p73ksdT1KxhE0",
        "object": "chat.completion.chunk",
        "created": 1770933892,
        "model": "gpt-4.1-nano-2025-04-14",
        "service_tier": "default",
        "system_fingerprint": "fp_de604bd877",
        "choices": [
            {
                "index": 0,
                "delta": {"content": f" word{index}"},
                "logprobs": None,
                "finish_reason": None,
            }
        ],
        "usage": None,
        "obfuscation": "yhjoJbEF",
    }


def event(index: int) -> dict[str, object]:
    """Return a delta as Anthropic sends it."""
    delta = {"type": "text_delta", "text": f" word{index}"}
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def response(index: int) -> dict[str, object]:
    """Return a response as Gemini sends it, with the usage so far."""
    usage = {
        "promptTokenCount": 9,
        "candidatesTokenCount": index,
        "totalTokenCount": 9 + index,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 9}],
        "thoughtsTokenCount": 256,
    }
    content = {"parts": [{"text": f" word{index}"}], "role": "model"}
    return {
        "candidates": [{"content": content, "index": 0}],
        "usageMetadata": usage,
        "modelVersion": "gemini-3-pro-preview",
        "responseId": "dX6LadKVC7SZ28oPr9yJoQs",
    }


FORMATS: dict[ProviderKind, Callable[[int], dict[str, object]]] = {
    "openai": chat,
    "openrouter": chat,
    "anthropic": event,
    "google": response,
    "custom": chat,
}


def fastest(work: Callable[[], object]) -> float:
    """Return the CPU seconds of the fastest of some rounds."""
    taken: list[float] = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def baseline(texts: list[str]) -> None:
    """Parse every payload, and nothing else."""
    for text in texts:
        json.loads(text)


def frame(body: bytes, size: int) -> None:
    """Frame the body, in reads of `size` bytes."""
    decoder = SseDecoder()
    for at in range(0, len(body), size):
        decoder.feed(body[at : at + size])


def read(kind: ProviderKind, body: bytes, size: int) -> None:
    """Frame and normalize the body, in reads of `size` bytes."""
    framer = BodyFramer(200, "text/event-stream")
    reader = provider_for(kind).reader()
    for at in range(0, len(body), size):
        for one in framer.feed(body[at : at + size]):
            reader.feed(one.text)


def measure(kind: ProviderKind) -> None:
    """Print each size of read of one format against plain parsing of its payloads."""
    texts = [json.dumps(FORMATS[kind](index)) for index in range(PAYLOADS)]
    body = b"".join(f"data: {text}\n\n".encode() for text in texts)
    parsing = fastest(lambda: baseline(texts))
    for size in SIZES:
        framing = fastest(lambda size=size: frame(body, size))
        reading = fastest(lambda size=size: read(kind, body, size))
        print(  # noqa: T201 - what a benchmark is for
            f"{kind:<10} reads of {size:>6} bytes: {PAYLOADS / reading:>9,.0f} chunks/CPU s, "
            f"{reading / parsing:.2f} x json.loads (framing alone {framing / parsing:.2f} x)"
        )


def main() -> None:
    """Measure every format; all turns of an actor share one core."""
    for kind in FORMATS:
        measure(kind)


if __name__ == "__main__":
    main()
