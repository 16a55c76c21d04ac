"""What the events mean: left folds over them, and nothing else.

No I/O, no clock, no randomness, so that a fold gives the same today and on replay.
"""
