"""`rejoinder demo`: the whole thing on one machine, without any account."""

import asyncio
import sys

from bot.demo.show import perform


def run() -> int:
    """Perform the demo in the terminal; return the exit code."""
    try:
        return asyncio.run(perform(sys.stdout))
    except KeyboardInterrupt:
        return 130
