"""How a secret of 256 random bits is kept: its SHA-256. Slow hashes are for what people think of themselves."""

import hashlib


def digest(secret: str) -> str:
    """What is stored of a secret, and looked up."""
    return hashlib.sha256(secret.encode(errors="surrogateescape")).hexdigest()
