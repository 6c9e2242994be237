"""A page of docs/ as HTML: headings with their anchors, paragraphs, lists, bold, code, links within the page.

For the pages the dashboard leads to; what else Markdown has stays as it is written.
"""

import re
from collections.abc import Iterator

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

_HEADING = re.compile(r"(#{1,4}) (.+)")
_INLINE = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<bold>.+?)\*\*|\[(?P<words>[^\]]+)\]\((?P<to>[^)\s]+)\)")


def as_html(text: str) -> SafeString:
    """The page; everything in it is escaped."""
    return mark_safe("\n".join(_blocks(text)))


def anchor(heading: str) -> str:
    """The anchor of a heading: in lower case, without punctuation, with hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _blocks(text: str) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", text.strip()):
        heading = _HEADING.fullmatch(block)
        if heading is not None:
            level = len(heading[1])
            yield f'<h{level} id="{anchor(heading[2])}">{_inline(heading[2])}</h{level}>'
        elif block.startswith("- "):
            items = re.split(r"\n- ", block[2:])
            yield "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>"
        else:
            yield f"<p>{_inline(block)}</p>"


def _inline(text: str) -> str:
    parts, end = [], 0
    for found in _INLINE.finditer(text):
        parts += [escape(text[end : found.start()]), _marked(found)]
        end = found.end()
    return "".join([*parts, escape(text[end:])])


def _marked(found: re.Match[str]) -> str:
    if found["code"] is not None:
        return f"<code>{escape(found['code'])}</code>"
    if found["bold"] is not None:
        return f"<strong>{_inline(found['bold'])}</strong>"
    if found["to"].startswith("#"):
        return f'<a href="{escape(found["to"])}">{escape(found["words"])}</a>'
    return escape(found["words"])  # another page, which is not served
