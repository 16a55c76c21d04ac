"""Whom a message notifies: the mentions of its text, as far as its author allowed them."""

import re

from bot.loopback.discord.entities import (
    AllowedMentions,
    Guild,
    Pings,
    RoleId,
    StoredMessage,
    User,
)
from bot.loopback.discord.refusals import invalid
from events.base import UserId

EVERYTHING = AllowedMentions(parse=("users", "roles", "everyone"), replied_user=True)
"""What Discord assumes where the field is left out."""

_USER = re.compile(r"<@!?(\d+)>")
_ROLE = re.compile(r"<@&(\d+)>")
_EVERYONE = re.compile(r"@(?:everyone|here)\b")
_MOST_IDS = 100


def check_allowed_mentions(allowed: AllowedMentions) -> None:
    """Refuse what Discord refuses of the field.

    Raises:
        RefusedError: 400/50035, an unknown kind, a kind both parsed and listed, or a bad list.
    """
    for kind in allowed.parse:
        if kind not in EVERYTHING.parse:
            raise invalid("allowed_mentions.parse", "BASE_TYPE_CHOICES", f"no such kind: {kind}")
    for kind, ids in (("users", allowed.users), ("roles", allowed.roles)):
        if ids and kind in allowed.parse:
            raise invalid(
                "allowed_mentions",
                "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
                f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.',
            )
        if len(set(ids)) != len(ids):
            raise invalid(f"allowed_mentions.{kind}", "SET_TYPE_ALREADY_CONTAINS_VALUE", "repeated")
        if len(ids) > _MOST_IDS:
            raise invalid(f"allowed_mentions.{kind}", "BASE_TYPE_MAX_LENGTH", "at most 100")


def pings_of(
    content: str,
    allowed: AllowedMentions | None,
    *,
    users: dict[int, User],
    guild: Guild | None,
    source: StoredMessage | None,
) -> Pings:
    """Return whom `content` notifies; ids that name nobody notify nobody."""
    allowed = EVERYTHING if allowed is None else allowed
    named = [int(one) for one in _USER.findall(content)]
    pinged = [
        UserId(one)
        for one in dict.fromkeys(named)
        if one in users and ("users" in allowed.parse or str(one) in allowed.users)
    ]
    if source is not None and allowed.replied_user and source.author.id in users:
        pinged = [one for one in pinged if one != source.author.id] + [source.author.id]
    known: set[RoleId] = set() if guild is None else {role.id for role in guild.roles}
    roles = [
        one
        for one in dict.fromkeys(RoleId(int(found)) for found in _ROLE.findall(content))
        if one in known and ("roles" in allowed.parse or str(one) in allowed.roles)
    ]
    return Pings(
        users=tuple(pinged),
        roles=tuple(roles),
        everyone="everyone" in allowed.parse and _EVERYONE.search(content) is not None,
    )
