"""The configuration file: what it may say, and how its faults are named."""

import pickle
from pathlib import Path

import msgspec
import pytest
from cryptography.fernet import Fernet

from bot.secret import Secret
from bot.settings import MINIMAL_FILE, Settings, load
from bot.settings_errors import SettingsError
from events.turn import TurnSettings
from projections.guild_models import part_model

TOKEN = "MTIz.aBcDeF.made-up"
ENVIRON = {"DISCORD_TOKEN": TOKEN, "OPENAI_API_KEY": "made-up-key\n"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the file of a test goes."""
    return tmp_path / "rejoinder.toml"


def read(path: Path, text: str, environ: dict[str, str] | None = None) -> Settings:
    """Write `text` to `path` and load it."""
    path.write_text(text, encoding="utf-8")
    return load(path, ENVIRON if environ is None else environ)


def faults(path: Path, text: str, environ: dict[str, str] | None = None) -> dict[str, str]:
    """Return what is wrong with `text`: words by key."""
    with pytest.raises(SettingsError) as caught:
        read(path, text, environ)
    return {fault.key: str(fault) for fault in caught.value.faults}


def with_chat(*lines: str) -> str:
    """Return the minimal file with more lines under `[chat]`, its last table."""
    return MINIMAL_FILE + "\n".join(lines) + "\n"


def test_the_minimal_file_that_the_hint_shows_is_enough(path: Path) -> None:
    """A hint that does not work is worse than none."""
    settings = read(path, MINIMAL_FILE)

    assert settings.discord.token.reveal() == TOKEN
    assert settings.discord.api_url == "https://discord.com/api/v10"
    assert settings.providers["main"].api_keys == (Secret("made-up-key"),)
    assert settings.chat.turn_settings() == TurnSettings()
    assert [persona.name for persona in settings.personas] == ["Rejoinder"]
    assert (settings.chat.recover_within, settings.chat.drain_seconds) == (300, 30)
    assert (settings.chat.warm_actors, settings.chat.max_actors) == (2, 16)
    assert (settings.chat.turns_per_actor, settings.chat.history_messages) == (64, 30)


def test_every_key_of_the_contract_is_read(path: Path) -> None:
    """Outside programs write this file."""
    settings = read(
        path,
        """
        [discord]
        token = "MTIz.aBcDeF.made-up"
        api_url = "http://127.0.0.1:8080/api/v10/"
        [log]
        directory = "/var/lib/rejoinder"
        [ray]
        address = "127.0.0.1:6379"
        [providers.main]
        kind = "openai"
        base_url = { env = "BASE" }
        api_keys = ["one", { env = "TWO" }]
        [chat]
        model = "main/org/some-model"
        fallbacks = ["main/other"]
        live_streaming = false
        paced_messages = false
        sentence_splitting = true
        force_lowercase = true
        punctuation_splits = true
        send_message_limit = 5
        system_prompt = "Be brief."
        warm_actors = 9
        max_actors = 4
        turns_per_actor = 1
        recover_within = 60
        drain_seconds = 1.5
        history_messages = 0
        [[personas]]
        name = "Main"
        avatar = "https://images.example/main.png"
        triggers = ["main"]
        prompt = "You are kind."
        [personas.sprites]
        mad = "https://images.example/mad.png"
        [[personas]]
        name = "Alter"
        """,
        {"BASE": "https://models.example/v1/", "TWO": "two"},
    )

    assert settings.discord.api_url == "http://127.0.0.1:8080/api/v10"
    assert settings.log.directory == Path("/var/lib/rejoinder")
    assert settings.ray.address == "127.0.0.1:6379"
    assert settings.providers["main"].base_url == "https://models.example/v1"
    assert [key.reveal() for key in settings.providers["main"].api_keys] == ["one", "two"]
    assert settings.chat.turn_settings() == TurnSettings(
        live_streaming=False,
        paced_messages=False,
        sentence_splitting=True,
        force_lowercase=True,
        punctuation_splits=True,
        send_message_limit=5,
    )
    assert settings.chat.warm_actors == 4
    assert settings.personas[0].sprites == {"mad": "https://images.example/mad.png"}
    assert [persona.name for persona in settings.personas] == ["Main", "Alter"]


def test_a_relative_log_directory_lies_beside_the_file(path: Path) -> None:
    """The bot and the commands are started from different folders and must meet in one log."""
    settings = read(path, MINIMAL_FILE + '[log]\ndirectory = "here/it/is"\n')

    assert settings.log.directory == path.parent / "here" / "it" / "is"


def test_a_personas_images_lie_beside_the_file(path: Path) -> None:
    """The sender reads them from another folder, and perhaps minutes later."""
    (path.parent / "sprites").mkdir()
    for name in ("face.png", "sprites/mad.png"):
        (path.parent / name).write_bytes(b"image")
    lines = '[[personas]]\nname = "A"\navatar = "face.png"\nsprites.mad = "sprites/mad.png"\n'

    (persona,) = read(path, MINIMAL_FILE + lines).personas

    assert persona.avatar == str(path.parent / "face.png")
    assert persona.sprites == {"mad": str(path.parent / "sprites" / "mad.png")}


def test_images_that_are_not_there_are_named(path: Path) -> None:
    """A persona without a face is found at the start, not in front of people."""
    lines = '[[personas]]\nname = "A"\navatar = "face.png"\nsprites.mad = "http://x/mad.png"\n'

    found = faults(path, MINIMAL_FILE + lines)

    assert set(found) == {"personas[0].avatar", "personas[0].sprites.mad"}
    assert str(path.parent / "face.png") in found["personas[0].avatar"]


def test_the_first_slash_parts_a_provider_from_its_model() -> None:
    """Routers' model ids hold slashes of their own."""
    assert part_model("main/openai/gpt-5") == ("main", "openai/gpt-5")


def test_all_faults_are_named_at_once(path: Path) -> None:
    """Nobody wants to start a bot ten times to find ten faults."""
    found = faults(
        path,
        """
        top = 1
        [discord]
        tokn = "x"
        [log]
        directory = 3
        [providers.main]
        kind = "openai"
        base_url = "ftp://models.example"
        api_keys = [{ env = "NOWHERE" }]
        [chat]
        model = "man/x"
        max_actors = 0
        live_streaming = 1
        [[personas]]
        name = ""
        """,
    )

    assert set(found) == {
        "top",
        "discord.tokn",
        "discord.token",
        "log.directory",
        "providers.main.base_url",
        "providers.main.api_keys[0]",
        "chat.model",
        "chat.max_actors",
        "chat.live_streaming",
        "personas[0].name",
    }


@pytest.mark.parametrize(
    ("line", "key", "words"),
    [
        ("modle = 1", "chat.modle", 'unknown key, did you mean "model"?'),
        (
            "send_message_limit = -1",
            "chat.send_message_limit",
            "is -1; allowed: a whole number, at",
        ),
        ("send_message_limit = true", "chat.send_message_limit", "is true or false"),
        ("drain_seconds = nan", "chat.drain_seconds", "is nan; allowed: a number from 0 to 86400"),
        ("recover_within = inf", "chat.recover_within", "is inf"),
        ("history_messages = 101", "chat.history_messages", "from 0 to 100"),
        ("turns_per_actor = 0", "chat.turns_per_actor", "at least 1"),
        ("paced_messages = 'yes'", "chat.paced_messages", "is a string; allowed: true or false"),
        ("fallbacks = 'main/x'", "chat.fallbacks", "is a string; allowed: a list"),
        ("fallbacks = ['other/x']", "chat.fallbacks[0]", "allowed: the providers main"),
        ("fallbacks = ['main']", "chat.fallbacks[0]", '"main" names no model'),
        ("system_prompt = { env = 'NONE' }", "chat.system_prompt", "variable NONE is not set"),
        ("system_prompt = { file = 'x' }", "chat.system_prompt", "is a table; allowed: a string"),
    ],
)
def test_a_fault_names_its_key_what_is_wrong_and_what_is_allowed(
    path: Path, line: str, key: str, words: str
) -> None:
    """The contract of a wrong configuration."""
    found = faults(path, with_chat(line))

    assert set(found) == {key}
    assert found[key].startswith(f"{key}: ")
    assert words in found[key]
    assert "; allowed: " in found[key]


def test_what_has_no_gate_cant_be_let_inside(path: Path) -> None:
    """An operator who sets it expects it to matter."""
    written = MINIMAL_FILE.replace("api_keys =", "allow_private = true\napi_keys =")

    found = faults(path, written)

    assert found["providers.main.allow_private"].startswith(
        "providers.main.allow_private: has no effect; allowed: only where kind is custom"
    )


@pytest.mark.parametrize("kind", ["openai", "openrouter", "anthropic", "google", "custom"])
def test_every_wire_format_can_be_configured(path: Path, kind: str) -> None:
    """What the documentation names is what works."""
    settings = read(path, MINIMAL_FILE.replace('"openai"', f'"{kind}"'))

    assert settings.providers["main"].kind == kind


def test_a_misspelt_kind_is_told_what_there_is(path: Path) -> None:
    """Whoever errs by a letter should see it at once."""
    found = faults(path, MINIMAL_FILE.replace('"openai"', '"opneai"'))

    assert found["providers.main.kind"] == (
        'providers.main.kind: is "opneai"; allowed: anthropic, custom, google, openai, openrouter'
    )


@pytest.mark.parametrize(
    "url",
    [
        "models.example/v1",
        "https://",
        "https://u:p@models.example",
        "https://models.example/v1?key=x",
        "https://models.example:port/",
        "https://models.example/a b",
        "",
    ],
)
def test_a_bad_address_is_named_and_not_repeated(path: Path, url: str) -> None:
    """An address may hold credentials, which belong in no message."""
    found = faults(path, MINIMAL_FILE.replace("https://api.openai.com/v1", url))

    assert set(found) == {"providers.main.base_url"}
    assert not url or url not in found["providers.main.base_url"]


def test_personas_share_neither_names_nor_words(path: Path) -> None:
    """A word that asks two personas would ask one of them by chance."""
    found = faults(
        path,
        with_chat(
            "[[personas]]", 'name = "Mira"', 'triggers = ["hey"]',
            "[[personas]]", 'name = "MIRA"',
            "[[personas]]", 'name = "Other"', 'triggers = ["HEY", " "]',
        ),
    )  # fmt: skip

    assert set(found) == {"personas[1].name", "personas[2].triggers[0]", "personas[2].triggers[1]"}
    assert '"HEY" is a trigger of Mira too' in found["personas[2].triggers[0]"]


def test_a_missing_secret_names_its_variable_and_its_key(path: Path) -> None:
    """The one fault that every new operator meets."""
    found = faults(path, MINIMAL_FILE, {"OPENAI_API_KEY": " "})

    assert "environment variable DISCORD_TOKEN is not set" in found["discord.token"]
    assert "variable OPENAI_API_KEY is empty" in found["providers.main.api_keys[0]"]


def test_reading_the_log_takes_no_secrets(path: Path) -> None:
    """Analysts have the log and not the token."""
    path.write_text(MINIMAL_FILE.replace('token = { env = "DISCORD_TOKEN" }', ""))

    settings = load(path, {}, require_secrets=False)

    assert not settings.discord.token
    assert settings.log.directory == path.parent / "data"


def test_other_faults_count_without_secrets_too(path: Path) -> None:
    """A command on a misread file would answer from another log."""
    path.write_text(with_chat("max_actors = 0"))

    with pytest.raises(SettingsError, match=r"chat\.max_actors"):
        load(path, {}, require_secrets=False)


@pytest.mark.parametrize("token", ["not-a-token", "MTIz.a\nb", "MTIz.ü"])
def test_what_is_no_bot_token_is_refused_and_not_repeated(path: Path, token: str) -> None:
    """Discord would refuse it after minutes of starting up."""
    found = faults(path, MINIMAL_FILE, {**ENVIRON, "DISCORD_TOKEN": token})

    assert "is no bot token" in found["discord.token"]
    assert token not in found["discord.token"]


def test_a_secret_written_where_a_variables_name_belongs_is_not_repeated(path: Path) -> None:
    """A likely slip, and messages end up in bug reports."""
    found = faults(path, MINIMAL_FILE.replace("DISCORD_TOKEN", TOKEN))

    assert TOKEN not in found["discord.token"]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"[chat", "is not TOML"), (b"a = '\xff'", "is not UTF-8"), (None, "there is no such file")],
)
def test_a_file_that_cant_be_read_is_named(path: Path, content: bytes | None, words: str) -> None:
    """The path in the message is how an operator finds out that another file was meant."""
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(SettingsError) as caught:
        load(path, {})

    assert str(path) in str(caught.value)
    assert words in str(caught.value)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """Reading it fails by another error than a missing file."""
    with pytest.raises(SettingsError, match="can't be read"):
        load(tmp_path, {})


