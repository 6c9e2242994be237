"""The schema: migrations say what the models say, and can be taken back."""

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from tests.builders import make_pod

OWN_APPS = ("accounts", "cluster", "traces")


@pytest.mark.django_db
def test_models_have_all_their_migrations() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.mark.django_db
def test_migrations_can_all_be_taken_back() -> None:
    loader = MigrationExecutor(connection).loader
    stuck = [
        f"{app}.{name}: {operation.describe()}"
        for (app, name), migration in loader.disk_migrations.items()
        if app in OWN_APPS
        for operation in migration.operations
        if not operation.reversible
    ]
    assert stuck == []


@pytest.mark.django_db
def test_migrations_need_no_extension() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT extname FROM pg_extension WHERE extname <> 'plpgsql'")
        assert cursor.fetchall() == []


@pytest.mark.django_db
def test_manifests_of_pods_stay_as_they_are_when_they_are_compressed_and_when_that_is_taken_back() -> None:
    manifest = make_pod("p").req(cpu="1").spec(hostname="ü").manifest()
    before, after = [("cluster", "0013_step_place")], [("cluster", "0014_pods_compressed")]
    leaves = MigrationExecutor(connection).loader.graph.leaf_nodes()
    executor = MigrationExecutor(connection)
    pods = executor.migrate(before).apps.get_model("cluster", "Pod").objects
    pods.create(cluster_id=1, name="p", namespace="default", uid="u", created_at=timezone.now(), manifest=manifest)

    executor = MigrationExecutor(connection)
    assert executor.migrate(after).apps.get_model("cluster", "Pod").objects.get().manifest == manifest
    executor = MigrationExecutor(connection)
    assert executor.migrate(before).apps.get_model("cluster", "Pod").objects.get().manifest == manifest
    MigrationExecutor(connection).migrate(leaves)


@pytest.mark.django_db
def test_pods_that_are_there_get_their_controllers_in_a_column() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "2", "controller": True}
    owned, alone = make_pod("owned").manifest(), make_pod("alone").manifest()
    owned["metadata"]["ownerReferences"] = [owner | {"name": "other", "controller": False}, owner]
    leaves = MigrationExecutor(connection).loader.graph.leaf_nodes()
    pods = MigrationExecutor(connection).migrate([("cluster", "0017_profiles")]).apps.get_model("cluster", "Pod")
    for manifest in (owned, alone):
        name = manifest["metadata"]["name"]
        given = {"namespace": "default", "uid": name, "created_at": timezone.now(), "manifest": manifest}
        pods.objects.create(cluster_id=1, name=name, **given)
    executor = MigrationExecutor(connection)
    found = executor.migrate([("cluster", "0018_owners")]).apps.get_model("cluster", "Pod").objects
    assert dict(found.values_list("name", "owner")) == {"owned": "ReplicaSet/web-1", "alone": ""}
    MigrationExecutor(connection).migrate(leaves)
