"""What holds for the whole suite: nothing that a test prints or logs gives a secret away."""

from collections.abc import Generator
from typing import Any

import pytest

from tests.secrecy import given_away


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test in whose output, log lines among it, a key or token stands."""
    report: Any = yield
    if call.when == "teardown" and given_away(text for _, text in report.sections):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} printed or logged a key or a token"
    return report