def test_no_secret_shows_in_what_is_printed(path: Path) -> None:
    """Settings get into tracebacks and debug output."""
    settings = read(path, MINIMAL_FILE)

    shown = f"{settings!r} {settings} {settings.discord.token}"

    assert TOKEN not in shown
    assert "made-up-key" not in shown
    with pytest.raises(TypeError):
        msgspec.json.encode(settings)


def test_settings_errors_survive_pickling(path: Path) -> None:
    """Every error crosses processes."""
    with pytest.raises(SettingsError) as caught:
        load(path, {})

    again = pickle.loads(pickle.dumps(caught.value))

    assert str(again) == str(caught.value)
    assert again.hint == caught.value.hint


def test_an_extension_is_on_by_its_table_and_off_without(path: Path) -> None:
    """Nobody's answers are capped unasked."""
    text = MINIMAL_FILE + '\n[extensions.budget]\nrequired = true\noptions = {guild_usd = "25"}\n'

    settings = read(path, text)

    assert read(path, MINIMAL_FILE).extensions == {}
    budget = settings.extensions["budget"]
    assert (budget.required, budget.options) == (True, {"guild_usd": "25"})


DECISIONS = """
[decisions.judge]
api_style = "system-one"
base_url = "https://judge.example/v1"
model = "judge-small"
input_tokens = 32000

[addressing]
model = "judge"
calibrated = "judge-small-1"
below = 0.15
"""


