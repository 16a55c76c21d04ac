"""What passes for an answer, by the vectors TD10-TD18, TD32 and TD33 of the specification."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.decisions.answers import MalformedAnswerError, Verdict, judged, parsed, reported_usage
from events.generation import Usage

NAMED = '{{"model":"m","answers":{{"q1":{{"type":"noul","noul":{}}}}}}}'


def named(value: str) -> bytes:
    """Return a response whose one probability is `value`."""
    return NAMED.format(value).encode()


def is_malformed(body: bytes, *ids: str) -> bool:
    """Return whether a named response passes for no answer."""
    try:
        judged(parsed(body), "system-one", ids or ("q1",))
    except MalformedAnswerError:
        return True
    return False


@pytest.mark.parametrize(
    "value",
    [
        '"0.5"',
        "true",
        "null",
        "-0.01",
        "1.01",
        "1e999",
        "1e99999999999999999999",
        "NaN",
        "9" * 5000,
    ],
)
def test_td10_what_is_no_probability_is_malformed(value: str) -> None:
    """A threshold compared with it would give a verdict all the same."""
    assert is_malformed(named(value))


@pytest.mark.parametrize(("value", "probability"), [("0", 0), ("1", 1), ("1E0", 1), ("0.82", 0.82)])
def test_td11_numbers_in_any_spelling_count(value: str, probability: float) -> None:
    """JSON has one kind of number."""
    answers = judged(parsed(named(value)), "system-one", ["q1"])

    assert answers.verdicts == (Verdict(id="q1", probability=probability),)
    assert not answers.is_refused


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"model":"m","answers":{}}', id="TD12"),
        pytest.param(
            b'{"model":"m","answers":{"q1":{"type":"noul","noul":0},"\\u00711":{"type":"noul","noul":1}}}',
            id="TD13",
        ),
        pytest.param(
            b'{"model":"m","answers":{"q1":{"type":"noul","noul":0},"q2":{"type":"noul","noul":1}}}',
            id="TD14-extra",
        ),
        pytest.param(
            b'{"model":"m","answers":{"q1":{"type":"predicate","noul":0}}}', id="TD14-type"
        ),
        pytest.param(named("0").replace(b"}}}", b'}},"truncated":true}'), id="TD16"),
        pytest.param(
            named("0").replace(b"}}}", b'}},"usage":{"truncated":true}}'), id="TD16-usage"
        ),
        pytest.param(
            named("0").replace(b"}}}", b'}},"usage":{"state_tokens_dropped":5}}'), id="TD16-dropped"
        ),
        pytest.param(named("0").replace(b'"m"', b'""'), id="D23-model"),
        pytest.param(named("0").replace(b"}}}", b'}},"id":null}'), id="D23-id"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b"\xff", id="no UTF-8"),
        pytest.param(b"[]", id="no object"),
    ],
)
def test_what_does_not_answer_exactly_is_malformed(body: bytes) -> None:
    """Better no verdict than another question's."""
    assert is_malformed(body)


def test_td6_answers_come_in_the_order_of_the_questions() -> None:
    """An object has no order; the asker's has meaning."""
    ids = [f"q{n}" for n in range(64)]
    each = ",".join(f'"{one}":{{"type":"noul","noul":0.5}}' for one in reversed(ids))

    answers = judged(parsed(f'{{"model":"m","answers":{{{each}}}}}'.encode()), "system-one", ids)

    assert [verdict.id for verdict in answers.verdicts] == ids


ORDERED = (
    b'{"model":"judge","answers":[{"type":"predicate","name":"a","probability":0.97},'
    b'{"type":"refusal","name":"b"}],"usage":{"input_tokens":88,"output_tokens":2}}'
)


def test_td33_a_refusal_among_ordered_answers_keeps_both() -> None:
    """The asker may still use what was answered."""
    answers = judged(parsed(ORDERED), "openai-decisions", ["a", "b"])

    assert answers.is_refused
    assert [verdict.probability for verdict in answers.verdicts] == [0.97, None]


def test_td15_ordered_answers_that_are_swapped_are_malformed() -> None:
    """Their place is what says whose they are."""
    with pytest.raises(MalformedAnswerError):
        judged(parsed(ORDERED), "openai-decisions", ["b", "a"])


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        pytest.param('{"input_tokens":17,"output_tokens":2}', (17, 2, None), id="TD12"),
        pytest.param('{"cost":0.000001722}', (None, None, 1_722_000), id="cost"),
        pytest.param('{"cost":null,"input_tokens_details":null}', (None, None, None), id="D24"),
    ],
)
def test_usage_is_read_whatever_the_verdict(usage: str, expected: tuple[int | None, ...]) -> None:
    """It is paid for."""
    found = reported_usage(parsed(f'{{"usage":{usage}}}'.encode()))

    assert found is not None
    assert (found.input_tokens, found.output_tokens, found.cost_pico) == expected


@pytest.mark.parametrize(
    "usage",
    [
        '{"input_tokens":-1}',
        '{"input_tokens":1.5}',
        '{"cost":"1"}',
        '{"cost":-1}',
        "[]",
        '{"output_tokens_details":0}',
    ],
)
def test_td17_impossible_usage_is_malformed(usage: str) -> None:
    """Spend is then unknown, never guessed."""
    with pytest.raises(MalformedAnswerError):
        reported_usage(parsed(f'{{"usage":{usage}}}'.encode()))


@pytest.mark.parametrize("body", [b"{}", b'{"usage":null}'])
def test_td18_usage_that_is_absent_is_unknown(body: bytes) -> None:
    """Unknown is no zero."""
    assert reported_usage(parsed(body)) is None
    assert reported_usage(parsed(b'{"usage":{}}')) == Usage()


@pytest.mark.parametrize(
    ("headers", "request_id"), [((), "ok-1"), (("x" * 201,), "ok-1"), (("", "h:1"), "h:1")]
)
def test_td32_the_first_usable_request_id_counts(headers: tuple[str, ...], request_id: str) -> None:
    """An operator asks the provider by it."""
    body = named("0").replace(b"}}}", b'}},"id":"ok-1"}')

    assert judged(parsed(body), "system-one", ["q1"], headers).request_id == request_id


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_judged_without_another_error(body: bytes) -> None:
    """A parser's own exception would quote the body."""
    with pytest.raises(MalformedAnswerError) as caught:
        judged(parsed(body), "openai-decisions", ["q1"])

    assert len(str(caught.value)) < 40
    assert caught.value.__cause__ is None
