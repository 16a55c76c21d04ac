"""What a model may call: plain Python functions, described from their signatures.

Knows neither a wire format nor Discord nor the turn that asks; `actors.generation.tool_loop` runs
the tools. Whoever embeds the bot adds functions of their own to those of `builtin`.
"""
