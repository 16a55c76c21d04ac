"""The embedded Discord as one object: start it, fill its world, speak, look, break things."""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from aiohttp import web
from msgspec.structs import replace

from actors.ports import Clock
from bot.clock import SystemClock
from bot.loopback.discord.address import Address
from bot.loopback.discord.announcements import Announcement, announce, message_announcement
from bot.loopback.discord.calls import Call, Reply, Route
from bot.loopback.discord.commands import Command, CommandRoutes
from bot.loopback.discord.credentials import BOT_ID, bot_id_of, token_for
from bot.loopback.discord.directory import DirectoryRoutes
from bot.loopback.discord.entities import (
    MEMBER_PERMISSIONS,
    Attachment,
    Channel,
    JsonObject,
    StoredMessage,
    User,
)
from bot.loopback.discord.faults import Fault, Faults
from bot.loopback.discord.gateway import Cut, Gateway
from bot.loopback.discord.interactions import (
    AUTOCOMPLETE,
    COMPONENT,
    SUBMISSION,
    Form,
    InteractionRoutes,
    Invocation,
)
from bot.loopback.discord.invoking import (
    Invoked,
    OptionValue,
    command_json,
    press_json,
    submission_json,
)
from bot.loopback.discord.journal import Journal, RecordedRequest
from bot.loopback.discord.limits import Limits
from bot.loopback.discord.messages import MessageRoutes
from bot.loopback.discord.posting import MessageBody, Origin, Reference, compose
from bot.loopback.discord.pulse import Pulse
from bot.loopback.discord.refusals import RefusedError
from bot.loopback.discord.rest import BODY_LIMIT, Door, Held, serve
from bot.loopback.discord.tokens import TokenRoutes
from bot.loopback.discord.webhooks import WebhookRoutes
from bot.loopback.discord.world import Happening, World
from events.base import ChannelId

_SHUTDOWN_SECONDS = 1.0


