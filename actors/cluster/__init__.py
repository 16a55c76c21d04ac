"""The only room that knows Ray: it turns plain classes into actors and calls into port methods.

`channel_turn` runs without hikari and duckdb in its process, so nothing here imports them but the
hosts that need them.
"""
