"""The scheduler's configuration: read strictly, completed with upstream's defaults, validated.

`load(text, dict or None)` is the whole interface; every problem is in one `ConfigError` with its field path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.config.decode import decode, parse_text
from scheduler_core.config.defaults import with_defaults
from scheduler_core.config.types import KubeSchedulerConfiguration
from scheduler_core.config.validation import validate
from scheduler_core.errors import ConfigError


def load(source: str | bytes | Mapping[str, Any] | None = None) -> KubeSchedulerConfiguration:
    """The complete, valid configuration of a document (YAML or JSON text, or a dict); None means all defaults."""
    if source is None:
        return with_defaults(KubeSchedulerConfiguration())
    document = parse_text(source) if isinstance(source, (str, bytes)) else source
    config = with_defaults(decode(document))
    problems = validate(config)
    if problems:
        raise ConfigError(problems)
    return config