class LoopbackDiscord:
    """A Discord of one bot on 127.0.0.1.

    Use as an async context manager, or `start` and `close` it; all in one event loop. Everything
    it holds is in `world`; what came in, in `requests`; what shall go wrong, through `fail`.
    """

    def __init__(self, token: str | None = None, *, clock: Clock | None = None) -> None:
        self.token = token_for(BOT_ID) if token is None else token
        """What the bot must bring; hikari takes only tokens that begin with the bot's id."""
        self.clock: Clock = SystemClock() if clock is None else clock
        self.world = World(self.clock, bot_id_of(self.token))
        self.limits = Limits(self.clock)
        self._pulse = Pulse()
        self._address = Address()
        self._journal = Journal(self.clock, self._pulse.beat)
        self._faults = Faults()
        self._held = Held(self._pulse.beat)
        self._gateway = Gateway(self.world, self.token, self._address, self._pulse.beat)
        self._messages = MessageRoutes(self.world, self.clock, self._address)
        self.interactions = InteractionRoutes(self.world, self.clock, self._address)
        self._commands = CommandRoutes(self.world)
        self._attached: dict[int, Attachment] = {}
        self._runner: web.AppRunner | None = None
        self.world.listen(self._tell)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def start(self, port: int = 0) -> None:
        """Listen on 127.0.0.1, by default on a free port."""
        runner = web.AppRunner(
            self._application(), access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS
        )
        await runner.setup()
        self._runner = runner
        await web.TCPSite(runner, "127.0.0.1", port).start()
        self._address.port = runner.addresses[0][1]

    async def close(self) -> None:
        """Give up what hangs, end every connection, and stop listening."""
        if self._runner is None:
            return
        self._faults.clear()
        self._held.release(go_on=False)
        await self._gateway.close()
        await self._runner.cleanup()
        self._runner = None

    @property
    def api_url(self) -> str:
        """The API's address: hikari's `rest_url`."""
        return self._address.api

    @property
    def bot_user(self) -> User:
        """The bot's account; its id is the application's too."""
        return self.world.bot

    @property
    def requests(self) -> list[RecordedRequest]:
        """Every request that reached the server, oldest first."""
        return self._journal.requests

    @property
    def posts(self) -> list[RecordedRequest]:
        """The requests that post a message, by the bot or a webhook, oldest first."""
        return self._journal.posts

    @property
    def typing(self) -> list[tuple[ChannelId, float]]:
        """The typing indicators shown: channel and monotonic time, oldest first."""
        return self._messages.typing

    @property
    def held(self) -> int:
        """How many requests hang."""
        return len(self._held)

    @property
    def sessions(self) -> int:
        """How many gateway sessions have a connection."""
        return self._gateway.connected

    @property
    def resumed(self) -> int:
        """How often a gateway session was resumed."""
        return self._gateway.resumed

    def messages(self, channel_id: int) -> list[StoredMessage]:
        """Return the messages of a channel, oldest first."""
        return self.world.messages(channel_id)

    def registered_commands(self, guild_id: int | None = None) -> list[Command]:
        """Return the global commands, or a guild's own."""
        return self._commands.registered(guild_id)

    async def say(
        self,
        user: User,
        channel: Channel | int,
        content: str,
        *,
        reply_to: StoredMessage | int | None = None,
    ) -> StoredMessage:
        """Let a user write a message; `<@bot>` in it mentions the bot.

        Raises:
            RefusedError: Discord would not accept it.
        """
        place = self._channel(channel)
        reference = None
        if reply_to is not None:
            number = reply_to if isinstance(reply_to, int) else reply_to.id
            reference = Reference(message_id=str(number))
        text = content.replace("<@bot>", f"<@{self.world.bot.id}>")
        body = MessageBody(content=text, message_reference=reference)
        return self.world.store(compose(self.world, place, Origin(author=user), body, ()))

    async def command(
        self,
        user: User,
        channel: Channel | int,
        name: str,
        *,
        options: Mapping[str, OptionValue] | None = None,
        permissions: int = int(MEMBER_PERMISSIONS),
        timeout: float = 10.0,
    ) -> Invocation:
        """Let a user invoke a slash command; subcommands follow the name after a blank.

        Args:
            user: Who does.
            channel: Where.
            name: `stop`, or `config set`.
            options: Values by name; users, channels and roles by id, files as `attach` made them.
            permissions: What the user may do there. The command's own demand is not checked.
            timeout: Seconds to wait for the bot to register the command.

        Returns:
            What the bot answers: await its `response`, or its `form`.

        Raises:
            TimeoutError: The bot registers no such command.
            LookupError: The command has no such subcommand or option.
        """
        place = self._channel(channel)
        invoked = await self._invoked(place, name, options or {}, timeout)
        invocation = self.interactions.invoke(user, place)
        self._interact(
            command_json(self.world, invocation, invoked, permissions, self._address.files)
        )
        return invocation

    async def complete(
        self,
        user: User,
        channel: Channel | int,
        name: str,
        option: str,
        *,
        options: Mapping[str, OptionValue],
    ) -> Invocation:
        """Let a user look for choices of `option`; `options` is what stands there, it included.

        Returns:
            What the bot answers: await its `choices`.
        """
        place = self._channel(channel)
        invoked = replace(await self._invoked(place, name, options, 10.0), focused=option)
        invocation = self.interactions.invoke(user, place, AUTOCOMPLETE)
        permissions = int(MEMBER_PERMISSIONS)
        self._interact(
            command_json(self.world, invocation, invoked, permissions, self._address.files)
        )
        return invocation

    async def fill_in(
        self,
        user: User,
        channel: Channel | int,
        form: Form,
        values: Mapping[str, str],
        *,
        permissions: int = int(MEMBER_PERMISSIONS),
    ) -> Invocation:
        """Let a user send a form that the bot showed; fields not named stay as they were."""
        invocation = self.interactions.invoke(user, self._channel(channel), SUBMISSION)
        self._interact(submission_json(self.world, invocation, form, values, permissions))
        return invocation

    def attach(self, filename: str, content_type: str, data: bytes) -> Attachment:
        """Upload a file for an option of a command; Discord hands it out below its own address."""
        file = Attachment(
            id=self.world.new_id(), filename=filename, content_type=content_type, data=data
        )
        self._attached[file.id] = file
        return file

    async def _invoked(
        self, place: Channel, name: str, options: Mapping[str, OptionValue], timeout: float
    ) -> Invoked:
        first, *path = name.split()

        def is_registered() -> bool:
            return self._commands.find(first, place.guild_id) is not None

        await self.until(is_registered, timeout=timeout)
        command = self._commands.find(first, place.guild_id)
        assert command is not None, "it was there"
        return Invoked(command=command, path=tuple(path), options=options)

    def _interact(self, body: JsonObject) -> None:
        self._gateway.publish(Announcement(name="INTERACTION_CREATE", body=body))

    async def press(self, user: User, message: StoredMessage | int, custom_id: str) -> Invocation:
        """Let a user press a button below a message, as it stands there by now.

        Returns:
            What the bot answers: await its `response`.

        Raises:
            LookupError: There is no such message, or no such button that can be pressed.
        """
        number = message if isinstance(message, int) else message.id
        shown = self.world.posted(number)
        channel = self._channel(shown.channel_id)
        invocation = self.interactions.invoke(user, channel, COMPONENT)
        self._interact(press_json(self.world, invocation, shown, custom_id, self._address.files))
        return invocation

    def fail(self, fault: Fault) -> None:
        """Queue a fault for the next requests that fit it."""
        self._faults.add(fault)

    def heal(self) -> None:
        """Forget the faults that are still queued."""
        self._faults.clear()

    def release(self) -> None:
        """Let the requests that hang go on as if nothing had been."""
        self._held.release(go_on=True)

    async def disconnect(self, how: Cut = "close") -> None:
        """End all gateway connections; clients resume, or, invalidated, identify anew."""
        await self._gateway.disconnect(how)

    async def redeliver(self, message: StoredMessage) -> None:
        """Send the event of a message again, as a gateway may."""
        self._gateway.publish(self._created(message))

    async def until(self, predicate: Callable[[], bool], *, timeout: float | None = 10.0) -> None:
        """Return once `predicate` holds; it is asked again whenever anything happens here.

        Raises:
            TimeoutError: It does not within `timeout` seconds; None waits for ever.
        """
        try:
            await self._pulse.until(predicate, timeout)
        except TimeoutError as error:
            raise TimeoutError(
                f"not within {timeout} s: {len(self.requests)} requests, {self.held} held, "
                f"{self.sessions} sessions connected"
            ) from error

    async def until_ready(self, n: int = 1, *, timeout: float | None = 10.0) -> None:
        """Return once `n` gateway sessions have identified since the start.

        Raises:
            TimeoutError: They have not within `timeout` seconds; None waits for ever.
        """
        await self.until(lambda: self._gateway.identified >= n, timeout=timeout)

    def _application(self) -> web.Application:
        app = web.Application(client_max_size=BODY_LIMIT)
        webhooks = WebhookRoutes(self.world, self._address)
        tokens = TokenRoutes(self.world, webhooks, self.interactions)
        door = Door(
            token=self.token,
            clock=self.clock,
            journal=self._journal,
            faults=self._faults,
            limits=self.limits,
            held=self._held,
            locate=tokens.locate,
        )
        directory = DirectoryRoutes(self.world, self._address)
        # Fixed words such as @me and @original come before the names that would match them too.
        for source in (
            directory,
            self._messages,
            self._commands,
            self.interactions,
            webhooks,
            tokens,
        ):
            for route in source.routes():
                serve(door, route, app)
        app.router.add_get("/gateway", self._gateway.handle)
        app.router.add_get("/attachments/{channel}/{attachment}/{name}", self._file)
        nowhere = Route(
            method="*", path="/{rest:.*}", kind="lookup", handler=_nowhere, needs_token=False
        )
        serve(door, nowhere, app)
        return app

    async def _file(self, request: web.Request) -> web.Response:
        wanted = request.match_info["attachment"]
        attached = self._attached.get(int(wanted))
        if attached is not None:
            return web.Response(body=attached.data, content_type=attached.content_type)
        for message in self.world.messages(int(request.match_info["channel"])):
            for one in message.attachments:
                if str(one.id) == wanted:
                    return web.Response(body=one.data, content_type=one.content_type)
        raise web.HTTPNotFound

    def _channel(self, channel: Channel | int) -> Channel:
        return self.world.channels[channel] if isinstance(channel, int) else channel

    def _created(self, message: StoredMessage) -> Announcement:
        files = self._address.files
        return message_announcement(self.world, "MESSAGE_CREATE", message, files)

    def _tell(self, happening: Happening) -> None:
        announcement = announce(self.world, happening, self._address.files)
        if announcement is not None:
            self._gateway.publish(announcement)
        self._pulse.beat()


def _nowhere(call: Call) -> Reply:
    del call
    raise RefusedError(404, 0)
