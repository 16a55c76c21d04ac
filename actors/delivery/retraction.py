"""Withdrawing messages: recorded before and after, and brought to an end by whoever comes next.

Those of a failed request go so that another model may speak in their place, and the line that says
what is answered goes where the answer itself comes to be a reply.

The intent is recorded before the first deletion and the outcome after the last. A sender that dies
in between leaves an intent; its successor deletes again, which harms nothing: a message that is
gone already counts as deleted.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from actors.delivery.attempts import Attempts
from events.delivery import Receipt, Retraction
from events.errors import ConcurrencyError, FencedError


async def withdraw(
    attempts: Attempts,
    asked: Sequence[int],
    *,
    append: Callable[[Sequence[Retraction]], Awaitable[None]],
    delete: Callable[[Receipt], Awaitable[bool]],
) -> None:
    """Delete the messages that stand for `asked`, newest first, and record it.

    Nothing is deleted where the turn was taken over, or another sender speaks for it.
    """
    standing = attempts.standing(asked)
    ordinals = tuple(sorted(standing, reverse=True))
    if not ordinals:
        return
    with suppress(FencedError, ConcurrencyError):
        await append([Retraction(attempts=ordinals)])
        kept = [one for one in ordinals if not await delete(standing[one])]
        await append([Retraction(attempts=ordinals, is_done=True, kept=tuple(kept))])
