"""Discord on loopback: REST v10 and the gateway over real sockets, in memory, for demo and tests.

An unmodified client talks to it. It knows Discord's rules and wire formats, and nothing of the bot:
it imports no hikari, so that both sides can disagree. Structs first (`entities`, `refusals`,
`calls`), then what is kept (`world`, `journal`), what answers (`messages`, `webhooks`, …), what
misbehaves (`faults`, `limits`), and the hosts (`rest`, `gateway`, `server`).
"""
