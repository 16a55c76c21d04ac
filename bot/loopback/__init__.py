"""The outside world on loopback: a Discord and a provider that speak the real wire formats."""
