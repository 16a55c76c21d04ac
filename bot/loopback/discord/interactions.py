"""Slash commands invoked and buttons pressed: what the bot gets, and how it may answer.

The first answer must come within three seconds, as a message or as a promise of one; further ones
go through the interaction's token. Answers for the invoking user alone stand in no channel.
"""

import asyncio
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from actors.ports import Clock
from bot.loopback.discord.address import Address
from bot.loopback.discord.calls import NO_CONTENT, Call, Reply, Route
from bot.loopback.discord.entities import (
    EPHEMERAL,
    Attachment,
    Channel,
    JsonObject,
    MessageKind,
    StoredMessage,
    User,
)
from bot.loopback.discord.payloads import message_json
from bot.loopback.discord.posting import MessageBody, Origin, amend, compose
from bot.loopback.discord.refusals import RefusedError, invalid, unknown
from bot.loopback.discord.world import World
from events.base import MessageId

ANSWER_SECONDS = 3.0
"""How long an interaction waits for its first answer."""
_MESSAGE = 4
_DEFERRED = 5
_CHOICES = 8
_FORM = 9
COMMAND, COMPONENT, AUTOCOMPLETE, SUBMISSION = 2, 3, 4, 5
"""Discord's types of interactions: a command, a component, a look for choices, a form sent."""
_ANSWERS = {
    COMMAND: (_MESSAGE, _DEFERRED, _FORM),
    COMPONENT: (_MESSAGE, _DEFERRED, _FORM),
    AUTOCOMPLETE: (_CHOICES,),
    SUBMISSION: (_MESSAGE, _DEFERRED),
}
"""What may come first, by the interaction's type."""

_MOST_CHOICES = 25
_LONGEST_CHOICE = 100
_LONGEST_TITLE = 45


class CommandAnswer(Struct, frozen=True, kw_only=True):
    """What the bot answered."""

    kind: Literal["message", "edit", "followup"]
    """The first answer, a change of it (which also fills a promise), or a further one."""
    content: str
    """The text."""
    is_ephemeral: bool
    """Whether only the invoking user sees it."""
    embeds: tuple[JsonObject, ...]
    """As sent."""
    attachments: tuple[Attachment, ...]
    """Its files."""
    message_id: MessageId
    """Its message."""


class Choice(Struct, frozen=True, kw_only=True):
    """Something that a member may choose for an option."""

    name: str
    """What is shown."""
    value: str | int | float
    """What is sent."""


class Choices(Struct, frozen=True, kw_only=True):
    """What the bot offers for an option, 25 at most."""

    choices: tuple[Choice, ...] = ()
    """In their order."""


class Field(Struct, frozen=True, kw_only=True):
    """A text field of a form."""

    custom_id: str
    """Its name."""
    type: int = 4
    """Discord's type of component."""
    style: int = 1
    """1 a line, 2 a paragraph."""
    label: str = ""
    """What stands above it."""
    value: str = ""
    """What stands in it at first."""
    required: bool = True
    """Whether it must be filled in."""
    max_length: int = 4000
    """Most characters."""


class FieldRow(Struct, frozen=True, kw_only=True):
    """A row of a form."""

    components: tuple[Field, ...]
    """Its one field."""
    type: int = 1
    """Discord's type of component."""


