"""The credential store on a real disk."""

import stat
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from actors.credentials import FOLDER, VARIABLE, CredentialError, CredentialStore

KEY = "sk-guild-4711-very-secret"
FIRST, SECOND = Fernet.generate_key().decode(), Fernet.generate_key().decode()


def test_a_key_comes_back_and_stands_nowhere_in_the_clear(tmp_path: Path) -> None:
    """A copy of the log directory must give nothing away, nor may another account read it."""
    store = CredentialStore(tmp_path, (FIRST,))

    credential = store.keep(KEY)

    (path,) = (tmp_path / FOLDER).iterdir()
    assert CredentialStore(tmp_path, (FIRST,)).reveal(credential) == KEY
    assert KEY.encode() not in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert FIRST not in repr(store)


def test_without_a_secret_key_the_operator_is_told_what_to_set(tmp_path: Path) -> None:
    """The feature is off until then, and nothing is written."""
    with pytest.raises(CredentialError, match=VARIABLE):
        CredentialStore(tmp_path).keep(KEY)

    assert not (tmp_path / FOLDER).exists()


def test_a_wrong_secret_key_is_told_by_the_name_of_its_variable(tmp_path: Path) -> None:
    """An operator who restored a backup has to know where to look."""
    credential = CredentialStore(tmp_path, (FIRST,)).keep(KEY)

    with pytest.raises(CredentialError, match=VARIABLE) as caught:
        CredentialStore(tmp_path, (SECOND,)).reveal(credential)

    assert FIRST not in str(caught.value)
    assert SECOND not in str(caught.value)


def test_a_rotated_secret_key_reads_what_the_old_one_wrote_and_then_replaces_it(
    tmp_path: Path,
) -> None:
    """The old one can be dropped after one start."""
    credential = CredentialStore(tmp_path, (FIRST,)).keep(KEY)
    both = CredentialStore(tmp_path, (SECOND, FIRST))
    assert both.reveal(credential) == KEY

    both.tidy({credential})

    assert CredentialStore(tmp_path, (SECOND,)).reveal(credential) == KEY


@pytest.mark.parametrize("length", [0, 1, 40])
def test_a_torn_file_is_no_key(tmp_path: Path, length: int) -> None:
    """Half a key must not be sent anywhere."""
    store = CredentialStore(tmp_path, (FIRST,))
    credential = store.keep(KEY)
    path = tmp_path / FOLDER / credential
    path.write_bytes(path.read_bytes()[:length])

    with pytest.raises(CredentialError, match="damaged"):
        store.reveal(credential)


def test_one_guilds_file_is_no_key_of_another(tmp_path: Path) -> None:
    """Whoever can move files must not be able to let one guild pay for another."""
    store = CredentialStore(tmp_path, (FIRST,))
    ours, theirs = store.keep(KEY), store.keep("sk-theirs")
    (tmp_path / FOLDER / theirs).replace(tmp_path / FOLDER / ours)

    with pytest.raises(CredentialError):
        store.reveal(ours)


def test_what_nobody_refers_to_is_deleted(tmp_path: Path) -> None:
    """A bot that was killed between an event and a file leaves keys that nobody can delete."""
    store = CredentialStore(tmp_path, (FIRST,))
    used, orphan = store.keep(KEY), store.keep("sk-left-behind")
    (tmp_path / FOLDER / ".torn").write_bytes(b"gAAAA")

    store.tidy({used})

    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == [used]
    with pytest.raises(CredentialError):
        store.reveal(orphan)


def test_a_key_can_be_forgotten_twice(tmp_path: Path) -> None:
    """Whoever removes a provider may be asked again."""
    store = CredentialStore(tmp_path, (FIRST,))
    credential = store.keep(KEY)

    store.forget(credential)
    store.forget(credential)

    with pytest.raises(CredentialError, match="not in the store"):
        store.reveal(credential)
