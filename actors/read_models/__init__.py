"""The analyst's inside: the log once more, in a DuckDB of its own, and every figure read there.

A read model is a copy: it may be lost at any time and is then built again from position 0. People's
SQL runs here and nowhere else, so that a greedy query costs a figure and never an append. Knows
neither Ray nor Discord; the actor that hosts `ReadModels` calls it from threads.
"""
