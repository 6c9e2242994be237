"""`python -m kschedweb.ops.granting`: makes or ends a token for the Kubernetes API of one cluster, in the database.

The token belongs to a user of its own, who has one role in one cluster and no password. Facts go to stdout as JSON.
"""

import argparse
import json
import sys
from zlib import crc32

import django

from kschedweb.ops.naming import cluster_named

DAYS = 365
ACTOR = "kubeconfig"
NAME_LENGTH = 150  # of a user


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="kschedweb.ops.granting")
    parser.add_argument("cluster")
    parser.add_argument("--role", default="admin")
    parser.add_argument("--node", default="")
    parser.add_argument("--at")
    parser.add_argument("--revoke")
    options = parser.parse_args(words)
    django.setup()
    if options.revoke:
        facts = revoke(options.cluster, options.revoke)
    else:
        then = {} if options.at is None else moment(options.cluster, options.at)
        facts = grant(options.cluster, options.role, options.node) | then
    print(json.dumps(facts))


def moment(cluster_name: str, at: str) -> dict[str, str]:
    """The position and the time that `at` stands for; exits with a message when there is none, or no such cluster."""
    from kschedweb.common.errors import ApplicationError
    from kschedweb.scheduling.past import asking

    cluster = cluster_named(cluster_name)
    try:
        position, time = asking.located(cluster.pk, at)
    except ApplicationError as error:
        sys.exit(error.message)
    return {"position": str(position), "time": f"{time:%Y-%m-%dT%H:%M:%SZ}"}


def grant(cluster_name: str, role: str, node: str = "") -> dict[str, str]:
    """Make the user if need be, and a token of theirs; exits with a message when there is no such cluster.

    For a node the user is its kubelet, which is a viewer to everything but the Kubernetes API.
    """
    from django.contrib.auth.models import User

    from kschedweb.accounts import services
    from kschedweb.accounts.models import Token
    from kschedweb.kubeapi.access import NODE_PREFIX

    cluster = cluster_named(cluster_name)
    username, label = f"kubectl-{cluster_name}-{role}", role
    if node:
        label = f"node-{crc32(node.encode()):08x}"  # of several nodes' tokens each has a name of its own
        username, role = f"{NODE_PREFIX}{node}@{cluster_name}", "viewer"
        if len(username) > NAME_LENGTH:
            sys.exit(f"the names of the node and its cluster are too long together: {node}, {cluster_name}")
    user, made = User.objects.get_or_create(username=username)
    if made:
        user.set_unusable_password()
        user.save()
    services.role_set(cluster=cluster, username=username, role=role, actor=ACTOR)
    names = set(Token.objects.filter(user=user).values_list("name", flat=True))
    name = next(f"{cluster_name[:40]}-{label}-{number}" for number in range(1, len(names) + 2)
                if f"{cluster_name[:40]}-{label}-{number}" not in names)  # fmt: skip
    _, secret = services.token_create(user=user, name=name, max_role=role, days=DAYS, actor=ACTOR)
    return {"user": username, "name": name, "token": secret}


def revoke(cluster_name: str, name: str) -> dict[str, str]:
    """End a token that was made for the cluster."""
    from django.db.models import Q

    from kschedweb.accounts import services
    from kschedweb.accounts.models import Token
    from kschedweb.kubeapi.access import NODE_PREFIX

    users = [f"kubectl-{cluster_name}-{role}" for role in ("viewer", "operator", "admin")]
    of_cluster = Q(user__username__in=users) | Q(
        user__username__startswith=NODE_PREFIX, user__username__endswith=f"@{cluster_name}"
    )
    token = Token.objects.filter(of_cluster, name=name, revoked_at=None).first()
    if token is None:
        sys.exit(f"there is no such token of {cluster_name}: {name}")
    services.token_revoke(user=None, token_id=token.pk, actor=ACTOR)
    return {"name": name}


if __name__ == "__main__":
    main(sys.argv[1:])
