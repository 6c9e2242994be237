"""Objects of a cluster, one by one."""

from dataclasses import replace

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.request import Request

from kschedweb import views
from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import actor
from kschedweb.cluster import in_vain, selectors, services, uploading
from kschedweb.cluster.adapters import CONFIDENTIAL_KINDS, version_of
from kschedweb.cluster.intake import files, limits, objects
from kschedweb.common.errors import ForbiddenError
from kschedweb.common.throttling import UploadThrottle
from kschedweb.rest.answers import Created
from kschedweb.rest.past import StandingView
from kschedweb.scheduling.past.standing import Standing
from kschedweb.views import given
from scheduler_core.api.custom import is_custom
from scheduler_core.api.times import moment_of


class ObjectListView(StandingView):
    access = {"POST": Role.OPERATOR}
    of_objects = True
    holds_secrets = True  # whatever the manifests say: never compressed
    throttle_classes = [UploadThrottle]
    throttle_scope = "objects"
    parser_classes = [uploading.RawParser]

    def get(self, request: Request, cluster_id: int, query: views.ObjectQuery) -> views.ObjectList:
        """List the objects of a kind with their manifests, by namespace and name; those confidential are not shown."""
        _check_kind(query.kind)
        after, wanted = given(query).get("after", ""), given(query).get("namespace")
        namespace, _, name = after.rpartition("/")
        with self.standing(cluster_id, query) as shown:
            found = shown.objects(query.kind, wanted, (namespace, name), query.limit + 1)
            listed = found[: query.limit]
            return views.ObjectList(
                rv=shown.cursor.rv,
                seq=shown.cursor.seq,
                at=moment_of(shown.now),
                objects=[views.ClusterObject(rv=each.rv, manifest=each.manifest) for each in listed],
                after=f"{listed[-1].namespace}/{listed[-1].name}" if len(found) > query.limit else None,
            )

    @extend_schema(request={"application/json": OpenApiTypes.OBJECT, "application/yaml": OpenApiTypes.STR})
    def post(self, request: Request, cluster_id: int) -> Created[views.ObjectsCreated]:
        """Create one or more objects as the API server would: an existing name is a conflict.

        Takes a manifest, a list of them, or several YAML documents.
        """
        bounds = limits.load()
        uploads = [replace(received, name="body") for received in uploading.uploads_of(request)]
        with uploading.PUTTING.one():
            if not files.is_small(uploads, bounds):
                raise ParseError("more than this is an import")
            selectors.cluster_get(cluster_id)
            contents = objects.read([received.upload() for received in uploads], bounds)
            report = services.objects_put(
                cluster_id=cluster_id,
                items=contents.items,
                options=services.PutOptions(admission="always", create=True),
                actor=actor(request),
            )
        return Created(views.view_of(views.ObjectsCreated, report))


class ObjectDetailView(StandingView):
    access = {"DELETE": Role.OPERATOR}
    of_objects = True
    holds_secrets = True  # whatever the manifest says: never compressed

    def get(
        self, request: Request, cluster_id: int, kind: str, name: str, query: views.AtQuery
    ) -> views.ClusterObjectDetail:
        """Read an object that has no namespace: a PriorityClass, a StorageClass, … Nodes have a path of their own."""
        _check_kind(kind)
        with self.standing(cluster_id, query) as shown:
            return _detail(shown, shown.object(kind, "", name))

    def delete(self, request: Request, cluster_id: int, kind: str, name: str) -> None:
        """Delete an object that has no namespace."""
        services.object_delete(cluster_id=cluster_id, kind=kind, namespace="", name=name, actor=actor(request))


class NamespacedObjectView(StandingView):
    access = {"DELETE": Role.OPERATOR}
    of_objects = True
    holds_secrets = True  # whatever the manifest says: never compressed

    def get(
        self, request: Request, cluster_id: int, kind: str, namespace: str, name: str, query: views.AtQuery
    ) -> views.ClusterObjectDetail:
        """Read an object in a namespace, unless it is confidential."""
        _check_kind(kind)
        with self.standing(cluster_id, query) as shown:
            return _detail(shown, shown.object(kind, namespace, name))

    def delete(self, request: Request, cluster_id: int, kind: str, namespace: str, name: str) -> None:
        """Delete an object in a namespace."""
        services.object_delete(cluster_id=cluster_id, kind=kind, namespace=namespace, name=name, actor=actor(request))


def _detail(shown: Standing, found: views.ClusterObject) -> views.ClusterObjectDetail:
    waits = in_vain.of_object(found.manifest, shown.related, frozen=shown.is_frozen)
    return views.ClusterObjectDetail(rv=found.rv, manifest=found.manifest, in_vain=waits)


def _check_kind(kind: str) -> None:
    """ValidationError for a kind that there is not, ForbiddenError for one that is not shown."""
    if kind in CONFIDENTIAL_KINDS:
        raise ForbiddenError(f"objects of the kind {kind} are confidential", kind=kind)
    if not version_of(kind) and not is_custom(kind):
        raise ValidationError({"kind": [f"no kind is called {kind}"]})