class Form(Struct, frozen=True, kw_only=True):
    """A form that the bot asks a member to fill in."""

    custom_id: str
    """Its name."""
    title: str
    """What stands above it."""
    components: tuple[FieldRow, ...]
    """Its rows, 1 to 5."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """Its fields."""
        return tuple(one for row in self.components for one in row.components)


class Invocation:
    """A slash command invoked or a button pressed, and all that the bot answered."""

    def __init__(
        self, interaction_id: int, user: User, channel: Channel, created: float, kind: int
    ) -> None:
        self.kind = kind
        self.id = interaction_id
        self.token = f"interaction-{interaction_id:x}"
        self.user = user
        self.channel = channel
        self.created = created
        self.response: asyncio.Future[CommandAnswer] = asyncio.get_running_loop().create_future()
        """The first answer that says something: a promise alone does not count."""
        self.choices: asyncio.Future[tuple[Choice, ...]] = self.response.get_loop().create_future()
        """What the bot offers, where it is asked for choices."""
        self.form: asyncio.Future[Form] = self.response.get_loop().create_future()
        """The form that the bot answers with, where it does."""
        self.answers: list[CommandAnswer] = []
        """All of them, oldest first."""
        self.is_deferred = False
        """Whether a promise was made that is not kept yet."""
        self.original_id: MessageId | None = None
        self.private: dict[int, StoredMessage] = {}
        self.is_acknowledged = False
        self.promised_flags = 0

    def record(self, answer: CommandAnswer) -> None:
        """Note an answer and wake who waits for the first."""
        self.answers.append(answer)
        self.is_deferred = False
        if not self.response.done():
            self.response.set_result(answer)


class Callback(Struct, frozen=True, kw_only=True):
    """The body of a first answer."""

    type: int
    """4 a message, 5 a promise of one, 8 choices, 9 a form."""
    data: msgspec.Raw = msgspec.Raw(b"{}")
    """Of a shape that the type says."""


class InteractionRoutes:
    """The routes that answer an interaction."""

    def __init__(self, world: World, clock: Clock, address: Address) -> None:
        self._world = world
        self._clock = clock
        self._address = address
        self._by_token: dict[str, Invocation] = {}
        self.answer_seconds = ANSWER_SECONDS

    def routes(self) -> list[Route]:
        """Return the route of first answers and those of the first answer's message."""
        callback = "/interactions/{interaction}/{token}/callback"
        original = "/webhooks/{webhook}/{token}/messages/@original"
        table = (
            ("POST", callback, self._callback),
            ("GET", original, self._fetch_original),
            ("PATCH", original, self._edit_original),
            ("DELETE", original, self._delete_original),
        )
        return [
            Route(method=method, path=path, kind="interaction", handler=handler, needs_token=False)
            for method, path, handler in table
        ]

    def invoke(self, user: User, channel: Channel, kind: int = COMMAND) -> Invocation:
        """Open an interaction."""
        now = self._clock.monotonic()
        invocation = Invocation(self._world.new_id(), user, channel, now, kind)
        self._by_token[invocation.token] = invocation
        return invocation

    def invocation(self, token: str) -> Invocation | None:
        """Return the interaction with this token."""
        return self._by_token.get(token)

    def follow_up(self, call: Call) -> Reply:
        """Add an answer; right after a promise it is the promised one."""
        invocation = self._known(call)
        body = call.decode(MessageBody)
        if invocation.is_deferred:
            return self._keep_promise(invocation, body, call)
        message = self._compose(invocation, body, call)
        self._record(invocation, "followup", message)
        return self._reply(message)

    def message(self, call: Call) -> Reply:
        """Return an answer's message."""
        return self._reply(self._answered(self._known(call), call.id("message")))

    def edit(self, call: Call) -> Reply:
        """Change an answer's message."""
        invocation = self._known(call)
        message = self._answered(invocation, call.id("message"))
        return self._edited(invocation, message, call)

    def delete(self, call: Call) -> Reply:
        """Delete an answer's message."""
        invocation = self._known(call)
        return self._removed(invocation, self._answered(invocation, call.id("message")))

    def _callback(self, call: Call) -> Reply:
        invocation = self._by_token.get(call.params["token"])
        if invocation is None or invocation.id != call.id("interaction"):
            raise unknown(10062)
        if invocation.is_acknowledged:
            raise RefusedError(400, 40060)
        if self._clock.monotonic() - invocation.created > self.answer_seconds:
            raise unknown(10062)
        callback = call.decode(Callback)
        if callback.type not in _ANSWERS[invocation.kind]:
            raise invalid("type", "BASE_TYPE_CHOICES", f"no such type here: {callback.type}")
        inner = replace(call, body=bytes(callback.data))
        message = self._take(invocation, callback.type, inner)
        invocation.is_acknowledged = True
        if message is not None:
            self._record(invocation, "message", message)
        return self._acknowledged(invocation, callback.type, message, call)

    def _take(self, invocation: Invocation, kind: int, call: Call) -> StoredMessage | None:
        """Let a first answer have its effect; return its message, where it is one."""
        if kind == _CHOICES:
            invocation.choices.set_result(_checked_choices(call.decode(Choices)))
        elif kind == _FORM:
            invocation.form.set_result(_checked_form(call.decode(Form)))
        elif kind == _DEFERRED:
            invocation.is_deferred = True
            invocation.promised_flags = (call.decode(MessageBody).flags or 0) & EPHEMERAL
        else:
            message = self._compose(invocation, call.decode(MessageBody), call)
            invocation.original_id = message.id
            return message
        return None

    def _acknowledged(
        self, invocation: Invocation, kind: int, message: StoredMessage | None, call: Call
    ) -> Reply:
        message_id = None if message is None else message.id
        if not call.flag("with_response"):
            return Reply(status=204, message_id=message_id)
        interaction: JsonObject = {"id": str(invocation.id), "type": invocation.kind}
        resource: JsonObject = {"type": kind}
        if message is not None:
            interaction["response_message_id"] = str(message.id)
            resource["message"] = message_json(self._world, message, files=self._address.files)
        interaction["response_message_loading"] = kind == _DEFERRED
        body: JsonObject = {"interaction": interaction, "resource": resource}
        return Reply(body=body, message_id=message_id)

    def _fetch_original(self, call: Call) -> Reply:
        invocation = self._known(call)
        return self._reply(self._answered(invocation, invocation.original_id))

    def _edit_original(self, call: Call) -> Reply:
        invocation = self._known(call)
        if invocation.is_deferred:
            return self._keep_promise(invocation, call.decode(MessageBody), call)
        message = self._answered(invocation, invocation.original_id)
        return self._edited(invocation, message, call)

    def _delete_original(self, call: Call) -> Reply:
        invocation = self._known(call)
        if invocation.is_deferred:
            invocation.is_deferred = False
            return NO_CONTENT
        return self._removed(invocation, self._answered(invocation, invocation.original_id))

    def _keep_promise(self, invocation: Invocation, body: MessageBody, call: Call) -> Reply:
        message = self._compose(invocation, body, call, flags=invocation.promised_flags)
        invocation.original_id = message.id
        self._record(invocation, "edit", message)
        return self._reply(message)

    def _compose(
        self, invocation: Invocation, body: MessageBody, call: Call, *, flags: int | None = None
    ) -> StoredMessage:
        origin = Origin(author=self._world.bot, kind=MessageKind.COMMAND_RESPONSE)
        message = compose(self._world, invocation.channel, origin, body, call.uploads)
        if flags is not None:
            message = replace(message, flags=flags)
        if message.flags & EPHEMERAL:
            invocation.private[message.id] = message
            return message
        return self._world.store(message)

    def _edited(self, invocation: Invocation, message: StoredMessage, call: Call) -> Reply:
        changed = amend(self._world, message, call.decode(MessageBody), call.uploads)
        if message.id in invocation.private:
            invocation.private[message.id] = changed
        else:
            changed = self._world.edit(changed)
        self._record(invocation, "edit", changed)
        return self._reply(changed)

    def _removed(self, invocation: Invocation, message: StoredMessage) -> Reply:
        if invocation.private.pop(message.id, None) is None:
            self._world.remove(message)
        return NO_CONTENT

    def _record(
        self,
        invocation: Invocation,
        kind: Literal["message", "edit", "followup"],
        message: StoredMessage,
    ) -> None:
        invocation.record(
            CommandAnswer(
                kind=kind,
                content=message.content,
                is_ephemeral=bool(message.flags & EPHEMERAL),
                embeds=message.embeds,
                attachments=message.attachments,
                message_id=message.id,
            )
        )

    def _known(self, call: Call) -> Invocation:
        invocation = self._by_token.get(call.params["token"])
        # Until it is acknowledged, the interaction's token opens nothing.
        if invocation is None or not invocation.is_acknowledged:
            raise unknown(10015)
        return invocation

    def _answered(self, invocation: Invocation, message_id: int | None) -> StoredMessage:
        if message_id is None:
            raise unknown(10008)
        private = invocation.private.get(message_id)
        return private or self._world.message(invocation.channel.id, message_id)

    def _reply(self, message: StoredMessage) -> Reply:
        body = message_json(self._world, message, files=self._address.files)
        return Reply(body=body, message_id=message.id)


def _checked_choices(offered: Choices) -> tuple[Choice, ...]:
    if len(offered.choices) > _MOST_CHOICES:
        sentence = f"Must be {_MOST_CHOICES} or fewer in length."
        raise invalid("data.choices", "BASE_TYPE_MAX_LENGTH", sentence)
    for index, one in enumerate(offered.choices):
        if not 1 <= len(one.name) <= _LONGEST_CHOICE:
            sentence = f"Must be between 1 and {_LONGEST_CHOICE} in length."
            raise invalid(f"data.choices.{index}.name", "BASE_TYPE_BAD_LENGTH", sentence)
    return offered.choices


def _checked_form(form: Form) -> Form:
    for name, text, most in (
        ("title", form.title, _LONGEST_TITLE),
        ("custom_id", form.custom_id, _LONGEST_CHOICE),
        *(("label", one.label, _LONGEST_TITLE) for one in form.fields),
    ):
        if not 1 <= len(text) <= most:
            sentence = f"Must be between 1 and {most} in length."
            raise invalid(f"data.{name}", "BASE_TYPE_BAD_LENGTH", sentence)
    return form
