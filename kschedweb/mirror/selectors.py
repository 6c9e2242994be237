"""Reads of mirrors."""

from typing import cast

from django.utils import timezone

from kschedweb import views
from kschedweb.cluster.models import Cluster
from kschedweb.common.errors import NotFoundError
from kschedweb.mirror.choices import MirrorState
from kschedweb.mirror.models import Mirror
from scheduler_core import config
from scheduler_core.config.known import known_part
from scheduler_core.errors import ConfigError
from scheduler_core.plugins.registry import IN_TREE, installed


def mirror_view(cluster_id: int) -> views.Mirror:
    """What the cluster follows and how it goes; NotFoundError when it is no mirror."""
    mirror = Mirror.objects.select_related("cluster").filter(pk=cluster_id).first()
    if mirror is None:
        raise NotFoundError("the cluster is no mirror", cluster=cluster_id)
    now = timezone.now()
    is_followed = mirror.held_until is not None and mirror.held_until > now
    state = mirror.state
    if mirror.is_wanted and not is_followed and state != MirrorState.PROBLEM:
        state = MirrorState.CONNECTING
    return views.Mirror(
        cluster_id=mirror.pk,
        server=mirror.server,
        context=mirror.context,
        namespaces=mirror.namespaces,
        state=cast(views.MirrorState, str(state)),
        problem=mirror.problem,
        is_wanted=mirror.is_wanted,
        is_synced=mirror.cluster.is_synced,
        lag_seconds=mirror.lag_seconds,
        heard_seconds_ago=None if mirror.heard_at is None else round((now - mirror.heard_at).total_seconds(), 1),
        synced_at=mirror.synced_at,
        lists=mirror.lists,
        events=mirror.events,
        failures=mirror.failures,
        collections=[views.MirrorCollection(name, *told) for name, told in sorted(mirror.collections.items())],
        unreadable=[views.MirrorUnreadable(*told) for told in mirror.unreadable],
        missing_plugins=missing_plugins(mirror.cluster),
        created_by=mirror.created_by,
        created_at=mirror.created_at,
    )


def missing_plugins(cluster: Cluster) -> list[str]:
    """What the configuration of a mirror names and is not here."""
    if not cluster.scheduler_config:
        return []
    try:
        loaded = config.load_stored(cluster.scheduler_config)
    except ConfigError:
        return []
    known = {*IN_TREE, *(plugin.point.name for plugin in installed())}
    return list(known_part(loaded, known)[1])
