"""The button below a table's picture, which shows the Markdown that the picture was drawn from."""

from typing import Final

from actors.ports import Button

SHOW_MARKDOWN: Final = Button(custom_id="markdown_table_show_source", label="Show Markdown")
"""The button; what is pressed is told apart by its message, so all of them are alike."""
LIFETIME_SECONDS: Final = 7_200.0
"""How long a button can be pressed."""
