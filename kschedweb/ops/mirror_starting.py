"""`python -m kschedweb.ops.mirror_starting`: makes a mirror, in the database, of what comes as JSON on stdin.

Who can run this runs the service: the kubeconfig may name programs and files. Facts go to stdout as JSON.
"""

import json
import sys
from typing import Any

import django

ACTOR = "mirror"


def main() -> None:
    wanted = json.load(sys.stdin)
    django.setup()
    print(json.dumps(start(wanted)))


def start(wanted: dict[str, Any]) -> dict[str, Any]:
    """Make the mirror; exits with a message when that cannot be."""
    from kschedweb.common.errors import ApplicationError
    from kschedweb.mirror import services
    from kschedweb.mirror.models import Mirror

    try:
        cluster = services.mirror_start(
            name=wanted["name"],
            content=wanted["kubeconfig"].encode(),
            context=wanted["context"],
            namespaces=wanted["namespaces"],
            scheduler_config=wanted["scheduler_config"].encode(),
            is_trusted=True,
            actor=ACTOR,
        )
    except ApplicationError as error:
        sys.exit(error.message)
    return {"id": cluster.pk, "name": cluster.name, "server": Mirror.objects.get(pk=cluster.pk).server}


if __name__ == "__main__":
    main()
