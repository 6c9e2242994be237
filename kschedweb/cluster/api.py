"""REST over clusters and their objects. Errors are {"code", "message", "extra"} throughout."""

from typing import Any, cast

from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_field,
    extend_schema_view,
    inline_serializer,
)
from rest_framework import serializers, status
from rest_framework.exceptions import ParseError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts import selectors as account_selectors
from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import actor, may_create_clusters, require
from kschedweb.accounts.services import role_set
from kschedweb.cluster import configuration, selectors, services, uploading
from kschedweb.cluster.choices import ImportStatus, LifecycleMode, Pace
from kschedweb.cluster.intake import limits, objects
from kschedweb.cluster.intake.files import Upload
from kschedweb.cluster.models import Cluster, SchedulerConfigVersion
from kschedweb.common.errors import InvalidError
from kschedweb.common.pagination import KeysetPagination
from kschedweb.common.rendering import OrjsonRenderer
from kschedweb.common.throttling import UploadThrottle
from kschedweb.live import schema
from kschedweb.live.events import PodView

MAX_RETENTION = 10_000_000


class ClusterOutput(serializers.Serializer[Any]):
    """ClusterView of live/events.py."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    lifecycle_mode = serializers.ChoiceField(LifecycleMode.choices)
    pace = serializers.ChoiceField(Pace.choices)
    pace_rate = serializers.FloatField(allow_null=True)
    seed = serializers.IntegerField()
    is_sample = serializers.BooleanField()
    config_version = serializers.IntegerField()
    leader = serializers.CharField(allow_null=True)
    scheduler_problem = serializers.CharField(
        help_text="why the configuration in force cannot be used; empty when it is what the scheduler runs under"
    )
    retention_hours = serializers.IntegerField()
    retention_mb = serializers.IntegerField()

    class Meta:
        ref_name = "Cluster"


class ImportOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    status = serializers.ChoiceField(ImportStatus.choices)
    filename = serializers.CharField()
    report = serializers.JSONField(allow_null=True)
    error = serializers.JSONField(allow_null=True)
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)

    class Meta:
        ref_name = "Import"


def _cluster(cluster: Cluster, code: int = status.HTTP_200_OK) -> Response:
    return Response(ClusterOutput(selectors.cluster_view(cluster)).data, status=code)


class ClusterPagination(KeysetPagination):
    ordering = "name"


class ClusterListView(APIView):
    access = {"POST": may_create_clusters}

    class InputSerializer(serializers.Serializer[Any]):
        name = serializers.CharField(max_length=63)
        seed = serializers.IntegerField(default=0, min_value=-(2**63), max_value=2**63 - 1)
        lifecycle_mode = serializers.ChoiceField(LifecycleMode.choices, default=LifecycleMode.FROZEN)

        class Meta:
            ref_name = "ClusterCreate"

    @extend_schema(
        operation_id="clusters_list",
        parameters=ClusterPagination.parameters(),
        responses=inline_serializer(
            "ClusterPage",
            {
                "results": ClusterOutput(many=True),
                "next": serializers.CharField(allow_null=True),
                "previous": serializers.CharField(allow_null=True),
            },
        ),
    )
    def get(self, request: Request) -> Response:
        pages = ClusterPagination()
        page = pages.paginate_queryset(
            account_selectors.visible(selectors.cluster_list(), cast(User, request.user)), request, view=self
        )
        views = [selectors.cluster_view(cluster) for cluster in page or ()]
        return pages.get_paginated_response(ClusterOutput(views, many=True).data)

    @extend_schema(request=InputSerializer, responses={201: ClusterOutput})
    def post(self, request: Request) -> Response:
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        with transaction.atomic():
            cluster = services.cluster_create(**given.validated_data, actor=actor(request))
            # Whoever makes a cluster is its first admin; superusers are admins of all.
            if not cast(User, request.user).is_superuser:
                username = request.user.get_username()
                role_set(cluster=cluster, username=username, role=Role.ADMIN, actor=actor(request))
        return _cluster(cluster, status.HTTP_201_CREATED)


class ClusterDetailView(APIView):
    class OutputSerializer(ClusterOutput):
        objects = serializers.DictField(child=serializers.IntegerField())

        class Meta:
            ref_name = "ClusterDetail"

    class InputSerializer(serializers.Serializer[Any]):
        name = serializers.CharField(max_length=63, required=False)
        lifecycle_mode = serializers.ChoiceField(LifecycleMode.choices, required=False)
        retention_hours = serializers.IntegerField(
            required=False,
            min_value=1,
            max_value=MAX_RETENTION,
            help_text="how long logs, attempts and events are kept",
        )
        retention_mb = serializers.IntegerField(
            required=False, min_value=64, max_value=MAX_RETENTION, help_text="and in how much room"
        )

        class Meta:
            ref_name = "ClusterChange"

    @extend_schema(responses=OutputSerializer)
    def get(self, request: Request, cluster_id: int) -> Response:
        view = ClusterOutput(selectors.cluster_view(selectors.cluster_get(cluster_id))).data
        return Response({**view, "objects": selectors.object_counts(cluster_id)})

    @extend_schema(request=InputSerializer, responses=ClusterOutput)
    def patch(self, request: Request, cluster_id: int) -> Response:
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        return _cluster(services.cluster_change(cluster_id=cluster_id, **given.validated_data, actor=actor(request)))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, cluster_id: int) -> Response:
        services.cluster_delete(cluster_id=cluster_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


class PaceView(APIView):
    access = {"POST": Role.OPERATOR}

    class InputSerializer(serializers.Serializer[Any]):
        pace = serializers.ChoiceField(Pace.choices, required=False)
        rate = serializers.FloatField(required=False)
        steps = serializers.IntegerField(required=False)

        class Meta:
            ref_name = "PaceChange"

    @extend_schema(request=InputSerializer, responses=ClusterOutput)
    def post(self, request: Request, cluster_id: int) -> Response:
        """Run, slow down to `rate` cycles a second, pause; `steps` lets a paused cluster make that many cycles."""
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        return _cluster(services.pace_set(cluster_id=cluster_id, **given.validated_data, actor=actor(request)))


class ConfigVersionOutput(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    replayable = serializers.BooleanField(help_text="whether every plugin declared itself deterministic")
    actor = serializers.CharField()
    at = serializers.DateTimeField()

    class Meta:
        ref_name = "SchedulerConfigVersion"


class EffectiveOutput(serializers.Serializer[Any]):
    class ProfileSerializer(serializers.Serializer[Any]):
        class PointSerializer(serializers.Serializer[Any]):
            class PluginSerializer(serializers.Serializer[Any]):
                name = serializers.CharField()
                weight = serializers.IntegerField(allow_null=True)

                class Meta:
                    ref_name = "EffectivePlugin"

            point = serializers.CharField()
            plugins = PluginSerializer(many=True)

            class Meta:
                ref_name = "EffectivePoint"

        scheduler_name = serializers.CharField()
        percentage_of_nodes_to_score = serializers.IntegerField()
        points = PointSerializer(many=True)
        left_out = serializers.ListField(child=serializers.CharField())
        not_deterministic = serializers.ListField(child=serializers.CharField())
        replayable = serializers.BooleanField()

        class Meta:
            ref_name = "EffectiveProfile"

    pod_initial_backoff_seconds = serializers.IntegerField()
    pod_max_backoff_seconds = serializers.IntegerField()
    replayable = serializers.BooleanField()
    profiles = ProfileSerializer(many=True)

    class Meta:
        ref_name = "EffectiveConfig"


class ConfigDetailOutput(ConfigVersionOutput):
    text = serializers.CharField()
    effective = EffectiveOutput(
        allow_null=True, help_text="null when it can no longer be used: see problems (a plugin may be gone)"
    )
    problems = serializers.ListField(child=serializers.CharField())

    class Meta:
        ref_name = "SchedulerConfig"


class SchedulerConfigView(APIView):
    """The configuration the cluster is scheduled by: a KubeSchedulerConfiguration as YAML or JSON."""

    throttle_classes = [UploadThrottle]
    throttle_scope = "imports"  # each is built and checked, which costs about as much
    parser_classes = [uploading.RawParser]
    renderer_classes = [OrjsonRenderer]

    @extend_schema(responses=ConfigDetailOutput)
    def get(self, request: Request, cluster_id: int) -> Response:
        return _config(selectors.scheduler_config_version(cluster_id))

    @extend_schema(
        request={"application/yaml": OpenApiTypes.STR, "application/json": OpenApiTypes.OBJECT},
        responses=ConfigDetailOutput,
    )
    def put(self, request: Request, cluster_id: int) -> Response:
        """Replace it from the next step on; an empty body means the defaults. A refusal lists every problem."""
        content = b"".join(upload.content for upload in uploading.uploads_of(request))
        services.scheduler_config_set(cluster_id=cluster_id, content=content, actor=actor(request))
        return _config(selectors.scheduler_config_version(cluster_id))

    @extend_schema(
        operation_id="clusters_scheduler_config_replace",
        request={"application/yaml": OpenApiTypes.STR, "application/json": OpenApiTypes.OBJECT},
        responses=ConfigDetailOutput,
    )
    def post(self, request: Request, cluster_id: int) -> Response:
        """The same as PUT."""
        return self.put(request, cluster_id)


class ConfigVersionPagination(KeysetPagination):
    ordering = "-version"


class SchedulerConfigVersionListView(APIView):
    @extend_schema(
        operation_id="clusters_scheduler_config_versions_list",
        parameters=ConfigVersionPagination.parameters(),
        responses=inline_serializer(
            "SchedulerConfigVersionPage",
            {
                "results": ConfigVersionOutput(many=True),
                "next": serializers.CharField(allow_null=True),
                "previous": serializers.CharField(allow_null=True),
            },
        ),
    )
    def get(self, request: Request, cluster_id: int) -> Response:
        pages = ConfigVersionPagination()
        page = pages.paginate_queryset(selectors.scheduler_config_versions(cluster_id), request, view=self)
        return pages.get_paginated_response(ConfigVersionOutput(page or (), many=True).data)


class SchedulerConfigVersionView(APIView):
    renderer_classes = [OrjsonRenderer]

    @extend_schema(responses=ConfigDetailOutput)
    def get(self, request: Request, cluster_id: int, version: int) -> Response:
        return _config(selectors.scheduler_config_version(cluster_id, version))


def _config(found: SchedulerConfigVersion) -> Response:
    view = ConfigVersionOutput(found).data | {"text": found.text, "effective": None, "problems": []}
    try:
        view["effective"] = configuration.effective(found.text).as_dict()
    except InvalidError as error:
        view["problems"] = error.extra["problems"]
    return Response(view)


class ImportListView(APIView):
    access = {"POST": Role.OPERATOR}
    throttle_classes = [UploadThrottle]
    throttle_scope = "imports"
    parser_classes = [MultiPartParser, uploading.RawParser]

    class InputSerializer(serializers.Serializer[Any]):
        replace = serializers.BooleanField(default=False)
        partial = serializers.BooleanField(default=False)  # type: ignore[assignment]
        admission = serializers.ChoiceField(["auto", "always", "never"], default="auto")
        lifecycle = serializers.ChoiceField([*LifecycleMode.values, ""], default="", source="lifecycle_mode")

        class Meta:
            ref_name = "ImportOptions"

    @extend_schema(
        parameters=[InputSerializer, OpenApiParameter("filename", str, description="names a raw body in messages")],
        request={"application/octet-stream": OpenApiTypes.BINARY, "multipart/form-data": OpenApiTypes.OBJECT},
        responses={
            201: ImportOutput,
            202: OpenApiResponse(ImportOutput, description="too large to be done at once; see Location"),
        },
    )
    def post(self, request: Request, cluster_id: int) -> Response:
        """Load cluster state: kubectl output in JSON or YAML, or the openb CSV files; gzip is understood."""
        uploads = uploading.uploads_of(request)
        given = self.InputSerializer(data=uploading.options_of(request))
        given.is_valid(raise_exception=True)
        if given.validated_data["lifecycle_mode"]:
            require(request, cluster_id, Role.ADMIN)  # as for PATCH of the cluster
        done = services.import_take(
            cluster_id=cluster_id,
            uploads=uploads,
            options=services.ImportOptions(**given.validated_data),
            actor=actor(request),
        )
        code = status.HTTP_201_CREATED if done.status == ImportStatus.DONE else status.HTTP_202_ACCEPTED
        location = reverse("import", args=[cluster_id, done.pk])
        return Response(ImportOutput(done).data, status=code, headers={"Location": location})


class ImportDetailView(APIView):
    @extend_schema(responses=ImportOutput)
    def get(self, request: Request, cluster_id: int, import_id: Any) -> Response:
        return Response(ImportOutput(selectors.import_get(cluster_id=cluster_id, import_id=import_id)).data)


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
        uploads = [Upload("body", upload.content) for upload in uploading.uploads_of(request)]
        if sum(len(upload.content) for upload in uploads) > bounds.sync_yaml_bytes:
            raise ParseError("more than this is an import")
        selectors.cluster_get(cluster_id)
        items, _ = objects.read(uploads, bounds)
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
