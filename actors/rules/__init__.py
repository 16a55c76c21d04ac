"""Pure decisions: a command and a state in, events or a refusal out."""
