"""Loads the sample cluster, Otter Post, through the same doors as any user's objects."""

from django.db import transaction

from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.intake.objects import Item
from kschedweb.cluster.intake.problems import Place
from kschedweb.cluster.models import Cluster
from kschedweb.cluster.services import PutOptions, cluster_create, objects_put
from scheduler_core.sim import otter_post

NAME = "otter-post"
SEED = 20
ACTOR = "sample"


def load() -> Cluster:
    """Return the sample cluster; create it unless there is one. One transaction: all of it or nothing."""
    there = Cluster.objects.filter(is_sample=True).first()
    if there is not None:
        return there
    items = [
        Item(Place(ACTOR), manifest, str(manifest["apiVersion"]), str(manifest["kind"]))
        for manifest in otter_post.manifests(SEED)
    ]
    with transaction.atomic():
        cluster = cluster_create(
            name=NAME, seed=SEED, lifecycle_mode=LifecycleMode.SIMULATE, is_sample=True, actor=ACTOR
        )
        objects_put(cluster_id=cluster.pk, items=items, options=PutOptions(), actor=ACTOR)
    return cluster
