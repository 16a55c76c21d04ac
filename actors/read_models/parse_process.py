"""A process that parses SQL and does nothing else; started by `parsing`, one query a line.

It is run by its path and imports no other module of ours, so that it is up in an instant.
"""

import json
import resource
import sys
import threading

import duckdb

MAX_MEMORY_BYTES = 2**30
"""Of address space; beyond it the parser fails, or this process does."""
MAX_STACK_BYTES = 2**21
"""Well below the 8 MiB of the thread that will parse the query once more in order to run it."""


def serve() -> None:
    """Answer each line, a JSON string, with the query's parse tree as one line of JSON.

    It ends without an answer where memory ran out: who asked then starts a process anew.
    """
    connection = duckdb.connect(":memory:", config={"threads": "1"})
    for line in sys.stdin:
        try:
            answer = parse(connection, json.loads(line))
        except (duckdb.OutOfMemoryException, MemoryError):
            return
        if answer.startswith('{"error":true,"error_type":"out of memory"'):
            return
        sys.stdout.write(answer.replace("\n", " ") + "\n")
        sys.stdout.flush()


def parse(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """Return DuckDB's JSON for `query`: its tree, or why there is none."""
    try:
        found = connection.execute("SELECT json_serialize_sql($1::VARCHAR)", [query]).fetchone()
    except (duckdb.OutOfMemoryException, MemoryError):
        raise
    except duckdb.Error as error:
        return json.dumps({"error": True, "error_type": "other", "error_message": str(error)})
    return found[0] if found else ""


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.stack_size(MAX_STACK_BYTES)
    server = threading.Thread(target=serve, name="parser")
    server.start()
    server.join()
