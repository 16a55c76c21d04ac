"""When something may be left undone on a model's word (D35)."""

import math

import pytest

from actors.decisions.answers import Verdict
from actors.decisions.results import Cancelled, Completed, DecisionResult, Refused
from actors.decisions.skipping import is_calibrated, may_skip


def completed(*answers: tuple[str, float], model: str = "m-1") -> Completed:
    """Return an answer."""
    verdicts = tuple(Verdict(id=one, probability=value) for one, value in answers)
    return Completed(correlation="c", verdicts=verdicts, usage=None, request_id=None, model=model)


REFUSED = Refused(
    correlation="c",
    verdicts=(Verdict(id="a", probability=None),),
    usage=None,
    request_id=None,
    model="m-1",
)


@pytest.mark.parametrize(
    ("result", "may"),
    [
        (completed(("a", 0.1)), True),
        (completed(("a", 0.2)), False),
        (completed(("a", 0.1), model="m-2"), False),
        (completed(("b", 0.1)), False),
        (completed(("a", 0.1), ("b", 0.1)), False),
        (completed(), False),
        (REFUSED, False),
        (Cancelled(correlation="c"), False),
    ],
)
def test_d35_a_skip_takes_a_whole_answer_of_the_measured_model(
    result: DecisionResult,
    may: bool,  # noqa: FBT001 - a test's parameter
) -> None:
    """What is left out in error, nobody ever sees."""
    assert may_skip(result, {"a": 0.2}, "m-1") == may


@pytest.mark.parametrize("threshold", [0.0, 1.0, -1.0, math.nan, math.inf])
def test_d35_a_threshold_lies_between_never_and_always(threshold: float) -> None:
    """Without one there is nothing to ask, and nothing to pay."""
    assert not is_calibrated({"a": threshold}, "m-1")
    assert not may_skip(completed(("a", 0.0)), {"a": threshold}, "m-1")


def test_d35_without_a_measured_model_nothing_is_calibrated() -> None:
    """Another model's 0.2 means something else."""
    assert not is_calibrated({"a": 0.2}, "")
    assert not is_calibrated({}, "m-1")
