"""Slash commands, one module a subject."""
