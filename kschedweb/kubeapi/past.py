"""The API of a moment, at `/k8s/<cluster>/at/POSITION/`: the same rules over objects as they were, which are only read.

Only the objects are made again, so no engine is needed: what cannot be replayed, such as a mirror, can be read all the
same. What does not depend on objects (versions, built-in kinds, reviews) is answered whatever the position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
import orjson

from kschedweb.cluster.versions import version_text
from kschedweb.common.errors import TooManyError
from kschedweb.kubeapi import event_history
from kschedweb.kubeapi.exchange import RefusedError, Request
from kschedweb.scheduling.past import asking
from kschedweb.scheduling.past.asking import NoMomentError
from kschedweb.scheduling.past.errors import HistoryCutError
from scheduler_core.api.custom import is_custom
from scheduler_core.api.times import moment_of
from scheduler_core.apiserver.answers import Status
from scheduler_core.apiserver.frozen import FrozenStore
from scheduler_core.apiserver.options import first
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.apiserver.store import Stored, key_of

RETRY_SECONDS: Final = 1


class Then(msgspec.Struct, frozen=True):
    """A cluster as it was: what is read from, the time of then in microseconds, and what answers say of the moment."""

    store: FrozenStore
    now: int
    headers: tuple[tuple[str, str], ...]


def then(cluster_id: int, request: Request, *kinds: str, custom: bool = False) -> Then:
    """The objects of these kinds at the moment a request names; RefusedError. Blocking.

    `custom`: and of all that the cluster had defined.
    """
    assert request.at is not None
    try:
        with asking.objects(cluster_id, request.at) as found:
            texts = {
                ObjectKey(*key): each
                for key, each in found.objects.texts.items()
                if key[0] in kinds or (custom and is_custom(key[0]))
            }
    except NoMomentError as error:
        raise RefusedError(Status(400, "BadRequest", error.message)) from None
    except HistoryCutError as error:
        raise RefusedError(Status(410, "Expired", error.message)) from None
    except TooManyError as error:
        raise RefusedError(Status(429, "TooManyRequests", error.message, retry_after_seconds=RETRY_SECONDS)) from None
    objects: Mapping[ObjectKey, Stored] = _Manifests(texts)
    if event_history.KIND in kinds:
        selector = first(request.query, "fieldSelector")
        told = event_history.told_then(cluster_id, found.at, (found.seq, found.stepped_at), selector)
        objects = {**objects, **{key_of(each): each for each in told}}
    version = event_history.version_then(cluster_id, found.position.rv, found.position.seq)
    headers = ((asking.POSITION, str(found.position)), (asking.TIME, moment_of(found.at).isoformat()))
    return Then(FrozenStore(version, objects), found.at, headers)


class _Manifests(Mapping[ObjectKey, Stored]):
    """Manifests that are decoded when they are asked for."""

    def __init__(self, texts: Mapping[ObjectKey, tuple[int, bytes]]) -> None:
        self._texts = texts

    def __getitem__(self, key: ObjectKey) -> Stored:
        rv, text = self._texts[key]
        manifest: Stored = orjson.loads(text)
        manifest["metadata"]["resourceVersion"] = version_text(rv)
        return manifest

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)
