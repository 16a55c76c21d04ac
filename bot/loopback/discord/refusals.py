"""Discord's refusals: HTTP status, numeric code, sentence. The only exception of the handlers."""

from http import HTTPStatus

from typing_extensions import override

from bot.loopback.discord.entities import JsonObject

MESSAGES = {
    10003: "Unknown Channel",
    10004: "Unknown Guild",
    10007: "Unknown Member",
    10008: "Unknown Message",
    10013: "Unknown User",
    10015: "Unknown Webhook",
    10062: "Unknown interaction",
    10063: "Unknown application command",
    30007: "Maximum number of webhooks reached (15)",
    40060: "Interaction has already been acknowledged.",
    50001: "Missing Access",
    50005: "Cannot edit a message authored by another user",
    50006: "Cannot send an empty message",
    50007: "Cannot send messages to this user",
    50013: "Missing Permissions",
    50027: "Invalid Webhook Token",
    50035: "Invalid Form Body",
    50109: "The request body contains invalid JSON.",
    160002: "Cannot reply without permission to read message history",
}
"""Discord's words for its codes (docs.discord.com, topics/opcodes-and-status-codes)."""


class RefusedError(Exception):
    """The request is refused: nothing was changed."""

    def __init__(self, status: int, code: int, errors: JsonObject | None = None) -> None:
        super().__init__(status, code, errors)
        self.status = status
        self.code = code
        self.errors = errors

    @override
    def __str__(self) -> str:
        return f"{self.status}/{self.code} {MESSAGES.get(self.code, '')}"

    def body(self) -> JsonObject:
        """Return the response's JSON."""
        # Discord's general refusals have no code of their own.
        general = f"{self.status}: {HTTPStatus(self.status).phrase}"
        body: JsonObject = {"message": MESSAGES.get(self.code, general), "code": self.code}
        if self.errors is not None:
            body["errors"] = self.errors
        return body


def unknown(code: int) -> RefusedError:
    """Return the 404 of a thing that is not there."""
    return RefusedError(404, code)


def forbidden(code: int) -> RefusedError:
    """Return the 403 of a thing that is not allowed."""
    return RefusedError(403, code)


def invalid(field: str, reason: str, sentence: str) -> RefusedError:
    """Return the 400/50035 that names the field; dots part nested names."""
    errors: JsonObject = {"_errors": [{"code": reason, "message": sentence}]}
    for name in reversed(field.split(".")):
        errors = {name: errors}
    return RefusedError(400, 50035, errors)
