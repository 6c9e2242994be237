"""The functions that expressions may call; importing this declares them."""

from scheduler_core.cel.library import (
    amounts,
    collections,
    conversions,
    formats,
    formatting,
    locators,
    moments,
    networks,
    optionals,
    texts,
)

__all__ = [
    "amounts",
    "collections",
    "conversions",
    "formats",
    "formatting",
    "locators",
    "moments",
    "networks",
    "optionals",
    "texts",
]
