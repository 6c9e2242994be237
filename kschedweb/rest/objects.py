"""Objects of a cluster, one by one."""

from dataclasses import replace

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ParseError
from rest_framework.request import Request

from kschedweb import views
from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import actor
from kschedweb.cluster import selectors, services, uploading
from kschedweb.cluster.intake import files, limits, objects
from kschedweb.common.throttling import UploadThrottle
from kschedweb.rest.answers import Created, RestView


class ObjectListView(RestView):
    access = {"POST": Role.OPERATOR}
    throttle_classes = [UploadThrottle]
    throttle_scope = "objects"
    parser_classes = [uploading.RawParser]

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
            items, _ = objects.read([received.upload() for received in uploads], bounds)
            report = services.objects_put(
                cluster_id=cluster_id,
                items=items,
                options=services.PutOptions(admission="always", create=True),
                actor=actor(request),
            )
        return Created(views.view_of(views.ObjectsCreated, report))


class ObjectDetailView(RestView):
    access = {"DELETE": Role.OPERATOR}
    holds_secrets = True  # whatever the manifest says: never compressed

    def get(self, request: Request, cluster_id: int, kind: str, name: str) -> views.ClusterObject:
        """Read an object that has no namespace: a PriorityClass, a StorageClass, … Nodes have a path of their own."""
        return selectors.cluster_object(cluster_id=cluster_id, kind=kind, name=name)

    def delete(self, request: Request, cluster_id: int, kind: str, name: str) -> None:
        """Delete an object that has no namespace."""
        services.object_delete(cluster_id=cluster_id, kind=kind, namespace="", name=name, actor=actor(request))


class NamespacedObjectView(RestView):
    access = {"DELETE": Role.OPERATOR}

    def delete(self, request: Request, cluster_id: int, kind: str, namespace: str, name: str) -> None:
        """Delete an object in a namespace."""
        services.object_delete(cluster_id=cluster_id, kind=kind, namespace=namespace, name=name, actor=actor(request))
