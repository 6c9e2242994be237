"""From the bytes of an upload to manifests with their positions: formats, limits and precise errors.

Nothing here touches the database or the core: what a manifest means is decided by the services.
"""
