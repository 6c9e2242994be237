"""Patterns of LIKE."""


def literal(text: str) -> str:
    """The text as a pattern finds it: its signs stand for themselves."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
