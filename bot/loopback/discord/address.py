"""Where the server is found: known once it listens."""


class Address:
    """The addresses of the server; port 0 until it listens."""

    def __init__(self) -> None:
        self.port = 0

    @property
    def origin(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def api(self) -> str:
        """Where the API begins: what hikari calls its rest_url."""
        return f"{self.origin}/api/v10"

    @property
    def gateway(self) -> str:
        """Where the gateway listens."""
        return f"ws://127.0.0.1:{self.port}/gateway"

    @property
    def files(self) -> str:
        """Below which attachments are handed out."""
        return f"{self.origin}/attachments"
