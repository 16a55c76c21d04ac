"""The pure text path: provider text in, finished message bodies out.

Knows no Discord, no clock and no randomness: the same characters give the same messages, however
the provider cut them into chunks.
"""
