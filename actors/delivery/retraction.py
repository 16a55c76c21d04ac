"""Withdrawing messages of a failed request, so that another model may speak in their place.

The intent is recorded before the first deletion and the outcome after the last. A sender that dies
in between leaves an intent; its successor deletes again, which harms nothing: a message that is
gone already counts as deleted.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from actors.delivery.attempts import Attempts
from actors.ports import Sent
from events.base import MessageId
from events.delivery import Retraction
from events.errors import ConcurrencyError, FencedError


async def withdraw(
    attempts: Attempts,
    asked: Sequence[int],
    *,
    append: Callable[[Sequence[Retraction]], Awaitable[None]],
    delete: Callable[[MessageId], Awaitable[bool]],
) -> None:
    """Delete the messages that stand for `asked`, newest first, and record it.

    Nothing is deleted where the turn was taken over, or another sender speaks for it.
    """
    standing = {one.attempt: one for one in attempts.results if isinstance(one, Sent)}
    ordinals = tuple(one for one in sorted(asked, reverse=True) if one in standing)
    if not ordinals:
        return
    with suppress(FencedError, ConcurrencyError):
        await append([Retraction(attempts=ordinals)])
        kept = [one for one in ordinals if not await delete(standing[one].message_id)]
        await append([Retraction(attempts=ordinals, is_done=True, kept=tuple(kept))])
