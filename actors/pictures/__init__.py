"""Markdown tables as PNG pictures.

Takes text and gives bytes: knows no Discord, no log and no turn. Nothing here is imported before a
table has to be drawn, since Pillow and the fonts would slow down the start of every turn's process.
"""
