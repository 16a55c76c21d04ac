"""Where a stream is flushed."""

import pytest

from actors.text import core
from tests.actors.text.streams import posts, run

CASES = [
    pytest.param(
        ["Hi ", "there\n", "How are you"],
        [("newline", "Hi there\n"), ("final", "How are you")],
        id="V1",
    ),
    pytest.param(["One. Two"], [("final", "One. Two")], id="V2"),
    pytest.param(
        ["we won :)\nsecond line"],
        [("newline", "we won :)\n"), ("final", "second line")],
        id="V7",
    ),
    pytest.param(
        ["see ```py\nx=1\n", "```\ndone\nok"],
        [
            ("code_open", "see "),
            ("code_close", "```py\nx=1\n```"),
            ("newline", "\n"),
            ("newline", "done\n"),
            ("final", "ok"),
        ],
        id="V11",
    ),
    pytest.param(
        ["text ``", "`py\nx\n``", "`\nend"],
        [
            ("code_open", "text "),
            ("code_close", "```py\nx\n```"),
            ("newline", "\n"),
            ("final", "end"),
        ],
        id="V12",
    ),
    pytest.param(
        ["text ``", "`py\nx``", "`\nend"],
        [("code_open", "text "), ("final", "```py\nx```\nend")],
        id="V12-D21-closes-only-at-the-start-of-a-line",
    ),
    pytest.param(
        ["a\n\n\nb\nc"],
        [
            ("newline", "a\n"),
            ("newline", "\n"),
            ("newline", "\n"),
            ("newline", "b\n"),
            ("final", "c"),
        ],
        id="V16",
    ),
    pytest.param(["x <b"], [("final", "x <b")], id="V18"),
    pytest.param(
        ["a" * 2500],
        [("overflow", "a" * 1000), ("overflow", "a" * 1000), ("final", "a" * 500)],
        id="V20",
    ),
    pytest.param(
        ["a" * 980 + ". " + "b" * 300],
        [("overflow", "a" * 980 + "."), ("final", " " + "b" * 300)],
        id="V21",
    ),
    pytest.param(
        ["a" * 1100 + ". " + "b" * 300],
        [("overflow", "a" * 1100 + "."), ("final", " " + "b" * 300)],
        id="V22",
    ),
    pytest.param(
        ["a" * 1199 + ". " + "b" * 300],
        [("overflow", "a" * 1199 + "."), ("final", " " + "b" * 300)],
        id="T21-farthest-forth",
    ),
    pytest.param(
        ["a" * 1190 + "``` foo-bar-baz\nbar\nend"],
        [
            ("overflow", "a" * 1190 + "``` "),
            ("newline", "foo-bar-baz\n"),
            ("newline", "bar\n"),
            ("final", "end"),
        ],
        id="T20-a-fence-that-was-cut-off-opens-nothing",
    ),
    pytest.param(["abc", "abc"], [("final", "abcabc")], id="V27"),
    pytest.param(["```py\nx=1"], [("final", "```py\nx=1")], id="V32"),
    pytest.param(
        ["ha", "ha", " 9", "9", "\n", "\n", "x"],
        [("newline", "haha 99\n"), ("newline", "\n"), ("final", "x")],
        id="B38",
    ),
    pytest.param(["```\na\n```"], [("code_close", "```\na\n```")], id="T14-closed-by-the-end"),
    pytest.param(
        ["````md\n```\nin\n```\n````\nout"],
        [("code_close", "````md\n```\nin\n```\n````"), ("newline", "\n"), ("final", "out")],
        id="D21-longer-fence",
    ),
    pytest.param(
        ["```\na ``` b\n```"], [("code_close", "```\na ``` b\n```")], id="D21-only-at-line-start"
    ),
    pytest.param(
        ["use ```x``` so\nend"],
        [("newline", "use ```x``` so\n"), ("final", "end")],
        id="D21-inline-is-no-fence",
    ),
    pytest.param(
        ["> ```\n> a\n> ```\nb"],
        [("code_close", "> ```\n> a\n> ```"), ("newline", "\n"), ("final", "b")],
        id="quoted-fence",
    ),
    pytest.param(
        ["1. x\n   ```\n   a\n   ```\nb"],
        [
            ("newline", "1. x\n"),
            ("code_close", "   ```\n   a\n   ```"),
            ("newline", "\n"),
            ("final", "b"),
        ],
        id="indented-fence",
    ),
]


@pytest.mark.parametrize(("chunks", "expected"), CASES)
def test_a_live_stream_is_flushed_at(chunks: list[str], expected: list[tuple[str, str]]) -> None:
    """People read along, so whatever is complete leaves at once."""
    assert [(one.boundary, one.text) for one in run(chunks)] == expected


