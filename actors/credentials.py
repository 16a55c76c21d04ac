"""The keys that guilds entrust to the bot, encrypted at rest, each in a file of its own.

Events name a key by a random id and never hold it. A file is written once, whole or not at all, and
its text says which id it belongs to, so that two files can't be exchanged for one another. What
encrypts is not in the log directory: it comes from the environment, so that a copy of the directory
gives nothing away. Several such keys may be named, the first of which encrypts: what another one
has encrypted is encrypted anew at the bot's start, so that a key can be replaced.

Everything here touches the disk; call it from a thread.
"""

import os
import secrets
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from typing_extensions import override

from actors.errors import RefusalError

VARIABLE: Final = "REJOINDER_SECRET_KEY"
"""The environment variable that holds the keys that encrypt, parted by commas."""
FOLDER: Final = "credentials"
"""The store's folder, in the log directory."""

_ID_BYTES: Final = 16
_BETWEEN: Final = "\n"


class CredentialError(RefusalError):
    """A stored key can't be had, or none can be stored; its text says what the operator can do."""


def is_secret_key(text: str) -> bool:
    """Return whether `text` is a key that can encrypt: 32 bytes in URL-safe base64."""
    try:
        Fernet(text)
    except ValueError:
        return False
    return True


class CredentialStore:
    """Keeps keys under ids."""

    def __init__(self, directory: Path, secret_keys: tuple[str, ...] = ()) -> None:
        """Name the place; nothing is read or written yet.

        Args:
            directory: The log directory.
            secret_keys: The keys that encrypt, the first of them what is stored from here on.
        """
        self._folder = directory / FOLDER
        self._secret_keys = secret_keys

    @override
    def __repr__(self) -> str:
        return f"CredentialStore({str(self._folder)!r})"

    @property
    def is_open(self) -> bool:
        """Whether keys can be stored: there is something to encrypt them with."""
        return bool(self._secret_keys)

    def keep(self, value: str) -> str:
        """Store a key; return its id once it is durable.

        Raises:
            CredentialError: There is nothing to encrypt it with, or the disk refuses it.
        """
        cipher = self._cipher()
        credential = secrets.token_urlsafe(_ID_BYTES)
        token = cipher.encrypt(f"{credential}{_BETWEEN}{value}".encode())
        try:
            self._write(credential, token)
        except OSError as error:
            raise CredentialError(f"the key can't be stored: {error.strerror}") from error
        return credential

    def reveal(self, credential: str) -> str:
        """Return a stored key.

        Raises:
            CredentialError: It is not there, or can't be decrypted.
        """
        cipher = self._cipher()
        try:
            token = (self._folder / credential).read_bytes()
        except OSError as error:
            raise CredentialError("the key is not in the store any more") from error
        try:
            owner, _, value = cipher.decrypt(token).decode().partition(_BETWEEN)
        except (InvalidToken, UnicodeDecodeError):
            owner = value = ""
        if owner != credential:
            raise CredentialError(
                f"the stored key can't be decrypted: {VARIABLE} is not what it was stored with, "
                "or its file is damaged"
            )
        return value

    def forget(self, credential: str) -> None:
        """Delete a key; one that is not there is no error."""
        (self._folder / credential).unlink(missing_ok=True)

    def tidy(self, used: Collection[str]) -> None:
        """Delete what nobody refers to any more, and encrypt the rest with the first secret key.

        A bot that is killed between a file and its event, or an event and its file, leaves such.
        """
        if not self._folder.is_dir():
            return
        for path in self._folder.iterdir():
            if path.name not in used:
                path.unlink(missing_ok=True)
            elif len(self._secret_keys) > 1:
                self._renew(path)

    def _renew(self, path: Path) -> None:
        try:
            token = self._cipher().rotate(path.read_bytes())
        except InvalidToken:
            return  # whoever needs it is told
        self._write(path.name, token)

    def _cipher(self) -> MultiFernet:
        if not self._secret_keys:
            raise CredentialError(
                f"the bot's operator has to set {VARIABLE} before keys can be stored; "
                "`openssl rand -base64 32 | tr +/ -_` makes a value"
            )
        return MultiFernet([Fernet(one) for one in self._secret_keys])

    def _write(self, credential: str, token: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Readable by its owner alone from the first byte on.
        handle, name = tempfile.mkstemp(dir=self._folder, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(token)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self._folder / credential)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
