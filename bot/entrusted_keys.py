"""The keys that guilds entrust to this bot: where they are kept, and which of them still count."""

import asyncio
from collections.abc import Collection

import structlog

from actors.credentials import CredentialError, CredentialStore
from bot.settings import Settings

_log = structlog.stdlib.get_logger(__name__)


def credentials_of(settings: Settings) -> CredentialStore:
    """Return the store of the keys that guilds entrust to the bot."""
    keys = tuple(key.reveal() for key in settings.credentials.secret_keys)
    return CredentialStore(settings.log.directory, keys)


async def tidy(store: CredentialStore, used: Collection[str]) -> None:
    """Delete keys that nobody refers to, and tell the operator of those that can't be read."""
    await asyncio.to_thread(store.tidy, used)
    for credential in used:
        try:
            await asyncio.to_thread(store.reveal, credential)
        except CredentialError as error:
            _log.error("stored_key_unusable", credential=credential, reason=str(error))
