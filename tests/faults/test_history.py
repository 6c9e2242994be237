"""A long history of everything at once is made again; then bits are flipped in what is stored of it.

Pods of several priorities come and go, nodes fail, the configuration changes, an extender answers as it likes, and
workers are killed. A flipped bit is found and named, or the replay shows by being identical that it decides nothing.
"""

import contextlib
import http.client
import itertools
import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from kschedweb.ops.client import Refused
from tests.builders import make_manifest, make_node, make_pod, scheduler_config
from tests.faults import storm
from tests.faults.service import Service
from tests.faults.storm import Storm, wait_until_tended
from tests.faults.test_storm import attempts, not_made_again, pace
from tests.waiting import HANG_SECONDS
from tests.web.scheduling.odd_extenders import HEAD, OddExtender, odd_extender

SEED = 31
ZONES = ("a", "b", "c")
CLASSES = {"low": 0, "middle": 100, "high": 1000}
FLIPS = 50
UNTRIED = """
SELECT count(*) FROM cluster_pod p WHERE p.cluster_id = %s AND p.node_name = ''
AND NOT EXISTS (SELECT 1 FROM traces_attempt a WHERE a.cluster_id = p.cluster_id AND a.pod_uid = p.uid)
"""
# Parts of the history are made again from one checkpoint on: there are many, so that no part is long.
WANT_CHECKPOINT = "UPDATE engine_states SET checkpoint_wanted = true WHERE cluster_id = %s RETURNING 1"
UNDER_WAY = "SELECT count(*) FROM bindings WHERE cluster_id = %s AND status = 'pending'"


@pytest.fixture
def service() -> Iterator[Service]:
    """A service of the test's own, with two workers of the kinds that matter."""
    made = Service()
    try:
        made.start()
        for name in storm.JOINED:
            made.join(name)
        yield made
    finally:
        made.close()


@pytest.mark.slow
def test_long_history_is_made_again_and_flipped_bits_are_found(service: Service, record_property: Any) -> None:
    cluster_id = lived(service, "history", nodes=200, pods=1_000, least_cycles=20_000, kills=20)
    cycles = attempts(service, cluster_id)
    counted = {
        what: service.count(f"SELECT count(*) FROM {where} AND cluster_id = %s", cluster_id)
        for what, where in (
            ("preemptions", "traces_attempt WHERE preemption->>'num_victims' <> '0'"),
            ("errors", "traces_attempt WHERE result = 'error'"),
            ("nodes deleted", "cluster_change WHERE kind = 'Node' AND operation = 'deleted'"),
            ("checkpoints", "traces_checkpoint WHERE true"),
        )
    }
    counted["runs"] = service.count(
        "SELECT count(DISTINCT run) FROM traces_enginestep WHERE cluster_id = %s", cluster_id
    )
    assert cycles >= 20_000 and all(counted.values()) and counted["runs"] > 3, (cycles, counted)
    assert not_made_again(service, "history", cycles) == []

    chance = random.Random(SEED)
    tried = (flipped(service, "history", cluster_id, chance, column) for column in itertools.cycle(COLUMNS))
    found = list(itertools.islice(filter(None, tried), FLIPS))
    record_property("figures", "\n".join([f"{cycles} cycles, {counted}", *found]))
    assert not_made_again(service, "history", cycles) == []


def lived(service: Service, name: str, *, nodes: int, pods: int, least_cycles: int, kills: int) -> int:
    """A cluster of that name that has been through so many cycles, and rests; its id."""
    cluster_id = service.cluster_create(name, seed=SEED)
    chance = random.Random(SEED)
    classes = [make_manifest("PriorityClass", each, value=value) for each, value in CLASSES.items()]
    put(service, cluster_id, *classes, *(node(number) for number in range(nodes)))
    over = threading.Event()

    def kill() -> None:
        dealt = Storm(service)
        for blow in storm.blows(kills=kills, stops=0, seconds=3.0 * kills, seed=SEED):
            if over.is_set():
                return
            dealt.deal([storm.Blow(3.0, blow.name)])

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    with extender() as answering:
        waves = 0
        while attempts(service, cluster_id) < least_cycles:
            wave(service, cluster_id, chance, waves, nodes=nodes, pods=pods, url=answering.url)
            waves += 1
        over.set()
        killer.join()
        # Pods that evict each other would go on and on.
        done("pause", service, lambda: pace(service, cluster_id, {"pace": "pause"}))
        assert wait_until_tended(service, lambda: at_rest(service, cluster_id), seconds=HANG_SECONDS), service.logs()
    return cluster_id


def at_rest(service: Service, cluster_id: int) -> bool:
    """Nothing is under way, and no step that was when the pace changed is still to be stored."""
    before = attempts(service, cluster_id)
    time.sleep(3)
    return attempts(service, cluster_id) == before and not service.count(UNDER_WAY, cluster_id)


