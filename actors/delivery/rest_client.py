"""hikari's REST client as this room uses it: nothing is repeated, and every wait is ours.

Its defaults would post twice: it repeats after lost connections and 5xx answers, and after a 429
for as long as it is told to. Here its retries are off, redirects too (a 307 would repeat the body),
and it never sees a 429 (`actors.delivery.wire`). Its own rate limiter is replaced by one that lets
everything pass: that one can't be interrupted by a stop, does not hold requests of a yet unknown
bucket back during a global limit, and its queue would hide the waits from the budget. Every wait
is therefore `Waits.admit`'s.

The client leaves nobody but `single_attempt`, which alone posts messages, and `webhook_calls`,
which sets up and takes away: a new kind of post is a function there.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

import hikari
import structlog
from hikari.impl import buckets, config, entity_factory, rest
from typing_extensions import override

from actors.delivery.outcomes import Exchange
from actors.delivery.rate_limits import RateLimits, Route
from actors.delivery.waits import Waits, first_of
from actors.delivery.wire import TooManyRequestsError, WatchedSession, fault_of, read_json, watching
from actors.ports import Clock, StopSignal

if TYPE_CHECKING:
    from hikari import traits
    from hikari.api import entity_factory as entity_factory_api
    from hikari.api import rest as rest_api
    from hikari.internal import routes

_log = structlog.get_logger(__name__)


class _OpenGate(buckets.RESTBucketManager):
    """hikari's rate limiter without a limit: waiting is done before it is asked."""

    @override
    def acquire_bucket(
        self, compiled_route: "routes.CompiledRoute", authentication: str | None
    ) -> contextlib.AbstractAsyncContextManager[None]:
        return contextlib.nullcontext()

    @override
    def update_rate_limits(self, *_args: Any, **_options: Any) -> None:
        """Learn nothing: `RateLimits` reads the same headers."""


class _App:
    """What hikari's models hold on to: the client they would call."""

    def __init__(self, settings: config.HTTPSettings, proxy: config.ProxySettings) -> None:
        self.http_settings = settings
        self.proxy_settings = proxy
        self.executor = None
        self.entity_factory: entity_factory_api.EntityFactory
        self.rest: rest_api.RESTClient


def _client(token: str, api_url: str, session: WatchedSession) -> rest.RESTClientImpl:
    settings = config.HTTPSettings(max_redirects=None)
    app = _App(settings, config.ProxySettings())
    app.entity_factory = entity_factory.EntityFactoryImpl(cast("traits.RESTAware", app))
    client = rest.RESTClientImpl(
        cache=None,
        entity_factory=app.entity_factory,
        executor=None,
        http_settings=settings,
        proxy_settings=app.proxy_settings,
        bucket_manager=_OpenGate(max_rate_limit=0.0),
        bucket_manager_owner=False,
        client_session=cast("Any", session),  # has what hikari calls of aiohttp's
        client_session_owner=False,
        max_retries=0,
        loads=read_json,
        token=token.strip(),
        token_type=hikari.TokenType.BOT,
        rest_url=api_url,
    )
    app.rest = client
    return client


class RestClient:
    """One bot token's client, with what is known of its limits."""

    def __init__(
        self,
        *,
        api_url: str,
        token: str,
        clock: Clock,
        request_seconds: float,
        requests_per_second: int,
    ) -> None:
        self._api_url = api_url
        self._token = token
        self._clock = clock
        self._request_seconds = request_seconds
        self._limits = RateLimits(requests_per_second)
        self._session: WatchedSession | None = None
        self._rest: rest.RESTClientImpl | None = None
        self._own: hikari.OwnUser | None = None

    async def start(self) -> None:
        """Open the client; nothing is written yet."""
        self._session = WatchedSession(self._request_seconds)
        self._rest = _client(self._token, self._api_url, self._session)
        self._rest.start()

    async def aclose(self) -> None:
        """Close every connection; a request in flight ends as if it had been lost."""
        client, session = self._rest, self._session
        self._rest = self._session = None
        if client is not None:
            await client.close()
        if session is not None:
            await session.close()

    @property
    def rest(self) -> rest.RESTClientImpl:
        """Return hikari's client."""
        assert self._rest is not None, "start first"
        return self._rest

    async def own_user(self) -> hikari.OwnUser:
        """Return the bot's account, asked for once; to be called inside an exchange."""
        if self._own is None:
            self._own = await self.rest.fetch_my_user()
        return self._own

    def waits(self, route: Route, stop: StopSignal | None = None) -> Waits:
        """Return the waits of one request that counts to `route`."""
        return Waits(self._limits, self._clock, route, stop)

    async def exchange(self, request: Callable[[], Awaitable[None]], waits: Waits) -> Exchange:
        """Write one request in a task of its own, which a stop ends while nothing has left."""
        with watching() as exchange:
            task = asyncio.create_task(_watched(request, exchange))
        try:
            if waits.stop is not None:
                await first_of(task, waits.stop)
                if not exchange.is_sent:
                    task.cancel()
            await asyncio.wait({task})
            if task.cancelled():
                exchange.fault = "connection_reset" if exchange.is_sent else "stopped"
        finally:
            task.cancel()
        waits.note(exchange)
        return exchange


async def _watched(request: Callable[[], Awaitable[None]], exchange: Exchange) -> None:
    """Run the request; what breaks is noted, not raised."""
    try:
        await request()
    except Exception as error:  # noqa: BLE001 - the outcome rests on what left, not on the class
        exchange.fault = fault_of(error)
        if isinstance(error, hikari.HTTPResponseError):
            exchange.code = int(getattr(error, "code", 0)) or None
            exchange.refuses_buttons = "components" in (getattr(error, "errors", None) or ())
        elif not isinstance(error, hikari.HTTPError | TooManyRequestsError | TimeoutError):
            _log.error("discord_call_broke", error=type(error).__name__, status=exchange.status)
