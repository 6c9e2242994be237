"""Nodes, and which pods were rejected on one."""

from msgspec import UNSET
from rest_framework.request import Request

from kschedweb import views
from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import actor
from kschedweb.cluster import devices, in_vain, selectors, services
from kschedweb.rest import inputs
from kschedweb.rest.answers import RestView
from kschedweb.rest.past import StandingView
from kschedweb.traces import selectors as trace_selectors
from kschedweb.views import given, view_of


class NodeView(StandingView):
    access = {"PATCH": Role.OPERATOR}
    holds_secrets = True  # whatever the manifest says: never compressed

    def get(self, request: Request, cluster_id: int, name: str, query: views.AtQuery) -> views.NodeDetail:
        """Read a node's manifest and the pods that count on it."""
        with self.standing(cluster_id, query) as shown:
            node = shown.node(name)
            return views.NodeDetail(
                rv=node.rv,
                manifest=node.manifest,
                allocatable=node.allocatable,
                pods=shown.node_pods(name),
                devices=devices.node_devices(name, shown.related),
                in_vain=in_vain.of_object(node.manifest, shown.related, frozen=shown.is_frozen),
            )

    def patch(self, request: Request, cluster_id: int, name: str, body: views.NodeChange) -> views.Node:
        """Cordon, uncordon or drain a node, replace its taints, stop its kubelet or bring it back."""
        node = services.node_update(cluster_id=cluster_id, name=name, **given(body), actor=actor(request))
        return view_of(views.Node, node)


class NodeRefusalListView(RestView):
    def get(self, request: Request, cluster_id: int, query: views.NodeRefusalQuery) -> views.NodeRefusals:
        """List pods rejected on a node, by one plugin and for one reason where given: each pod once, newest first."""
        selectors.cluster_get(cluster_id)
        wanted, before = inputs.attempt_filter(query, cluster_id), query.before
        return trace_selectors.node_refusals(
            cluster_id, query.node, wanted, limit=query.limit, before=None if before is UNSET else before
        )