def wave(
    service: Service, cluster_id: int, chance: random.Random, number: int, *, nodes: int, pods: int, url: str
) -> None:
    """Some pods go and nodes fail or come back, then pods come, under another configuration each time."""
    configurations = (
        scheduler_config(percentageOfNodesToScore=40),
        scheduler_config(
            profiles=[{"plugins": {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}}}]
        ),
        scheduler_config(extenders=[{"urlPrefix": url, "filterVerb": "filter", "nodeCacheCapable": True}]),
        scheduler_config(),
    )
    text = configurations[number % len(configurations)].encode() + b"\n" * (number + 1)
    path = f"/api/clusters/{cluster_id}/scheduler-config"
    done(path, service, lambda: service.client.call("PUT", path, text, "application/yaml"))
    present = [
        row[0] for row in service.rows("SELECT name FROM cluster_pod WHERE cluster_id = %s ORDER BY 1", cluster_id)
    ]
    for name in chance.sample(present, len(present) // 2):
        delete(service, cluster_id, f"Pod/default/{name}")
    failing = chance.sample(range(nodes), 6)
    for each in failing[:3]:
        delete(service, cluster_id, f"Node/n{each:03}")
    put(service, cluster_id, *(node(each, fails=True) for each in failing[3:]))
    for first in range(0, pods, 100):
        put(service, cluster_id, *(pod(chance, number, first + each) for each in range(100)))
        service.rows(WANT_CHECKPOINT, cluster_id)
    put(service, cluster_id, *(node(each) for each in failing))
    all_tried = wait_until_tended(service, lambda: not service.count(UNTRIED, cluster_id), seconds=HANG_SECONDS)
    assert all_tried, (number, service.unsettled(cluster_id), service.logs())


def node(number: int, *, fails: bool = False) -> dict[str, Any]:
    made = make_node(f"n{number:03}").zone(ZONES[number % 3]).label(disk=("ssd", "hdd")[number % 2])
    made.capacity(cpu=str(4 + number % 5 * 2), memory="32Gi", pods="30")
    if number % 9 == 0:
        made.taint("dedicated", "gpu")
    if fails:
        made.taint("node.kubernetes.io/unreachable")
    return made.manifest()


def pod(chance: random.Random, wave: int, number: int) -> dict[str, Any]:
    made = make_pod(f"w{wave:03}-{number:04}").req(cpu=f"{chance.choice((100, 400, 900, 2000))}m", memory="256Mi")
    made.spec(priorityClassName=chance.choices(list(CLASSES), weights=(12, 3, 1))[0])
    match chance.randrange(8):
        case 0:
            made.node_selector(disk="ssd")
        case 1:
            made.label(app="web").spread("topology.kubernetes.io/zone", {"app": "web"})
        case 2:
            made.label(app="db").pod_affinity("kubernetes.io/hostname", {"app": "db"}, anti=True)
        case 3:
            made.toleration("dedicated", operator="Exists")
        case _:
            pass
    return made.manifest()


def put(service: Service, cluster_id: int, *objects: dict[str, Any]) -> None:
    """Whatever of them is there is as they say afterwards."""
    files = [("some.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode())]
    done("import", service, lambda: service.upload(cluster_id, files))


def delete(service: Service, cluster_id: int, key: str) -> None:
    path = f"/api/clusters/{cluster_id}/objects/{key}"
    done(path, service, lambda: service.client.call("DELETE", path), enough="not_found")


def done(what: str, service: Service, ask: Callable[[], object], enough: str = "") -> None:
    """Asked until it is done, or refused with a code that says so."""
    refusal = ""

    def is_done() -> bool:
        nonlocal refusal
        try:
            ask()
        except (OSError, ValueError, http.client.HTTPException, Refused) as error:
            refusal = repr(error)
            return isinstance(error, Refused) and error.answer["code"] == enough
        return True

    assert wait_until_tended(service, is_done, seconds=HANG_SECONDS), (what, refusal, service.logs())


@contextmanager
def extender() -> Iterator[OddExtender]:
    """Takes some nodes away, other ones each time, and sometimes says nothing of use."""
    chance = random.Random(SEED)

    def behave(connection: Any, over: threading.Event) -> None:
        names = [f"n{number:03}" for number in range(400) if chance.random() < 0.8]
        body = b"{" if chance.random() < 0.05 else json.dumps({"NodeNames": names}).encode()
        connection.sendall(HEAD + body)

    with odd_extender(behave) as made:
        yield made


@dataclass(frozen=True, slots=True)
class Column:
    """Where bits are flipped. `is_decision`: part of a decision's record, so that a replay has to find it."""

    table: str
    name: str
    kind: str  # bytea, text, jsonb or bigint
    is_decision: bool


COLUMNS = (
    *(Column("traces_attempt", name, "text", True) for name in ("node_name", "message", "result", "profile")),
    *(Column("traces_attempt", name, "bigint", True) for name in ("feasible", "evaluated", "tied")),
    *(Column("traces_attempt", name, "jsonb", True) for name in ("rejections", "preemption")),
    *(Column("traces_attempt", name, "bytea", True) for name in ("matrix", "digest")),
    Column("traces_enginelog", "payload", "jsonb", False),  # holds durations, too
    Column("traces_enginelog", "pod_uid", "text", True),
    Column("traces_enginestep", "digest", "bytea", True),
    Column("traces_enginestep", "now_us", "bigint", True),
    Column("traces_enginestep", "cycles", "bigint", True),
    Column("cluster_change", "object", "bytea", False),
    Column("traces_checkpoint", "engine", "bytea", False),
    Column("traces_checkpoint", "objects_packed", "bytea", False),
)
_BYTES = "convert_to({0}::text, 'UTF8')"
FLIP = {
    "bytea": "set_bit({0}, %(bit)s, 1 - get_bit({0}, %(bit)s))",
    "text": f"convert_from(set_bit({_BYTES}, %(bit)s, 1 - get_bit({_BYTES}, %(bit)s)), 'UTF8')",
    "jsonb": f"convert_from(set_bit({_BYTES}, %(bit)s, 1 - get_bit({_BYTES}, %(bit)s)), 'UTF8')::jsonb",
    "bigint": "{0} # (1 << %(bit)s)",
}


def flipped(service: Service, cluster: str, cluster_id: int, chance: random.Random, column: Column) -> str | None:
    """Flip one bit of a row's column, make the history again, and set it back; what came of it.

    None where the table refuses every such row.
    """
    row, size, words = stored(service, cluster_id, chance, column)
    read = f"SELECT {column.name}{'::text' if column.kind == 'jsonb' else ''} FROM {column.table} WHERE id = %s"
    write = f"UPDATE {column.table} SET {column.name} = {{}} WHERE id = %(row)s"
    with service.connect() as connection:
        ((before,),) = connection.execute(read, [row]).fetchall()
        for bit in chance.sample(range(size), size):
            # Some bits make no text, no JSON, or what a rule of the table refuses.
            with contextlib.suppress(psycopg.DatabaseError):
                connection.execute(write.format(FLIP[column.kind].format(column.name)), {"bit": bit, "row": row})
                break
        else:
            return None
        try:
            told = service.replay(cluster, *words)
        finally:
            connection.execute(write.format(f"%(before)s::{column.kind}"), {"before": before, "row": row})
    what = f"bit {bit} of {column.table}.{column.name}, row {row}"
    difference, reason = told.get("difference"), told["reason"]
    assert difference or reason or not column.is_decision, f"{what}: not found"
    if difference:
        return f"{what}: found, step {difference['run']}.{difference['step']} {difference['pod']} {difference['field']}"
    return f"{what}: found, {reason}" if reason else f"{what}: decides nothing"


def stored(service: Service, cluster_id: int, chance: random.Random, column: Column) -> tuple[int, int, Sequence[str]]:
    """A row in which the column holds something: its id, its bits, and which part of the history needs it."""
    length = {"bigint": "1", "bytea": "length({0})"}.get(column.kind, "octet_length({0}::text)").format(column.name)
    held = f"FROM {column.table} WHERE cluster_id = %s AND {column.name} IS NOT NULL AND {length} > 0"
    place = chance.randrange(service.count(f"SELECT count(*) {held}", cluster_id))
    ((row, found),) = service.rows(f"SELECT id, {length} {held} ORDER BY id OFFSET %s LIMIT 1", cluster_id, place)
    bits = 8 if column.kind == "bigint" else 8 * found
    if column.table == "cluster_change":
        return row, bits, ()
    if column.table == "traces_checkpoint":  # read only by who begins there
        ((rv, seq),) = service.rows("SELECT objects_rv, seq FROM traces_checkpoint WHERE id = %s", row)
        return row, bits, ("--from", f"{rv}.{seq}")
    return row, bits, part_around(service, cluster_id, column.table, row)


def part_around(service: Service, cluster_id: int, table: str, row: int) -> Sequence[str]:
    """The steps from the last checkpoint before a row of a step to the end of that step: nothing else reads it."""
    of_step = "s.id = row.id" if table == "traces_enginestep" else "row.seq > s.seq_from AND row.seq <= s.seq_to"
    ((log_to, seq_from, seq_to),) = service.rows(
        "SELECT s.log_to, s.seq_from, s.seq_to FROM traces_enginestep s JOIN"
        f" {table} row ON row.cluster_id = s.cluster_id AND {of_step} WHERE row.id = %s",
        row,
    )
    before = service.rows(
        "SELECT objects_rv, seq FROM traces_checkpoint WHERE cluster_id = %s AND seq <= %s ORDER BY seq DESC LIMIT 1",
        *(cluster_id, seq_from),
    )
    return [*(word for rv, seq in before for word in ("--from", f"{rv}.{seq}")), "--to", f"{log_to}.{seq_to}"]
