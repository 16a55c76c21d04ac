"""When a verdict may be acted on by leaving something undone; pure.

Leaving a thing out is the one act that nobody sees, so it takes a whole answer of exactly the
model that the thresholds were measured with, and every probability below its own.
"""

from collections.abc import Mapping

from actors.decisions.results import Completed, DecisionResult


def is_calibrated(thresholds: Mapping[str, float], model: str) -> bool:
    """Return whether a call can lead to a skip at all; if not, nobody should pay for it."""
    return bool(model and thresholds) and all(0 < one < 1 for one in thresholds.values())


def may_skip(result: DecisionResult, thresholds: Mapping[str, float], model: str) -> bool:
    """Return whether `result` is sure enough that none of the questions is true.

    Args:
        result: What the call gave.
        thresholds: By question; each strictly between 0 and 1.
        model: The model that they were measured with, as it names itself.
    """
    if not isinstance(result, Completed) or result.model != model:
        return False
    if not is_calibrated(thresholds, model):
        return False
    given = [(verdict.id, verdict.probability) for verdict in result.verdicts]
    if sorted(one for one, _ in given) != sorted(thresholds):
        return False
    return all(value is not None and value < thresholds[one] for one, value in given)
