"""What people are told when an answer does not come."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.notices import UNKNOWN_CODE, provider_notice, safe_code
from events.generation import ErrorType

ERROR_TYPES: tuple[ErrorType, ...] = get_args(ErrorType)


@pytest.mark.parametrize(
    "code",
    ["401", "503", "429_balance", "404_model", "connection_lost", "timeout", "ECONNREFUSED", "DNS"],
)
def test_p118_a_status_or_a_single_case_word_is_shown(code: str) -> None:
    """An operator who gets a screenshot can tell what happened."""
    assert safe_code(code) == code


@pytest.mark.parametrize(
    "code",
    [
        "",
        "999",
        "14000",
        "Invalid key",
        "sk-proj-abc123",
        "abc123def456",
        "MixedCase",
        "@everyone",
        "503\n",
        "503`",
        "a" * 41,
    ],
)
def test_p118_every_other_code_is_unknown(code: str) -> None:
    """A code that a provider made up may be prose, or a key."""
    assert safe_code(code) == UNKNOWN_CODE


@pytest.mark.parametrize("error", ERROR_TYPES)
def test_p118_each_class_has_a_sentence_and_a_code(error: ErrorType) -> None:
    """A class without words would show people an exception's name."""
    assert provider_notice(error, "503").endswith(". (`503`)")


def test_p118_classes_differ_in_words() -> None:
    """Else the class would be of no use to those who read it."""
    assert len({provider_notice(error, "x") for error in ERROR_TYPES}) == len(ERROR_TYPES)


@pytest.mark.parametrize(
    ("code", "words"),
    [("401", "key"), ("402", "credit"), ("429_balance", "credit"), ("DNS", "can't be reached")],
)
def test_codes_that_say_more_than_their_class_have_words_of_their_own(
    code: str, words: str
) -> None:
    """`api_error` alone would not tell an empty account from a bad request."""
    assert words in provider_notice("api_error", code)


@given(st.sampled_from(ERROR_TYPES), st.text())
def test_c72_nothing_of_an_upstream_text_is_shown(error: ErrorType, prose: str) -> None:
    """Upstream prose can echo prompts and secrets, and would be read back as conversation."""
    shown = provider_notice(error, f"{prose} Ü")

    assert shown == provider_notice(error, UNKNOWN_CODE)
