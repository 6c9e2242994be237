"""`python -m kschedweb.ops.setup`: everything `./ksched up` does to the database before the service starts.

Migrations, the first administrator, the credential of the command line, a login link, the sample cluster. Each step
may be interrupted and is done again the next time; a marker in the data directory says that the first start is over.
Facts for the terminal go to stdout, one JSON object a line. The password is printed there once and kept only hashed.
"""

import argparse
import json
import secrets
import sys
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.core.management import call_command
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

from kschedweb.common.collector import ease, pause

CREDENTIAL_FILE = "credential.json"
MARKER_FILE = "first-start-done"
ADMIN = "admin"
COMMAND_LINE = "command-line"  # the token of ./ksched
ACTOR = "setup"


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="kschedweb.ops.setup")
    parser.add_argument("--no-sample", action="store_true")
    options = parser.parse_args(words)
    pause()
    django.setup()
    ease()
    marker = Path(settings.DATA_DIR) / MARKER_FILE
    first = not marker.exists()

    try:
        connection.ensure_connection()
    except OperationalError as problem:
        sys.exit(f"the database that DATABASE_URL names does not answer: {problem}")
    tell(migrations=migrate())
    user, password = administrator(reset=first)
    if password:
        tell(user=user.get_username(), password=password)
    write_credential(user)
    tell(login=login_link(user))
    if first and not options.no_sample:
        from kschedweb.ops.sample import load

        load()
        tell(sample=True)
    marker.touch()


def tell(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


def migrate() -> int:
    """Bring the schema up to date; the number of migrations that this took."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        call_command("migrate", interactive=False, verbosity=0)
    return len(plan)


def administrator(*, reset: bool) -> tuple[Any, str]:
    """A superuser, and the password when it was made (or made anew, after a first start that was interrupted)."""
    from django.contrib.auth import get_user_model

    model = get_user_model()
    user = model.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if user is not None and not (reset and user.get_username() == ADMIN and user.last_login is None):
        return user, ""
    password = "-".join(secrets.token_hex(2) for _ in range(4))
    if user is None:
        user = model.objects.create_superuser(ADMIN, password=password)
    else:
        user.set_password(password)
        user.save(update_fields=["password"])
    return user, password


def write_credential(user: Any) -> None:
    """A token of that user for `./ksched import` and the like, in a file of the owner's; the last one ends."""
    from kschedweb.accounts import services
    from kschedweb.accounts.choices import Role
    from kschedweb.accounts.models import Token
    from kschedweb.ops.supervisor import write_private

    for old in Token.objects.filter(name=COMMAND_LINE, revoked_at=None):
        services.token_revoke(user=None, token_id=old.pk, actor=ACTOR)
    _, secret = services.token_create(
        user=user, name=COMMAND_LINE, max_role=Role.ADMIN, days=services.TOKEN_DAYS_MOST, actor=ACTOR
    )
    write_private(Path(settings.DATA_DIR) / CREDENTIAL_FILE, json.dumps({"token": secret}))


def login_link(user: Any) -> str:
    """A path that logs its first visitor in."""
    from kschedweb.accounts import services

    return services.login_link_create(username=user.get_username())


if __name__ == "__main__":
    main(sys.argv[1:])
