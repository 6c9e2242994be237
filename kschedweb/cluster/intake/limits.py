"""How much an upload may ask of the service; each bound is checked before the memory it guards is taken.

`settings.IMPORT_LIMITS` may replace any of them by name.
"""

from dataclasses import dataclass

from django.conf import settings

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes, counts and depth; `sync_*` are the sizes up to which the request itself does the work."""

    received_bytes: int = 64 * MIB
    unpacked_bytes: int = 256 * MIB
    gzip_members: int = 10_000
    depth: int = 64
    objects: int = 200_000
    # Lists, objects, their fields and items: what a parser would allocate for.
    values: int = 15_000_000
    # Values that YAML aliases may repeat in all.
    alias_values: int = 10_000
    files: int = 50
    archive_files: int = 20_000
    refusals_listed: int = 1_000
    sync_bytes: int = 1 * MIB
    sync_yaml_bytes: int = MIB // 4
    # How many requests of one process do so at once; others leave the work to a worker.
    sync_at_once: int = 2


def load() -> Limits:
    return Limits(**getattr(settings, "IMPORT_LIMITS", {}))
