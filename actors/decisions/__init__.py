"""Decisions: a model's probabilities for named questions about one text; pure, without sockets."""
