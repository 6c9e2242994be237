"""`python -m kschedweb.ops.granting`: makes or ends a token for the Kubernetes API of one cluster, in the database.

The token belongs to a user of its own, who has one role in one cluster and no password. Facts go to stdout as JSON.
"""

import argparse
import json
import sys

import django

DAYS = 365
ACTOR = "kubeconfig"


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="kschedweb.ops.granting")
    parser.add_argument("cluster")
    parser.add_argument("--role", default="admin")
    parser.add_argument("--revoke")
    options = parser.parse_args(words)
    django.setup()
    facts = revoke(options.cluster, options.revoke) if options.revoke else grant(options.cluster, options.role)
    print(json.dumps(facts))


def grant(cluster_name: str, role: str) -> dict[str, str]:
    """Make the user if need be, and a token of theirs; exits with a message when there is no such cluster."""
    from django.contrib.auth.models import User

    from kschedweb.accounts import services
    from kschedweb.accounts.models import Token
    from kschedweb.cluster.models import Cluster

    cluster = Cluster.objects.filter(name=cluster_name).first()
    if cluster is None:
        sys.exit(f"there is no cluster named {cluster_name}")
    username = f"kubectl-{cluster_name}-{role}"
    user, made = User.objects.get_or_create(username=username)
    if made:
        user.set_unusable_password()
        user.save()
    services.role_set(cluster=cluster, username=username, role=role, actor=ACTOR)
    names = set(Token.objects.filter(user=user).values_list("name", flat=True))
    name = next(f"{cluster_name[:40]}-{role}-{number}" for number in range(1, len(names) + 2)
                if f"{cluster_name[:40]}-{role}-{number}" not in names)  # fmt: skip
    _, secret = services.token_create(user=user, name=name, max_role=role, days=DAYS, actor=ACTOR)
    return {"user": username, "name": name, "token": secret}


def revoke(cluster_name: str, name: str) -> dict[str, str]:
    """End a token that was made for the cluster."""
    from kschedweb.accounts import services
    from kschedweb.accounts.models import Token

    users = [f"kubectl-{cluster_name}-{role}" for role in ("viewer", "operator", "admin")]
    token = Token.objects.filter(user__username__in=users, name=name, revoked_at=None).first()
    if token is None:
        sys.exit(f"there is no such token of {cluster_name}: {name}")
    services.token_revoke(user=None, token_id=token.pk, actor=ACTOR)
    return {"name": name}


if __name__ == "__main__":
    main(sys.argv[1:])
