"""What is admitted and sent, by the vectors TD2-TD8 and TD30 of the specification."""

import pytest

from actors.decisions.questions import Question, encoded, endpoint, fault_of
from events.decisions import ApiStyle


def ask(*ids: str) -> list[Question]:
    """Return a question of each id."""
    return [Question(id=one, instructions="Is it?") for one in ids]


@pytest.mark.parametrize(
    ("ids", "is_admitted"),
    [
        pytest.param(["a"], True, id="TD2"),
        pytest.param(["a" * 64], True, id="TD2-64"),
        *[
            pytest.param([one], False, id=f"TD3-{one!r}")
            for one in ("a" * 65, "A1", "1a", "_a", "a-b", "abc\n", "")
        ],
        pytest.param(["a", "a"], False, id="TD4"),
        pytest.param([], False, id="TD5-0"),
        pytest.param([f"q{n}" for n in range(65)], False, id="TD5-65"),
        pytest.param([f"q{n}" for n in range(64)], True, id="TD6"),
    ],
)
def test_ids_are_few_distinct_and_plain(ids: list[str], is_admitted: bool) -> None:  # noqa: FBT001 - a test's parameter
    """They become keys of an object that somebody else's code reads."""
    assert (fault_of("evidence", ask(*ids)) is None) == is_admitted


@pytest.mark.parametrize(
    ("evidence", "instructions"),
    [
        pytest.param("\ud800", "x", id="TD8"),
        pytest.param("x", "\udfff", id="TD8-instructions"),
        pytest.param("", "x", id="empty"),
        pytest.param("x" * 2_000_001, "x", id="long"),
        pytest.param("x", "", id="no instructions"),
        pytest.param("x", "x" * 8_001, id="long instructions"),
    ],
)
def test_texts_that_cant_be_sent_are_refused(evidence: str, instructions: str) -> None:
    """Half a character has no UTF-8; what is too long would be cut."""
    fault = fault_of(evidence, [Question(id="q1", instructions=instructions)])

    assert fault is not None
    assert "\ud800" not in fault


def test_td7_the_body_is_compact_and_raw() -> None:
    """Its bytes are measured against the model's ceiling, so not one is wasted."""
    body = encoded("system-one", "acme/decide-1", "Ünïcode 🙂", ask("q1"))

    assert len(body) == 109
    assert body == encoded("openrouter-decisions", "acme/decide-1", "Ünïcode 🙂", ask("q1"))


def test_ordered_questions_are_a_list() -> None:
    """OpenAI Decisions answers by place."""
    body = encoded("openai-decisions", "m", "e", ask("b", "a"))

    assert body == (
        b'{"model":"m","input":"e","questions":['
        b'{"type":"predicate","name":"b","instructions":"Is it?"},'
        b'{"type":"predicate","name":"a","instructions":"Is it?"}]}'
    )


@pytest.mark.parametrize(
    ("style", "base", "url"),
    [
        ("openai-decisions", "https://gw.example/v1/", "https://gw.example/v1/decisions"),
        ("openai-decisions", "https://gw.example", "https://gw.example/v1/decisions"),
        (
            "openai-decisions",
            " https://gw.example/api?k=1#f",
            "https://gw.example/api/decisions?k=1",
        ),
        ("openai-decisions", "https://gw.example?k=1", "https://gw.example/v1/decisions?k=1"),
        ("system-one", "https://gw.example/", "https://gw.example/v1/systemone"),
        ("openrouter-decisions", "", "https://openrouter.ai/api/alpha/decisions"),
    ],
)
def test_td30_an_endpoint_is_found_below_its_base(style: ApiStyle, base: str, url: str) -> None:
    """People paste the base in many forms."""
    assert endpoint(style, base) == url
