"""Discord's mentions of users, put into the names that people read."""

import re
from collections.abc import Mapping
from typing import Final

USER_MENTION: Final = re.compile(r"<@!?(\d{1,20})>")
"""A mention, the user's id in it."""


def with_names(content: str, names: Mapping[int, str]) -> str:
    """Return `content` with `@name` for each mention of a user whose name is known, by id."""
    return USER_MENTION.sub(
        lambda found: f"@{names[int(found[1])]}" if int(found[1]) in names else found[0], content
    )
