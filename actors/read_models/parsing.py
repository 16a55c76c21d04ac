"""SQL of people to a parse tree, in a process that may be lost.

DuckDB's own parser is no safe place for hostile text: 60,000 opening parentheses overflow its
stack and end the process, and a syntax error below twelve nested WITHs costs it 4 GB and 9 s, which
no memory limit and no interrupt of DuckDB's bounds. So a small process parses first, within limits
of its own. What it could not parse is refused; what it could, may be parsed here again to be run.
"""

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final

import msgspec

from actors.errors import SqlRefusedError

_PROGRAM: Final = Path(__file__).with_name("parse_process.py")

Tree = dict[str, Any]
"""DuckDB's own serialization of a query."""


class Parser:
    """Parses one query at a time. Thread safe; its process is started by the first query."""

    def __init__(self, seconds: float = 3.0) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[str] | None = None
        self._asking = threading.Lock()

    def parse(self, query: str) -> Tree:
        """Return the tree of `query`, or the tree that says why there is none.

        Raises:
            SqlRefusedError: Parsing it took more time or memory than any honest query does.
        """
        line = msgspec.json.encode(query).decode() + "\n"
        with self._asking:
            answer = self._ask(line)
        if not answer:
            raise SqlRefusedError(
                "the query can't be parsed within bounds; with less nesting it may be"
            )
        try:
            tree: Tree = msgspec.json.decode(answer)
        except (msgspec.DecodeError, RecursionError) as error:
            raise SqlRefusedError("the query is nested more deeply than allowed") from error
        return tree

    def close(self) -> None:
        """End the process."""
        with self._asking:
            self._end()

    def _ask(self, line: str) -> str:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        overdue = threading.Timer(self._seconds, process.kill)
        overdue.start()
        try:
            process.stdin.write(line)
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            overdue.cancel()
            overdue.join()
        if not answer.endswith("\n"):
            self._end()
            return ""
        return answer

    def _running(self) -> "subprocess.Popen[str]":
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603 - our own program, by its path
                [sys.executable, "-P", "-X", "utf8", str(_PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
            )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue  # what was not yet written is for nobody
        process.wait()
