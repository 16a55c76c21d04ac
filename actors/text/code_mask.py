"""Which characters of a text are prose: rules about words leave code and addresses alone."""

from functools import lru_cache

from actors.text.blocks import Ending, find_blocks
from actors.text.spans import CODE, inline_code, mask, urls


@lru_cache(maxsize=16)  # each rule of a segment asks for it anew
def prose(text: str) -> str:
    """Return `text` with every character of code and of addresses replaced by one that is none.

    Indices stay what they are.
    """
    if "`" in text:
        blocks, _ = find_blocks(text, Ending(), is_last=True)
        text = mask(text, ((block.start, block.end) for block in blocks), CODE)
        text = mask(text, inline_code(text), CODE)
    return mask(text, urls(text), CODE)
