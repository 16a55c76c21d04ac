"""The routes below `/webhooks/{id}/{token}`, which webhooks and interactions share.

Where the id is the application's, the token is an interaction's; else it is a webhook's.
"""

from collections.abc import Callable

from bot.loopback.discord.calls import Call, Kind, Reply, Route
from bot.loopback.discord.interactions import InteractionRoutes
from bot.loopback.discord.webhooks import WebhookRoutes
from bot.loopback.discord.world import World


class TokenRoutes:
    """The shared routes, each leading to one of the two."""

    def __init__(
        self, world: World, webhooks: WebhookRoutes, interactions: InteractionRoutes
    ) -> None:
        self._world = world
        self._webhooks = webhooks
        self._interactions = interactions

    def routes(self) -> list[Route]:
        """Return them."""
        post, one = "/webhooks/{webhook}/{token}", "/webhooks/{webhook}/{token}/messages/{message}"
        webhooks, interactions = self._webhooks, self._interactions
        return [
            self._either("POST", post, "webhook", webhooks.execute, interactions.follow_up),
            self._either("GET", one, "history", webhooks.message, interactions.message),
            self._either("PATCH", one, "edit", webhooks.edit, interactions.edit),
            self._either("DELETE", one, "delete", webhooks.delete, interactions.delete),
        ]

    def locate(self, route: Route, call: Call) -> tuple[Kind, int | None]:
        """Return what a request does and the channel it concerns, from its path and query."""
        if "channel" in call.params:
            return route.kind, _number(call.params["channel"])
        if "token" not in call.params:
            return route.kind, None
        if self._is_interaction(call) or "interaction" in call.params:
            invocation = self._interactions.invocation(call.params["token"])
            return "interaction", None if invocation is None else invocation.channel.id
        thread_id = _number(call.query.get("thread_id", ""))
        webhook = self._world.webhooks.get(_number(call.params["webhook"]) or 0)
        return route.kind, thread_id or (None if webhook is None else webhook.channel_id)

    def _is_interaction(self, call: Call) -> bool:
        return call.params.get("webhook") == str(self._world.bot.id)

    def _either(
        self,
        method: str,
        path: str,
        kind: Kind,
        of_webhook: Callable[[Call], Reply],
        of_interaction: Callable[[Call], Reply],
    ) -> Route:
        def handler(call: Call) -> Reply:
            return of_interaction(call) if self._is_interaction(call) else of_webhook(call)

        return Route(method=method, path=path, kind=kind, handler=handler, needs_token=False)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None
