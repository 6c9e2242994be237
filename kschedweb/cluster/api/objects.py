"""Objects of a cluster one by one, and nodes as operators see them."""

from dataclasses import replace
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    extend_schema,
    extend_schema_field,
    extend_schema_view,
)
from rest_framework import serializers, status
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import actor
from kschedweb.cluster import selectors, services, uploading
from kschedweb.cluster.intake import files, limits, objects
from kschedweb.common.rendering import OrjsonRenderer
from kschedweb.common.throttling import UploadThrottle
from kschedweb.live import schema
from kschedweb.live.events import PodView


class ObjectListView(APIView):
    """Objects are created as the API server would: an existing name is a conflict."""

    access = {"POST": Role.OPERATOR}
    throttle_classes = [UploadThrottle]
    throttle_scope = "objects"
    parser_classes = [uploading.RawParser]

    class OutputSerializer(serializers.Serializer[Any]):
        kinds = serializers.DictField()
        not_understood = serializers.DictField(child=serializers.IntegerField())
        rv = serializers.IntegerField()

        class Meta:
            ref_name = "ObjectsCreated"

    @extend_schema(
        request={"application/json": OpenApiTypes.OBJECT, "application/yaml": OpenApiTypes.STR},
        responses={201: OutputSerializer},
    )
    def post(self, request: Request, cluster_id: int) -> Response:
        """Create one or more manifests, given as an object, a list or several YAML documents."""
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
        return Response(self.OutputSerializer(report).data, status=status.HTTP_201_CREATED)


class ObjectDetailView(APIView):
    access = {"DELETE": Role.OPERATOR}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, cluster_id: int, kind: str, name: str, namespace: str = "") -> Response:
        services.object_delete(cluster_id=cluster_id, kind=kind, namespace=namespace, name=name, actor=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


@extend_schema_view(delete=extend_schema(operation_id="clusters_namespaced_objects_destroy"))
class NamespacedObjectView(ObjectDetailView):
    """The same for an object in a namespace."""


@extend_schema_field({"type": "array", "items": schema.ref(PodView)})
class PodViewsField(serializers.JSONField):
    """The pods that count on a node."""


class NodeView(APIView):
    access = {"PATCH": Role.OPERATOR}
    renderer_classes = [OrjsonRenderer]
    holds_secrets = True  # whatever the manifest says: never compressed

    class InputSerializer(serializers.Serializer[Any]):
        class TaintSerializer(serializers.Serializer[Any]):
            key = serializers.CharField(max_length=317)
            value = serializers.CharField(max_length=63, allow_blank=True, required=False)
            effect = serializers.ChoiceField(["NoSchedule", "PreferNoSchedule", "NoExecute"])

            class Meta:
                ref_name = "Taint"

        unschedulable = serializers.BooleanField(required=False)
        taints = TaintSerializer(many=True, required=False)

        class Meta:
            ref_name = "NodeChange"

    class OutputSerializer(serializers.Serializer[Any]):
        rv = serializers.IntegerField()
        manifest = serializers.JSONField()
        allocatable = serializers.DictField(child=serializers.IntegerField())

        class Meta:
            ref_name = "Node"

    class DetailSerializer(OutputSerializer):
        pods = PodViewsField()

        class Meta:
            ref_name = "NodeDetail"

    @extend_schema(responses=DetailSerializer)
    def get(self, request: Request, cluster_id: int, name: str) -> Response:
        node = selectors.node_get(cluster_id=cluster_id, name=name)
        pods = selectors.node_pods(cluster_id=cluster_id, node_name=name)
        return Response({**self.OutputSerializer(node).data, "pods": pods})

    @extend_schema(request=InputSerializer, responses=OutputSerializer)
    def patch(self, request: Request, cluster_id: int, name: str) -> Response:
        """Cordon, uncordon, or give the node other taints."""
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        node = services.node_update(cluster_id=cluster_id, name=name, **given.validated_data, actor=actor(request))
        return Response(self.OutputSerializer(node).data)