def test_a_decision_model_and_what_it_is_asked_are_read(path: Path) -> None:
    """Off unless the file names a model."""
    settings = read(path, MINIMAL_FILE + DECISIONS)

    assert settings.decisions["judge"].input_tokens == 32_000
    assert (settings.addressing.model, settings.addressing.below) == ("judge", 0.15)
    assert settings.addressing.seconds == 3
    assert read(path, MINIMAL_FILE).addressing.model == ""


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('"system-one"', '"chat"', "decisions.judge.api_style"),
        ('"system-one"', '"openrouter-decisions"', "decisions.judge.base_url"),
        ("https://judge.example/v1", "https://k:v@judge.example", "decisions.judge.base_url"),
        ("https://judge.example/v1", "", "decisions.judge.base_url"),
        ('"judge-small"', '""', "decisions.judge.model"),
        ("32000", "511", "decisions.judge.input_tokens"),
        ("input_tokens = 32000", "", "decisions.judge.input_tokens"),
        ('model = "judge"', 'model = "jury"', "addressing.model"),
        ("0.15", "0.0", "addressing.below"),
        ('"judge-small-1"', '""', "addressing.calibrated"),
    ],
)
def test_a_wrong_decision_model_names_its_key(path: Path, old: str, new: str, key: str) -> None:
    """A fault here would otherwise show as messages that stay unanswered, or as nothing at all."""
    found = faults(path, MINIMAL_FILE + DECISIONS.replace(old, new))

    assert list(found) == [key]


def test_the_keys_that_encrypt_come_from_the_environment_unless_the_file_names_them(
    path: Path,
) -> None:
    """Several, so that one can be replaced by another."""
    one, two = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    environ = ENVIRON | {"REJOINDER_SECRET_KEY": f"{one}, {two}"}

    assert read(path, MINIMAL_FILE).credentials.secret_keys == ()
    assert read(path, MINIMAL_FILE, environ).credentials.secret_keys == (Secret(one), Secret(two))
    named = MINIMAL_FILE + f'[credentials]\nsecret_keys = ["{two}"]\n'
    assert read(path, named, environ).credentials.secret_keys == (Secret(two),)


def test_a_key_that_cant_encrypt_is_a_fault_that_names_the_variable(path: Path) -> None:
    """Better at the start than when a member enters a key."""
    found = faults(path, MINIMAL_FILE, ENVIRON | {"REJOINDER_SECRET_KEY": "hunter2"})

    assert "REJOINDER_SECRET_KEY" in found["credentials.secret_keys[0]"]
    assert "hunter2" not in str(found)
