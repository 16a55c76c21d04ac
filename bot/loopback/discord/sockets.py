"""Breaking a connection the hard way."""

import socket
import struct

from aiohttp import web

_DROP_AT_ONCE = struct.pack("ii", 1, 0)


def reset(request: web.BaseRequest) -> None:
    """Reset the connection of a request: the other side sees a TCP RST, not an orderly end."""
    transport = request.transport
    if transport is None:
        return
    connection: socket.socket | None = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _DROP_AT_ONCE)
    transport.abort()
