"""Credentials as they are stored: encrypted, so that a dump of the database opens no other cluster."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings

_PURPOSE = b"kschedweb mirror credentials 1:"


class SealError(Exception):
    """What is stored was sealed under another secret key."""


def sealed(content: bytes) -> bytes:
    return _fernet().encrypt(content)


def opened(content: bytes) -> bytes:
    """What was sealed; SealError when the service's secret key is another one now."""
    try:
        return _fernet().decrypt(content)
    except InvalidToken:
        message = "the credentials were stored under another KSCHED_SECRET_KEY: give the kubeconfig anew"
        raise SealError(message) from None


def _fernet() -> Fernet:
    # The secret key is long and random: one round is enough.
    digest = hashlib.sha256(_PURPOSE + settings.SECRET_KEY.encode()).digest()
    return Fernet(base64.urlsafe_b64encode(digest))
