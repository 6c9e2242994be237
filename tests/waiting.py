"""How long tests wait for what they wait for.

A deadline is there for what never comes: a test that is right never sees it, however busy the machine is.
"""

HANG_SECONDS = 180.0
HANG_MS = HANG_SECONDS * 1000
