"""Decisions: a model's probabilities for named questions about one text.

A capability for whoever has something to judge: what is asked, what the figures mean and where
they make a difference is the asker's. `calls.Decisions` asks; `questions`, `answers`, `failures`
and `models` are pure, and nothing here knows a socket: HTTP goes through `actors.ports.Transport`.
"""
