"""Who decides and who acts: pure rules, the text path, providers, delivery, and their Ray hosts.

Never imports ``bot``; what an actor needs of the outside is a Protocol in ``actors.ports``.
"""
