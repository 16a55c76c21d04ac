"""Pure provider adapters: requests out, wire payloads in, normalized chunks out."""
