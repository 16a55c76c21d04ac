"""A denial is found wherever it is wrapped, and only by its owner."""

from collections.abc import Callable

import pytest

from actors.spending.denials import ANY_OWNER, RequestDeniedError, find_request_denied
from actors.spending.registrations import Registrations
from tests.actors.spending.test_context import owner

OWNER, OTHER = owner(), owner()


class WrappedError(Exception):
    """An error that names its origin by attribute, as some libraries do."""

    def __init__(self, **links: object) -> None:
        super().__init__("wrapped")
        self.cause = links.get("cause")
        self.original_error = links.get("original_error")


def denied(context: object = OWNER) -> RequestDeniedError:
    """Return a denial."""
    return RequestDeniedError(context, "budget_reached")


def by_original_error(error: Exception) -> Exception:
    """Return an error that names its origin."""
    return WrappedError(original_error=error)


def by_cause(error: Exception) -> Exception:
    """Return an error that names its cause by attribute."""
    return WrappedError(cause=error)


def grouped(error: Exception) -> Exception:
    """Return a group with an error that was caused by it."""
    return ExceptionGroup("many", [KeyError(), caused(error)])


def itself(error: Exception) -> Exception:
    """Return the error as it is."""
    return error


def caused(by: BaseException) -> Exception:
    """Return an error with an explicit cause."""
    error = ValueError("outer")
    error.__cause__ = by
    return error


@pytest.mark.parametrize(
    "wrapped",
    [
        pytest.param(caused, id="TN1"),
        pytest.param(by_original_error, id="TN2"),
        pytest.param(by_cause, id="N3-cause"),
        pytest.param(grouped, id="N14-group"),
        pytest.param(itself, id="itself"),
    ],
)
def test_a_denial_is_found_through_its_wrapping(
    wrapped: Callable[[Exception], Exception],
) -> None:
    """People are told why, not that something failed."""
    denial = denied()

    assert find_request_denied(wrapped(denial), OWNER) is denial


def test_tn3_an_implicit_context_is_no_cause() -> None:
    """An unrelated earlier refusal would be shown for a later failure."""
    error = ValueError("later")
    error.__context__ = denied()

    assert find_request_denied(error) is None


def test_tn5_tn6_nobody_is_an_owner_and_not_any_owner() -> None:
    """Leaving the owner out and naming nobody are two questions."""
    foreign, unowned = denied(OTHER), denied(None)

    assert find_request_denied(foreign, OWNER) is None
    assert find_request_denied(foreign, ANY_OWNER) is foreign
    assert find_request_denied(foreign, None) is None
    assert find_request_denied(unowned, None) is unowned


def test_tn7_a_circle_of_causes_ends() -> None:
    """Errors can be chained by anybody."""
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one

    assert find_request_denied(one) is None


def test_n14_a_denial_that_is_logged_gives_nothing_away() -> None:
    """Its code and owner are for those who show it."""
    assert str(denied()) == "the payer denied the request"


def test_tn4_a_chain_with_a_foreign_denial_is_never_translated() -> None:
    """Somebody else's refusal must not become one's own."""
    asked: list[object] = []
    registrations = Registrations()

    def translate(failure: object, context: object) -> RequestDeniedError:
        asked.append(failure)
        return denied(context)

    registrations.register_denial_translator(translate)

    assert registrations.denial_of(caused(denied(OTHER)), OWNER) is None
    assert asked == []
    assert registrations.denial_of(ValueError(), None) is None
    assert asked == []


def test_a_translator_turns_a_failure_into_a_denial_outermost_first() -> None:
    """A provider's refusal can be the payer's."""
    registrations = Registrations()
    inner, denial = KeyError("inner"), denied()
    asked: list[object] = []

    def translate(failure: object, _: object) -> RequestDeniedError | None:
        asked.append(failure)
        return denial if failure is inner else None

    registrations.register_denial_translator(translate)
    outer = caused(inner)

    assert registrations.denial_of(outer, OWNER) is denial
    assert asked == [outer, inner]


def test_tn13_a_translation_for_another_owner_is_ignored() -> None:
    """A translator that mixes owners up, or breaks, must not be believed."""
    registrations = Registrations()

    def breaks(_: object, __: object) -> RequestDeniedError | None:
        raise KeyError

    registrations.register_denial_translator(breaks)
    registrations.register_denial_translator(lambda _, __: denied(OTHER))

    assert registrations.denial_of(ValueError(), OWNER) is None
