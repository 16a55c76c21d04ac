"""The world outside of a bot: Discord and a provider on loopback, and questions to ask there."""

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from bot.loopback.discord.entities import Channel, StoredMessage, User
from bot.loopback.discord.server import LoopbackDiscord
from bot.loopback.provider import LoopbackProvider
from bot.loopback.script import Answer, say
from events.base import ChannelId, GuildId, MessageId, TriggerId, UserId
from events.turn import TriggerReceived


class Outside:
    """Everything that no bot controls."""

    def __init__(self) -> None:
        self.discord = LoopbackDiscord()
        self.provider = LoopbackProvider(self._respond)
        self.guild_id = GuildId(0)
        self.ann: User
        self._answers: dict[str, list[Answer]] = {}
        self._channels = 0

    async def __aenter__(self) -> Self:
        await self.discord.start()
        await self.provider.__aenter__()
        self.guild_id = GuildId(self.discord.world.add_guild(name="Rejoinder HQ").id)
        self.ann = self.discord.world.add_user("Ann")
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.discord.release()
        await self.provider.__aexit__()
        await self.discord.close()

    def channel(self) -> Channel:
        """Return a channel that nobody has spoken in."""
        self._channels += 1
        return self.discord.world.add_channel(self.guild_id, name=f"channel-{self._channels}")

    def answer(self, question: str, *answers: Answer) -> None:
        """Have the provider answer `question` so, each time it is asked with the next one."""
        self._answers[question] = list(answers)

    def _respond(self, body: dict[str, Any]) -> Answer:
        asked = str(body["messages"][-1]["content"])
        for question, answers in self._answers.items():
            if asked.endswith(question):
                return answers.pop(0) if len(answers) > 1 else answers[0]
        return say("I do not know.")

    async def ask(self, channel: Channel, question: str) -> StoredMessage:
        """Let Ann mention the bot."""
        return await self.discord.say(self.ann, channel, f"<@bot> {question}")

    async def trigger(self, channel: Channel, question: str) -> TriggerReceived:
        """Let Ann ask, and return the trigger that a gateway makes of it."""
        message = await self.discord.say(self.ann, channel, question)
        return TriggerReceived(
            trigger_id=TriggerId(str(message.id)),
            trigger="mention",
            channel_id=ChannelId(channel.id),
            guild_id=self.guild_id,
            message_id=MessageId(message.id),
            author_id=UserId(self.ann.id),
            author_name="Ann",
            content=question,
            persona="Rejoinder",
        )

    def said(self, channel: Channel) -> Sequence[str]:
        """Return what the bot has said in the channel, oldest first."""
        own = self.discord.bot_user.id
        messages = self.discord.messages(channel.id)
        return [one.content for one in messages if one.author.id == own]
