"""What holds for every stream with things left open, labels and details, however it is cut."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from actors.text import core
from events.base import UserId
from events.generation import STREAM_RULES
from events.scene import Participant, ServerEmoji
from tests.actors.text.streams import run

SNIPPETS = (
    *("(", ")", "[", "](", '"', "*", "**", "~~", "||", "「", "」", "-#", "-# ", "...", "?", ", "),
    *("\n", "\n\n", ". ", "。", " ", "word", "e.g. ", "x" * 300, "word " * 90, "\n| a | b |\n"),
    *(
        "|---|---|\n",
        "| 1 | 2 |\n",
        "```",
        "\n```\n",
        "`",
        "<details>",
        "</details>",
        "<th",
        "<det",
    ),
    *("Ren: ", "**Ren:** ", "Ren (mad): ", "Bob: ", "\nBob: ", "Lil (Ann): ", "!Ren: ", "</think>"),
    *(":mug: ", ":cat:", "<:mug:9>", "@Ann ", "@sam ", "[system: x]", "\n\n\n", "<|im_end|>", "S"),
)
texts = st.lists(st.sampled_from(SNIPPETS), max_size=40).map("".join)
configs = st.builds(
    core.TextConfig,
    live_streaming=st.booleans(),
    sentence_splitting=st.booleans(),
    limit=st.sampled_from((60, 1950)),
    persona=st.sampled_from(("", "Ren")),
    aliases=st.just(("Lil",)),
    participants=st.just(
        (Participant(names=("Bob",)), Participant(names=("Ann",), user_id=UserId(7)))
    ),
    sprites=st.just(("mad",)),
    stops_at_speakers=st.booleans(),
    empty_retries=st.sampled_from((0, 2)),
    uses_emojis=st.booleans(),
    emojis=st.sampled_from(((), (ServerEmoji(name="mug", emoji_id=1),))),
    worn_emojis=st.sampled_from(((), ("cat",))),
    prefill=st.sampled_from(("", "Sure: ")),
)


@settings(deadline=None)
@example(
    text="((\nBob: \n\n). ",
    config=core.TextConfig(
        sentence_splitting=True,
        participants=(Participant(names=("Bob",)),),
        stops_at_speakers=True,
        empty_retries=0,
    ),
    how="final",
)
@given(text=texts, config=configs, how=st.sampled_from(("final", "stop", "tool_call")))
def test_cuts_of_a_provider_change_nothing_about_what_is_held(
    text: str, config: core.TextConfig, how: core.How
) -> None:
    """Where a line is held depends on the text alone."""
    assert run(text, config, how) == run([text], config, how)


@settings(deadline=None)
@given(text=texts, config=configs, how=st.sampled_from(("final", "stop", "tool_call")))
def test_each_character_is_in_a_message_or_under_a_rule(
    text: str, config: core.TextConfig, how: core.How
) -> None:
    """What a rule removes has a name, and what it adds is never counted as received."""
    segments = run([text], config, how)

    at = 0
    for segment in segments:
        assert segment.start == at
        assert len(segment.text) == segment.end - segment.start
        sizes = [piece.size for piece in segment.pieces]
        rules = sum(n for rule, n in segment.withheld.items() if rule not in STREAM_RULES)
        assert sum(sizes) + rules == len(segment.text)
        assert all(size >= 0 for size in (*sizes, *segment.withheld.values()))
        for piece in segment.pieces:
            assert at <= piece.start < piece.end <= segment.end
            at = piece.end
        at = segment.end
    hidden = sum(n for one in segments for r, n in one.withheld.items() if r in STREAM_RULES)
    assert at + hidden == len(text)
