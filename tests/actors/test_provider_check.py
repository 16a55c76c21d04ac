"""Trying a provider, over real HTTP."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from actors.gate.addresses import Policy
from actors.provider_check import fault_of
from actors.providers.adapter import ModelRoute
from actors.transport import AiohttpTransport
from bot.loopback.provider import LoopbackProvider
from bot.loopback.script import Answer, refusal
from events.generation import ProviderFault


class Client:
    """A provider and a connection to it."""

    def __init__(self, provider: LoopbackProvider) -> None:
        self.provider = provider
        self.transport = AiohttpTransport()

    async def check(self, *, seconds: float = 20.0, gate: Policy | None = None) -> str | None:
        """Return the type of what is wrong."""
        route = ModelRoute(
            provider="ours",
            kind="openai",
            base_url=self.provider.base_url,
            api_key="sk-ours",
            model="m",
            gate=gate,
        )
        fault: ProviderFault | None = await fault_of(self.transport, route, seconds=seconds)
        return None if fault is None else fault.type


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Yield a client."""
    async with LoopbackProvider() as provider:
        client = Client(provider)
        yield client
        await client.transport.aclose()


async def test_the_first_word_is_enough(client: Client) -> None:
    """What the model would say after it would be paid for."""
    never = asyncio.Event()
    client.provider.script(Answer(pieces=("Hel", "lo"), gates={2: never}))

    assert await client.check() is None
    never.set()


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (refusal(401, "no"), "api_error"),
        (refusal(404, "no such model"), "model_error"),
        (refusal(429, "slow down"), "rate_limit"),
        (Answer(body=b"<html>", content_type="text/html"), "unknown"),
    ],
)
async def test_a_failure_is_classified(client: Client, answer: Answer, fault: str) -> None:
    """Members are told what to change."""
    client.provider.script(answer)

    assert await client.check() == fault


async def test_silence_ends_it(client: Client) -> None:
    """A member waits for the answer."""
    never = asyncio.Event()
    client.provider.script(Answer(pieces=("Hi",), gates={0: never}))

    assert await client.check(seconds=0.05) == "timeout"
    never.set()


async def test_what_the_gate_refuses_is_not_asked(client: Client) -> None:
    """Nobody is led inside by a check."""
    assert await client.check(gate=Policy()) is not None
    assert client.provider.requests == []
