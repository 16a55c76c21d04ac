"""Whether a provider answers: one request of a few words, left at the first sign of an answer.

It is the very request that a turn would make, so that it proves address, key, model and wire format
at once, and for any wire format. Leaving it closes the connection, so that little is spent. What a
provider says is classified like any failure; its own prose goes nowhere.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from actors.errors import TransportError
from actors.http_port import HttpStream, Transport
from actors.providers.adapter import ContextItem, ModelRoute, StreamAdapter
from actors.providers.framing import BodyFramer, is_success
from actors.providers.registry import provider_for
from actors.providers.sse import OversizedError, Payload
from events.generation import Chunk, ProviderFault

PATIENCE_SECONDS: Final = 10.0
"""Longest that a check may take."""
NO_ANSWER: Final = ProviderFault(
    type="unknown", code="no_answer", message="nothing that a model says came", retryable=False
)
"""What is at that address answers, but not as a model does."""

_QUESTION: Final = (ContextItem(role="user", content="Say hello."),)


async def fault_of(
    transport: Transport, route: ModelRoute, *, seconds: float = PATIENCE_SECONDS
) -> ProviderFault | None:
    """Return what is wrong with a route, None where it answers."""
    provider = provider_for(route.kind)
    reader = provider.reader()
    request = replace(provider.request(route, _QUESTION), gate=route.gate)
    try:
        async with asyncio.timeout(seconds), transport.open(request) as response:
            said = await _first_word(response, reader)
    except TransportError as error:
        said = _word(reader.finish(error.end))
    except OversizedError:
        said = _word(reader.finish("oversized"))
    except TimeoutError:
        said = _word(reader.finish("timeout"))
    return NO_ANSWER if said is None else said.error


async def _first_word(response: HttpStream, reader: StreamAdapter) -> Chunk | None:
    """Return the first chunk that says something or fails, None where the answer is empty."""
    framer = BodyFramer(response.status, response.content_type)

    def understood(payloads: list[Payload]) -> Chunk | None:
        if is_success(response.status):
            return _word([chunk for one in payloads for chunk in reader.feed(one.text)])
        wait = response.retry_after_seconds
        return _word(
            [chunk for one in payloads for chunk in reader.fail(response.status, one.text, wait)]
        )

    async for data in response.chunks():
        if (said := understood(framer.feed(data))) is not None:
            return said
    return understood(framer.finish()) or _word(reader.finish("eof"))


def _word(chunks: Sequence[Chunk]) -> Chunk | None:
    return next(filter(_speaks, chunks), None)


def _speaks(chunk: Chunk) -> bool:
    # A model may spend all that it is given on thoughts that it does not show.
    is_ended = chunk.finish_reason not in (None, "eof")
    has_said = bool(chunk.text or chunk.thoughts or chunk.function_call)
    return has_said or is_ended or chunk.error is not None
