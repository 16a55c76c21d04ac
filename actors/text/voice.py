"""What a turn's segments said so far, as far as it bears on the next one."""

from msgspec import Struct

from actors.text.caps import FLUSH_LIMIT, SEND_LIMIT


class Voice(Struct, frozen=True, kw_only=True):
    """Who speaks, and whether anything was said."""

    has_said: bool = False
    """Whether a segment of the turn gave a message."""
    modifier: str = ""
    """The sprite or the identity in force; empty for the speaker's own looks."""
    is_copied: bool = False
    """Whether `modifier` names somebody else, which holds for one line."""
    stop: str = ""
    """Why nothing more is said."""

    @property
    def rule(self) -> str:
        """The rule for what is not looked at any more; empty while all is."""
        if not self.stop:
            return ""
        return "after_limit" if self.stop in (SEND_LIMIT, FLUSH_LIMIT) else "after_guard"
