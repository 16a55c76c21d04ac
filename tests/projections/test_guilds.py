"""What guilds have set, and what is in force because of it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from events.base import Event, GuildId, UserId
from events.settings import Persona, PersonaDefined, PersonaRemoved, SettingChanged
from events.turn import TurnSettings
from projections import guilds
from projections.fold import fold
from projections.guilds import Guild, Value, personas_of, settings_of
from tests.projections.histories import GUILD, History

ANN = UserId(7)
OTHER = GuildId(22)
FILE = (Persona(name="Main"), Persona(name="Mira", prompt="From the file."))


def defined(name: str, prompt: str = "") -> PersonaDefined:
    """Return a persona's definition."""
    return PersonaDefined(persona=Persona(name=name, prompt=prompt), by=ANN)


def removed(name: str) -> PersonaRemoved:
    """Return a persona's removal."""
    return PersonaRemoved(name=name, by=ANN)


def setting(name: str, value: Value | None, persona: str = "") -> SettingChanged:
    """Return a change of a setting."""
    return SettingChanged(setting=name, value=value, persona=persona, by=ANN)


def after(*events: Event) -> Guild:
    """Return what the guild has set after `events`."""
    state = fold(guilds.evolve, guilds.initial(), History().of_guild(*events).events)
    return state.get(GUILD, Guild())


def names(guild: Guild) -> list[str]:
    """Return the names in force."""
    return [one.name for one in personas_of(guild, FILE)]


changes = st.one_of(
    st.builds(defined, st.sampled_from(["Main", "mira", " Ren "]), st.sampled_from(["a", "b"])),
    st.builds(removed, st.sampled_from(["main", "Mira", "Ren"])),
    st.builds(
        setting,
        st.sampled_from(["live_streaming", "send_message_limit"]),
        st.sampled_from([None, True, False, 3]),
        st.sampled_from(["", "Mira", "ren"]),
    ),
)
histories = st.lists(st.tuples(changes, st.sampled_from([GUILD, OTHER])), max_size=12)


def history_of(drawn: list[tuple[Event, GuildId]]) -> History:
    """Return the history in which the drawn changes happen."""
    history = History()
    for event, guild_id in drawn:
        history.of_guild(event, guild=guild_id)
    return history


@given(drawn=histories, cut=st.integers(0, 12))
@settings(deadline=None)
def test_a_history_cut_anywhere_equals_the_whole(
    drawn: list[tuple[Event, GuildId]], cut: int
) -> None:
    """A router that was restarted must judge as the one that was not."""
    events = history_of(drawn).events
    before = fold(guilds.evolve, guilds.initial(), events[:cut])
    kept = repr(before)

    whole = fold(guilds.evolve, guilds.initial(), events)

    assert fold(guilds.evolve, before, events[cut:]) == whole
    assert repr(before) == kept


@given(drawn=histories)
@settings(deadline=None)
def test_a_repeat_changes_nothing(drawn: list[tuple[Event, GuildId]]) -> None:
    """A change whose acknowledgement was lost is written again."""
    once = fold(guilds.evolve, guilds.initial(), history_of(drawn).events)
    doubled = [one for pair in zip(drawn, drawn, strict=True) for one in pair]

    assert fold(guilds.evolve, guilds.initial(), history_of(doubled).events) == once


@given(drawn=histories)
@settings(deadline=None)
def test_the_main_persona_stays_first_and_names_stay_unique(
    drawn: list[tuple[Event, GuildId]],
) -> None:
    """Somebody always answers, and it is clear who."""
    state = fold(guilds.evolve, guilds.initial(), history_of(drawn).events)

    for guild in state.values():
        found = [guilds.key_of(one.name) for one in personas_of(guild, FILE)]
        assert found[0] == "main"
        assert len(found) == len(set(found))


def test_a_guilds_personas_stand_beside_the_files() -> None:
    """What a guild defines replaces its namesake in place, or comes last."""
    guild = after(defined("Ren"), defined("MIRA", "Ours."))

    assert names(guild) == ["Main", "MIRA", "Ren"]
    assert personas_of(guild, FILE)[1].prompt == "Ours."


def test_a_persona_that_is_removed_is_gone_and_its_settings_with_it() -> None:
    """A later one of the same name must not inherit what nobody remembers."""
    guild = after(
        defined("Ren"),
        setting("live_streaming", value=False, persona="ren"),
        removed("REN"),
        removed("mira"),
        defined("Ren"),
    )

    assert names(guild) == ["Main", "Ren"]
    assert settings_of(guild, TurnSettings(), "Ren").live_streaming


def test_a_personas_value_comes_before_the_guilds_and_that_before_the_files() -> None:
    """And what is taken back lets the next one through."""
    file = TurnSettings(send_message_limit=1)
    guild_only = (setting("send_message_limit", 2),)
    both = (*guild_only, setting("send_message_limit", 3, "Mira"))

    found = [
        settings_of(after(*events), file, "mira").send_message_limit
        for events in ((), guild_only, both, (*both, setting("send_message_limit", None, "MIRA")))
    ]

    assert found == [1, 2, 3, 2]
    assert settings_of(after(*both), file).send_message_limit == 2


def test_another_guilds_choice_holds_there_alone() -> None:
    """Two communities share one bot."""
    history = History().of_guild(setting("force_lowercase", value=True), guild=OTHER)

    state = fold(guilds.evolve, guilds.initial(), history.events)

    assert settings_of(state[OTHER], TurnSettings()).force_lowercase
    assert GUILD not in state


def test_what_todays_settings_do_not_know_counts_as_not_set() -> None:
    """A log outlives the settings that stand in it."""
    guild = after(
        setting("retired", value=True),
        setting("live_streaming", "perhaps"),
        setting("send_message_limit", value=True),
    )

    assert settings_of(guild, TurnSettings()) == TurnSettings()
