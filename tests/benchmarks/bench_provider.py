"""What reading a provider's stream costs: framing and adapter against plain `json.loads`.

Run on demand: `python -m tests.benchmarks.bench_provider`. The ratio to `json.loads` of the
same payloads, taken in the same run, is what can be compared between machines.
"""

import json
import time
from collections.abc import Callable

from actors.providers.framing import BodyFramer
from actors.providers.openai import ChatReader
from actors.providers.sse import SseDecoder

PAYLOADS = 20_000
ROUNDS = 5
SIZES = (340, 4096, 65_536)
"""Bytes of one read."""


def payload(index: int) -> str:
    """Return a delta as OpenAI sends it: a few characters of text in 300 bytes."""
    return json.dumps(
        {
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
    )


TEXTS = [payload(index) for index in range(PAYLOADS)]
BODY = b"".join(f"data: {text}\n\n".encode() for text in TEXTS)


def fastest(work: Callable[[], object]) -> float:
    """Return the CPU seconds of the fastest of some rounds."""
    taken: list[float] = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def baseline() -> None:
    """Parse every payload, and nothing else."""
    for text in TEXTS:
        json.loads(text)


def frame(size: int) -> None:
    """Frame the body, in reads of `size` bytes."""
    decoder = SseDecoder()
    for at in range(0, len(BODY), size):
        decoder.feed(BODY[at : at + size])


def read(size: int) -> None:
    """Frame and normalize the body, in reads of `size` bytes."""
    framer = BodyFramer(200, "text/event-stream")
    reader = ChatReader()
    for at in range(0, len(BODY), size):
        for one in framer.feed(BODY[at : at + size]):
            reader.feed(one.text)


def main() -> None:
    """Print each size of read against plain parsing; all turns of an actor share one core."""
    parsing = fastest(baseline)
    for size in SIZES:
        framing = fastest(lambda size=size: frame(size))
        reading = fastest(lambda size=size: read(size))
        print(  # noqa: T201 - what a benchmark is for
            f"reads of {size:>6} bytes: {PAYLOADS / reading:>9,.0f} chunks/CPU s, "
            f"{reading / parsing:.2f} x json.loads (framing alone {framing / parsing:.2f} x)"
        )


if __name__ == "__main__":
    main()
