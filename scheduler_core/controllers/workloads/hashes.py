"""Hashes that name what is made from templates: FNV of 32 bits, written with letters that make no words.

The hash of a Deployment's template is that of kube-controller-manager, which hashes how Go prints it. The template must
be one that is stored: with defaults and without unknown fields.
Source: kubernetes v1.34.1, pkg/controller/controller_utils.go, apimachinery/pkg/util/rand.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.api.schema.go_text import go_text
from scheduler_core.api.workload import RawTemplate

POD_TEMPLATE_HASH: Final = "pod-template-hash"
_COLLISIONS_BYTES: Final = 8
_SAFE_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_FNV_OFFSET: Final = 2_166_136_261
_FNV_PRIME: Final = 16_777_619
_MASK: Final = 2**32 - 1


def template_hash(template: RawTemplate, collisions: int | None = None) -> str:
    """Return the hash of a template; `collisions` is how often the name it makes was taken by another template."""
    data = go_text(template.manifest, "v1.PodTemplateSpec").encode()
    if collisions is not None:
        data += collisions.to_bytes(_COLLISIONS_BYTES, "little")
    return safe_text(fnv1a(data))


def fnv1a(data: bytes) -> int:
    """Return the FNV-1a hash of 32 bits."""
    value = _FNV_OFFSET
    for byte in data:
        value = (value ^ byte) * _FNV_PRIME & _MASK
    return value


def fnv1(data: bytes) -> int:
    """Return the FNV-1 hash of 32 bits, which multiplies first."""
    value = _FNV_OFFSET
    for byte in data:
        value = (value * _FNV_PRIME & _MASK) ^ byte
    return value


def safe_text(number: int) -> str:
    """Return the decimal digits of a number as letters and digits that make no words."""
    return "".join(_SAFE_LETTERS[ord(digit) % len(_SAFE_LETTERS)] for digit in str(number))
