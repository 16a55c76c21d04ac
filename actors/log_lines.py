"""How an actor's process gets its log lines in the form of the whole program.

Ray starts it with none of what the bot's own process has set up, and keeps its stderr in files on
the node. So each host first calls a function that it was handed, with the secrets that this very
process holds: no line of it shows one of them.
"""

from collections.abc import Callable

SetUpLog = Callable[[tuple[str, ...]], None]
"""Takes over the log lines of the process, and blanks the given secrets in them; picklable."""
