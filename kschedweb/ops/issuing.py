"""`python -m kschedweb.ops.issuing`: makes, lists or ends tokens of one user, in the database.

Who can run this runs the service, so it asks for no password. Facts go to stdout as JSON.
"""

import argparse
import itertools
import json
import sys
from collections.abc import Sequence
from typing import Any

import django

ACTOR = "command-line"


def main(words: Sequence[str]) -> None:
    from django.db import OperationalError

    django.setup()
    try:
        found = answer(words)
    except OperationalError as problem:
        sys.exit(f"the database does not answer: {' '.join(str(problem).split())}")
    print(json.dumps(found))


def answer(words: Sequence[str]) -> dict[str, Any]:
    """What was made, found or ended; exits with a message when that cannot be."""
    from kschedweb.common.errors import ApplicationError

    parser = argparse.ArgumentParser(prog="kschedweb.ops.issuing")
    parser.add_argument("action", choices=["make", "list", "revoke"])
    parser.add_argument("--name", default="")
    parser.add_argument("--role", default="viewer")
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--user", default="")
    options = parser.parse_args(words)
    user = _user(options.user)
    try:
        if options.action == "make":
            facts = make(user, options.name, options.role, options.days)
        elif options.action == "revoke":
            facts = revoke(user, options.name)
        else:
            facts = {"tokens": listed(user)}
    except ApplicationError as error:
        sys.exit(error.message)
    return {"user": user.get_username(), **facts}


def make(user: Any, name: str, role: str, days: int) -> dict[str, Any]:
    """A new token with its secret, under the first free name if none is given."""
    from kschedweb.accounts import selectors, services

    if not name:
        taken = set(selectors.tokens_of(user).values_list("name", flat=True))
        name = next(name for number in itertools.count(1) if (name := f"token-{number}") not in taken)
    token, secret = services.token_create(user=user, name=name, max_role=role, days=days, actor=ACTOR)
    return {**_facts(token), "secret": secret}


def listed(user: Any) -> list[dict[str, Any]]:
    """The user's tokens, the newest first."""
    from kschedweb.accounts import selectors

    return [_facts(token) for token in selectors.tokens_of(user)]


def revoke(user: Any, name: str) -> dict[str, Any]:
    """End the token of that name."""
    from kschedweb.accounts import selectors, services

    token = selectors.tokens_of(user).filter(name=name, revoked_at=None).first()
    if token is None:
        sys.exit(f"{user.get_username()} has no token named {name}")
    return _facts(services.token_revoke(user=user, token_id=token.pk, actor=ACTOR))


def _user(name: str) -> Any:
    from django.contrib.auth import get_user_model

    users = get_user_model()._default_manager.order_by("pk")
    if not name:
        found = users.filter(is_superuser=True, is_active=True).first()
        return found or sys.exit("there is no administrator: say whose the token is with --user")
    found = users.filter(username=name).first()
    if found is None:
        sys.exit(f"there is no such user: {name}")
    return found if found.is_active else sys.exit(f"the account is closed: {name}")


def _facts(token: Any) -> dict[str, Any]:
    """The token as REST shows it."""
    import msgspec

    from kschedweb import views

    facts: dict[str, Any] = msgspec.to_builtins(views.view_of(views.Token, token))
    return facts


if __name__ == "__main__":
    main(sys.argv[1:])
