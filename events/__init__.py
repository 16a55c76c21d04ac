"""What happened, and where it is kept: the vocabulary, its codec, and the logs.

Knows nothing of projections, actors, Ray, Discord or a provider.
"""
