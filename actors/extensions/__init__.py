"""Extensions: their interface, how they are loaded, and the ones in the tree, all off by default.

An extension knows its registrar and what `actors.spending` offers; nothing else knows an extension.
"""
