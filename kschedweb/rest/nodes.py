"""Nodes, and which pods were rejected on one."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from kschedweb import views
from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import actor
from kschedweb.cluster import selectors, services
from kschedweb.rest import inputs
from kschedweb.rest.answers import RestView
from kschedweb.rest.inputs import given
from kschedweb.traces import selectors as trace_selectors
from kschedweb.views import view_of


class NodeView(RestView):
    access = {"PATCH": Role.OPERATOR}
    holds_secrets = True  # whatever the manifest says: never compressed

    class Input(serializers.Serializer[Any]):
        class Taint(serializers.Serializer[Any]):
            key = serializers.CharField(max_length=317)
            value = serializers.CharField(max_length=63, allow_blank=True, required=False)
            effect = serializers.ChoiceField(["NoSchedule", "PreferNoSchedule", "NoExecute"])

            class Meta:
                ref_name = "Taint"

        unschedulable = serializers.BooleanField(required=False)
        taints = Taint(many=True, required=False)

        class Meta:
            ref_name = "NodeChange"

    def get(self, request: Request, cluster_id: int, name: str) -> views.NodeDetail:
        """Read a node's manifest and the pods that count on it."""
        node = selectors.node_get(cluster_id=cluster_id, name=name)
        pods = selectors.node_pods(cluster_id=cluster_id, node_name=name)
        return views.NodeDetail(rv=node.rv, manifest=node.manifest, allocatable=node.allocatable, pods=pods)

    @extend_schema(request=Input)
    def patch(self, request: Request, cluster_id: int, name: str) -> views.Node:
        """Cordon or uncordon a node, or replace its taints."""
        values = given(self.Input, request.data)
        node = services.node_update(cluster_id=cluster_id, name=name, **values, actor=actor(request))
        return view_of(views.Node, node)


class NodeRefusalListView(RestView):
    @extend_schema(parameters=[inputs.NodeRefusalInput])
    def get(self, request: Request, cluster_id: int) -> views.NodeRefusals:
        """List pods rejected on a node, by one plugin and for one reason where given: each pod once, newest first."""
        selectors.cluster_get(cluster_id)
        values = inputs.query(inputs.NodeRefusalInput, request)
        node, limit, before = values.pop("node"), values.pop("limit"), values.pop("before")
        wanted = inputs.attempt_filter(values)
        return trace_selectors.node_refusals(cluster_id, node, wanted, limit=limit, before=before)