def test_v1_a_line_waits_for_what_follows_it() -> None:
    """What follows may belong to the line, so its newline alone does not end it."""
    state = core.initial(core.TextConfig())

    state, early = core.step(state, "Hi there\n")
    state, late = core.step(state, "H")

    assert early == ()
    assert [segment.text for segment in late] == ["Hi there\n"]


def test_t15_a_closed_block_leaves_once_its_fence_is_whole() -> None:
    """A block must not wait for the end of the answer."""
    state = core.initial(core.TextConfig())

    state, _ = core.step(state, "```\na\n```")
    _, segments = core.step(state, "\n")

    assert [segment.boundary for segment in segments] == ["code_close"]


def test_v32_d20_a_fence_left_open_is_closed_in_its_message() -> None:
    """An open fence would show the code as prose."""
    assert posts(["```py\nx=1"]) == ["```py\nx=1\n```"]


def test_t14_d22_an_endless_block_goes_on_behind_a_reopened_fence() -> None:
    """Memory is bounded, and the second half is still code."""
    lines = "".join(f"value_{i} = compute({i})\n" for i in range(1_000))

    segments = run(["intro\n```py\n" + lines + "```\nend"])

    overflow, rest = segments[1], segments[2]
    assert (overflow.boundary, rest.boundary) == ("overflow", "code_close")
    assert len(overflow.text) <= 15_000
    assert overflow.text.endswith(")\n")
    assert all(
        piece.content.startswith("```py\n") and piece.content.endswith("\n```")
        for piece in (*overflow.pieces, *rest.pieces)
    )


def test_aggregated_text_leaves_at_the_end() -> None:
    """With live streaming off an answer is one post where it fits."""
    segments = run(["One.\n\nTwo.\n"], core.TextConfig(live_streaming=False))

    assert [(one.boundary, one.text) for one in segments] == [("final", "One.\n\nTwo.\n")]
    assert [piece.content for piece in segments[0].pieces] == ["One.\n\nTwo."]


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("text", ["word " * 60_000, "```\n" + "x = 1\n" * 50_000, "`" * 200_000])
def test_no_stream_is_held_in_memory_without_bound(text: str, live: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """A model that never ends must not fill a process that other turns share."""
    state = core.initial(core.TextConfig(live_streaming=live))

    most = 0
    for at in range(0, len(text), 1_000):
        state, _ = core.step(state, text[at : at + 1_000])
        most = max(most, state.pending)

    assert most <= 65_537
    assert len(state.buffer.parts) <= 20


@pytest.mark.parametrize("how", ["stop", "tool_call", "error"])
def test_t24_a_stream_that_did_not_end_by_itself_flushes_the_rest(how: core.How) -> None:
    """What a model has said may still be delivered."""
    segments = run(["Hello wor"], how=how)

    assert [(one.boundary, one.text) for one in segments] == [("tool_call", "Hello wor")]


def test_v33_what_is_discarded_is_counted_by_rule() -> None:
    """A follow-up drops the rest of the answer, and the turn must still balance."""
    state = core.initial(core.TextConfig())
    state, _ = core.step(state, "Hello wor<think>mm</think>ld<thi")

    state, dropped = core.discard(state, "stop")

    assert dropped == {"stop": 15, "reasoning": 17}
    assert state.pending == 0
    assert core.finish(state, "final")[1] == ()


def test_a_finished_stream_gives_nothing_more() -> None:
    """A recovery ends the text again, whether or not that was done before the crash."""
    state, _ = core.step(core.initial(core.TextConfig()), "Hi")
    state, _ = core.finish(state, "final")

    assert core.finish(state, "final") == (state, ())


def test_offsets_go_on_over_the_streams_of_a_turn() -> None:
    """The flushes of a turn join without a gap, whichever request they came from."""
    state, _ = core.step(core.initial(core.TextConfig()), "```\nleft open")
    state, first = core.finish(state, "error")
    state, _ = core.step(state, "next")
    _, second = core.finish(state, "final")

    assert (first[-1].end, second[0].start, second[0].end) == (13, 13, 17)
    assert [piece.content for piece in second[0].pieces] == ["next"]


def test_a_flush_is_recorded_as_it_left() -> None:
    """The log holds what was cut, in the words of the vocabulary."""
    segment = run(["Hi\n", "x"])[0]

    flush = core.flush_event(segment, 7)

    assert (flush.flush, flush.text, flush.boundary) == (7, "Hi\n", "newline")
    assert (flush.start, flush.end, flush.pieces, flush.withheld) == (
        0,
        3,
        segment.pieces,
        {"blank": 1},
    )
