"""`./ksched open FILE …`: replays a history from a file, shows its moments, explains its attempts; without a service.

Everything is held in memory, and no database is asked.
"""

import argparse
import json
import os
import secrets
import sys
from pathlib import Path
from typing import Any

import django
from django.conf import settings

from kschedweb.ops import caching, explaining, replaying, showing
from kschedweb.ops.comparing import outcome_of, position_said

KINDS = showing.KINDS
CACHED = 500  # pods and nodes of a cache that are printed
NOWHERE = "postgresql://nobody@127.0.0.1:1/none"  # the settings want a database; none is ever connected to


def open_file(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Do what is wanted with the file; 2 when it cannot be used."""
    _set_up()
    from kschedweb.common.errors import ApplicationError
    from kschedweb.scheduling.past import stores
    from kschedweb.scheduling.past.held import Held

    do = {"replay": _replay, "at": _at, "why": _why}[options.what]
    try:
        with options.file.open("rb") as file, stores.opened(lambda number: Held(number, file)) as number:
            return do(number, options)
    except OSError as error:
        print(f"ksched: cannot read {error.filename}: {error.strerror}", file=sys.stderr)
    except ApplicationError as error:
        print(f"ksched: {error.message}", file=sys.stderr)
    return 2


def _set_up() -> None:
    """Models and settings without a service."""
    if settings.configured:
        return
    given = {
        "DJANGO_SETTINGS_MODULE": "kschedweb.settings",
        "DATABASE_URL": NOWHERE,
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "KSCHED_SECRET_KEY": secrets.token_hex(32),
    }
    os.environ.update({name: value for name, value in given.items() if name not in os.environ})
    django.setup()


def _replay(number: int, options: argparse.Namespace) -> int:
    found = outcome_of(number, position_said("from", options.first), position_said("to", options.last))
    print(json.dumps(found) if options.json else replaying.told(found))
    return 0 if found["difference"] is None else 1


def _at(number: int, options: argparse.Namespace) -> int:
    """Objects as they were."""
    from kschedweb.common.errors import NotFoundError
    from kschedweb.scheduling.past import asking, moments, stores
    from scheduler_core.api.times import moment_of

    shown, name = options.shown, options.name
    if shown == "cache":
        return _cache(number, options)
    if (name is not None) is not (shown in showing.NAMED):
        wanted = "a kind" if shown == "objects" else "a name" if shown in showing.NAMED else "no name"
        print(f"ksched: {shown} takes {wanted}", file=sys.stderr)
        return 2
    position = asking.position_of(options.at)
    time = asking.time_of(options.at, moment_of(stores.of(number).now())) if position is None else None
    kind = KINDS.get(shown) or name
    with moments.objects_then(cluster_id=number, position=position, at=time) as found:
        texts = found.objects.texts
        if shown in ("pod", "node"):
            namespace, _, own = name.rpartition("/")
            keys = [(kind, namespace or ("default" if shown == "pod" else ""), own)]
            if keys[0] not in texts:
                raise NotFoundError(f"there was no {shown} {name}")
        else:
            keys = sorted(key for key in texts if key[0] == kind)
        manifests = [json.loads(texts[key][1]) for key in keys]
        at = moment_of(found.at).isoformat()
    told: Any = {"at": at, "objects": manifests}
    print(json.dumps(told) if options.json else "\n".join(showing.objects_table(manifests, at)))
    return 0


def _cache(number: int, options: argparse.Namespace) -> int:
    """The scheduler's cache as it was."""
    import msgspec

    from kschedweb.scheduling.past import asking, moments, stores
    from kschedweb.scheduling.past.caching import cache_view
    from scheduler_core.api.times import moment_of

    position = asking.position_of(options.at)
    time = asking.time_of(options.at, moment_of(stores.of(number).now())) if position is None else None
    with moments.engine_then(cluster_id=number, position=position, at=time) as found:
        view = cache_view(found, sought=options.name or "", most_pods=CACHED)
    told = json.loads(msgspec.json.encode(view))
    print(json.dumps(told) if options.json else "\n".join(caching.told(told, CACHED)))
    return 0


def _why(number: int, options: argparse.Namespace) -> int:
    """The last attempt at a pod, as it is stored or made again."""
    import msgspec

    from kschedweb.common.errors import NotFoundError
    from kschedweb.scheduling.past import stores, telling
    from kschedweb.scheduling.past.attempts import attempt_again
    from kschedweb.scheduling.past.held import Held
    from kschedweb.traces.selectors import attempt_view
    from scheduler_core.explain.again import Wanted

    namespace, _, name = options.pod.rpartition("/")
    namespace = namespace or "default"
    store = stores.of(number)
    assert isinstance(store, Held)
    row = store.last_attempt(namespace, name)
    if row is None:
        raise NotFoundError(f"no attempt at the pod {namespace}/{name} is in the file")
    if not (options.again or options.node):
        attempt = json.loads(msgspec.json.encode(attempt_view(row)))
        print(json.dumps(attempt) if options.json else "\n".join(explaining.told(attempt)))
        return 0
    names = frozenset(each for each in (row.node_name or row.nominated_node_name, options.node) if each)
    wanted = Wanted(names) if names else Wanted(None, 0, 1)
    again = telling.again_view(row.seq, attempt_again(cluster_id=number, seq=row.seq, wanted=wanted))
    made = json.loads(msgspec.json.encode(again))
    print(json.dumps(made) if options.json else "\n".join(explaining.told_again(made)))
    return 0 if made["difference"] is None else 1
