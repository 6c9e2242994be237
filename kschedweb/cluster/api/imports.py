"""Imports: cluster state from files, at once or as work to come back for."""

from typing import Any

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
)
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import actor, require
from kschedweb.cluster import selectors, services, uploading
from kschedweb.cluster.choices import ImportStatus, LifecycleMode
from kschedweb.common.throttling import UploadThrottle


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
