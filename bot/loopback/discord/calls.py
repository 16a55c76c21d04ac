"""One request as a handler sees it, its reply, and the entry of a route: no sockets in here."""

from collections.abc import Callable, Mapping
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from bot.loopback.discord.refusals import RefusedError, invalid
from events.base import MessageId

Kind = Literal[
    "post",
    "edit",
    "delete",
    "typing",
    "history",
    "interaction",
    "webhook",
    "webhook_setup",
    "command",
    "lookup",
]
"""What a request does: `webhook` executes one, `webhook_setup` makes, lists or changes them."""

BodyT = TypeVar("BodyT")


class Upload(Struct, frozen=True, kw_only=True):
    """A file of a multipart request."""

    filename: str
    """Its name."""
    content_type: str
    """Its media type."""
    data: bytes
    """Its bytes."""


class Call(Struct, frozen=True, kw_only=True):
    """A request that has been read."""

    params: Mapping[str, str]
    """What stood in the path."""
    query: Mapping[str, str]
    """The query."""
    body: bytes = b""
    """The JSON; of a multipart request its `payload_json`."""
    uploads: tuple[Upload, ...] = ()
    """The files of a multipart request."""

    def id(self, name: str) -> int:
        """Return the id in the path.

        Raises:
            RefusedError: 400/50035, it is no number.
        """
        return snowflake(name, self.params[name])

    def number(self, name: str) -> int | None:
        """Return a number of the query; None where it is absent.

        Raises:
            RefusedError: 400/50035, it is no number.
        """
        value = self.query.get(name)
        return None if value is None else snowflake(name, value)

    def flag(self, name: str) -> bool:
        """Return whether a switch of the query is on."""
        return self.query.get(name, "").lower() in {"true", "1"}

    def decode(self, shape: type[BodyT]) -> BodyT:
        """Return the body as `shape`; fields it does not know are ignored.

        Raises:
            RefusedError: 400, it is no JSON (50109) or of another shape (50035).
        """
        try:
            return msgspec.json.decode(self.body or b"{}", type=shape)
        except msgspec.ValidationError as error:
            raise invalid("_body", "DICT_TYPE_CONVERT", str(error)) from error
        except msgspec.DecodeError as error:
            raise RefusedError(400, 50109) from error


class Reply(Struct, frozen=True, kw_only=True):
    """What a handler answers."""

    status: int = 200
    """HTTP status."""
    body: object = None
    """JSON; nothing with a 204."""
    message_id: MessageId | None = None
    """The message that was stored, where one was."""


NO_CONTENT = Reply(status=204)
"""Done, nothing to say."""


class Route(Struct, frozen=True, kw_only=True):
    """A way into the API."""

    method: str
    """HTTP method."""
    path: str
    """Below `/api/v10`, names in braces."""
    kind: Kind
    """What it does."""
    handler: Callable[[Call], Reply]
    """Who answers; raises `RefusedError` and nothing else."""
    needs_token: bool = True
    """Whether the bot's token must come along; a webhook's or interaction's stands in the path."""


def snowflake(name: str, value: str) -> int:
    """Return `value` as an id.

    Raises:
        RefusedError: 400/50035, it is no number.
    """
    if not (value.isascii() and value.isdigit()):
        raise invalid(name, "NUMBER_TYPE_COERCE", f'Value "{value}" is not snowflake.')
    return int(value)
