"""A page of docs/ as HTML, its headings with the anchors they are linked by."""

import re

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

# What would be HTML in the text stays text.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


def as_html(text: str) -> SafeString:
    """The page; what leads to another page, which is not served, leads nowhere."""
    tokens = _MARKDOWN.parse(text)
    for token, inside in zip(tokens, tokens[1:], strict=False):
        if token.type == "heading_open":
            token.attrSet("id", anchor(inside.content))
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open" and not str(child.attrGet("href")).startswith("#"):
                del child.attrs["href"]
    return mark_safe(str(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})))


def anchor(heading: str) -> str:
    """The anchor of a heading: in lower case, without punctuation, with hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
