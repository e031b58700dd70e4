"""Groups by `kubectl apply` alone: reset, dry run, drain, undo, pause, lag and stuck partitions; the consumers' own view is what counts."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest
from group_reader import Reader, committed, produce
from kafka import KafkaConsumer
from kafka.errors import GroupMaxSizeReachedError
from kubectl import CommandFailed
from product import consumer_group, topic
from scene import Scene

PARTITIONS = 3
FIRST = 100
"""Records of each partition before anybody reads."""
SEEN_S = 15
"""Within which the status has to be true."""


@pytest.fixture(scope="module", autouse=True)
def watched(scene: Scene) -> Iterator[None]:
    scene.cluster.apply(topic("watched", partitions=PARTITIONS, replicationFactor=3))
    scene.cluster.wait_for_condition("topic", "watched", "Ready", "True", timeout_s=60)
    produce(scene.clients, "watched", PARTITIONS, FIRST)
    yield
    scene.cluster.kubectl("delete", "consumergroups", "--all", "--wait=true")


def declare(scene: Scene, **spec: Any) -> None:
    scene.cluster.apply(consumer_group("watchers", topics=["watched"], **spec))


def status(scene: Scene) -> dict[str, Any]:
    found = scene.cluster.get("consumergroup", "watchers")
    assert found is not None
    return dict(found.get("status") or {})


def condition(scene: Scene, type_: str) -> tuple[str, str]:
    found = [each for each in status(scene).get("conditions", ()) if each["type"] == type_]
    return (found[0]["status"], found[0]["reason"]) if found else ("", "")


def wait_for_lag(scene: Scene, total: int, timeout_s: float = SEEN_S) -> dict[str, Any]:
    def lag() -> dict[str, Any] | None:
        found = status(scene).get("lag") or {}
        return found if found.get("total") == total else None

    return scene.wait_until(f"the lag is {total}", lag, timeout_s)


def wait_for_reset(scene: Scene, id_: str, phase: str, timeout_s: float = 60) -> dict[str, Any]:
    def reached() -> dict[str, Any] | None:
        last = status(scene).get("lastReset") or {}
        return last if (last.get("id"), last.get("phase")) == (id_, phase) else None

    return scene.wait_until(f"reset {id_} is {phase}", reached, timeout_s)


@pytest.fixture(scope="module")
def reader(scene: Scene, watched: None) -> Iterator[Reader]:
    declare(scene, offsets={"initial": "Earliest"})
    wait_for_lag(scene, PARTITIONS * FIRST)
    assert committed(scene.clients, "watchers", "watched", PARTITIONS) == dict.fromkeys(range(PARTITIONS), 0)
    running = Reader(scene.clients, "watchers", "watched")
    yield running
    running.stop()


def test_a_group_begins_where_the_resource_says_and_its_lag_is_true(scene: Scene, reader: Reader) -> None:
    scene.wait_until("all is read", lambda: len(reader.read) == PARTITIONS * FIRST, timeout_s=60)
    assert wait_for_lag(scene, 0)["seconds"] == 0
    scene.wait_until("it is shown", lambda: status(scene)["members"] == 1, timeout_s=SEEN_S)


def test_a_paused_groups_members_stay_and_read_nothing_and_its_lag_grows_in_seconds(
    scene: Scene, reader: Reader
) -> None:
    declare(scene, paused=True, alerts={"maxLag": 29, "maxLagSeconds": 3600})
    scene.wait_until("nothing is assigned", lambda: reader.partitions == set(), timeout_s=60)
    began = time.time()
    produce(scene.clients, "watched", PARTITIONS, 10)
    lag = wait_for_lag(scene, 30)
    assert condition(scene, "Paused") == ("True", "Paused")
    assert condition(scene, "Lagging") == ("True", "TooManyRecords")
    assert status(scene)["members"] == 1
    older = scene.wait_until(
        "the lag grows older", lambda: (now := status(scene)["lag"])["seconds"] > lag["seconds"] and now, timeout_s=60
    )
    assert older["seconds"] <= time.time() - began + SEEN_S
    assert len(reader.read) == PARTITIONS * FIRST
    declare(scene)
    scene.wait_until("the rest is read", lambda: len(reader.read) == PARTITIONS * (FIRST + 10), timeout_s=60)
    assert reader.put_out == 0
    wait_for_lag(scene, 0)


def test_a_group_takes_no_more_members_than_the_resource_says(scene: Scene, reader: Reader) -> None:
    declare(scene, members={"max": 1})
    scene.wait_until("the limit is set", lambda: "max.size" in (status(scene).get("configs") or ()), timeout_s=60)
    scene.wait_until("the first one is in", lambda: len(reader.partitions) == PARTITIONS, timeout_s=60)
    with pytest.raises(GroupMaxSizeReachedError):
        joins(scene)
    declare(scene)
    scene.wait_until("there is no limit", lambda: "max.size" not in (status(scene).get("configs") or ()), timeout_s=60)
    joins(scene)


def joins(scene: Scene) -> None:
    consumer = KafkaConsumer("watched", **scene.clients, group_id="watchers", enable_auto_commit=False)

    def is_in() -> bool:
        consumer.poll(timeout_ms=500)
        return bool(consumer.assignment())

    try:
        scene.wait_until("it is in the group", is_in, timeout_s=60)
    finally:
        consumer.close(autocommit=False)


def test_a_dry_run_shows_the_plan_and_moves_nothing(scene: Scene, reader: Reader) -> None:
    declare(scene, offsets={"reset": {"id": "again", "to": "Earliest", "dryRun": True}})
    plan = wait_for_reset(scene, "again", "Planned")
    assert (plan["partitions"], plan["recordsSkipped"], plan["recordsRepeated"]) == (3, 0, 330)
    assert plan["topics"] == [{"topic": "watched", "before": "0:110,1:110,2:110", "after": "0:0,1:0,2:0"}]
    assert set(committed(scene.clients, "watchers", "watched", PARTITIONS).values()) == {110}


def test_a_reset_is_refused_while_the_group_is_active(scene: Scene, reader: Reader) -> None:
    declare(scene, offsets={"reset": {"id": "again", "to": "Earliest"}})
    assert "has 1 members" in wait_for_reset(scene, "again", "Refused")["message"]
    assert condition(scene, "OffsetsReset") == ("False", "ResetRefused")
    assert len(reader.read) == PARTITIONS * (FIRST + 10)


def test_a_live_group_is_drained_reset_and_reads_again(scene: Scene, reader: Reader) -> None:
    before = len(reader.read)
    began = time.monotonic()
    declare(scene, offsets={"reset": {"id": "from-the-start", "to": "Earliest", "whenActive": "Drain"}})
    wait_for_reset(scene, "from-the-start", "Done", timeout_s=120)
    moved_s = time.monotonic() - began
    scene.wait_until("all is read again", lambda: len(reader.read) == before + 330, timeout_s=120)
    assert sorted(reader.read[before:]) == [(index, offset) for index in range(PARTITIONS) for offset in range(110)]
    assert "drain" not in status(scene).get("configs", ())
    print(f"drained and reset in {moved_s:.1f} s, read again after {time.monotonic() - began:.1f} s")


def test_a_reset_is_done_once(scene: Scene, reader: Reader) -> None:
    wait_for_lag(scene, 0)
    done = wait_for_reset(scene, "from-the-start", "Done")
    spec = {"reset": {"id": "from-the-start", "to": "Latest", "whenActive": "Drain"}}
    declare(scene, offsets=spec, alerts={"maxLag": 1})
    scene.wait_until("it was looked at", lambda: condition(scene, "Lagging")[1] == "WithinLimits", timeout_s=60)
    assert status(scene)["lastReset"] == done


def test_an_undo_goes_back_to_where_the_group_was(scene: Scene, reader: Reader) -> None:
    declare(scene, offsets={"reset": {"id": "to-five", "to": "Offset", "value": "5", "whenActive": "Drain"}})
    wait_for_reset(scene, "to-five", "Done", timeout_s=120)
    reader.stop()
    scene.wait_until("nobody is left", lambda: status(scene)["members"] == 0, timeout_s=60)
    declare(scene, offsets={"reset": {"id": "undo", "to": "Snapshot", "value": "to-five"}})
    wait_for_reset(scene, "undo", "Done")
    assert set(committed(scene.clients, "watchers", "watched", PARTITIONS).values()) == {110}


def test_members_that_commit_nothing_are_stuck_and_an_operator_that_starts_anew_remembers(scene: Scene) -> None:
    declare(scene, alerts={"stuckAfterSeconds": 5})
    stuck = Reader(scene.clients, "watchers", "watched")
    stuck.commits.clear()
    try:
        produce(scene.clients, "watched", PARTITIONS, 1)
        since = scene.wait_until(
            "they are stuck", lambda: condition(scene, "Stuck")[0] == "True" and status(scene), timeout_s=60
        )["stuckPartitions"]
        assert [(each["partition"], each["committed"], each["lag"]) for each in since] == [
            (index, 110, 1) for index in range(PARTITIONS)
        ]
        operator = scene.cluster.list("pods", "app.kubernetes.io/name=millstream-operator")[0]["metadata"]["name"]
        before = status(scene)["lag"]["seconds"]
        scene.nodes.send(operator, signal.SIGKILL)
        scene.wait_until("the lag goes on", lambda: status(scene)["lag"]["seconds"] > before, timeout_s=90)
        assert status(scene)["stuckPartitions"] == since
    finally:
        stuck.stop()


def test_the_younger_of_two_resources_for_one_group_names_the_elder(scene: Scene) -> None:
    scene.cluster.apply(consumer_group("second", groupId="watchers", paused=True))
    found = scene.cluster.wait_for_condition("consumergroup", "second", "Ready", "False", timeout_s=60)
    [ready] = found["status"]["conditions"]
    assert ready["reason"] == "Conflict"
    assert "/watchers declares" in ready["message"]
    assert condition(scene, "Paused") == ("False", "NotPaused")


def test_what_a_resource_set_goes_with_it(scene: Scene) -> None:
    scene.cluster.apply(consumer_group("short-lived", paused=True, config={"no.such.config": "1"}))
    found = scene.cluster.wait_for_condition("consumergroup", "short-lived", "Ready", "False", timeout_s=60)
    ready = next(each for each in found["status"]["conditions"] if each["type"] == "Ready")
    assert ready["reason"] == "InvalidConfig", ready
    scene.cluster.apply(consumer_group("short-lived", paused=True))
    scene.cluster.wait_for_condition("consumergroup", "short-lived", "Paused", "True", timeout_s=60)
    scene.cluster.kubectl("delete", "consumergroup", "short-lived", "--timeout=60s")
    scene.cluster.apply(consumer_group("short-lived"))
    scene.cluster.wait_for_condition("consumergroup", "short-lived", "Paused", "False", timeout_s=60)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"offsets": {"reset": {"id": "x", "to": "Offset"}}}, "value is needed with"),
        ({"offsets": {"reset": {"id": "x", "to": "Latest", "value": "1"}}}, "and with nothing else"),
        ({"offsets": {"reset": {"id": "x", "to": "Offset", "value": "-1"}}}, "a number from 0"),
        ({"offsets": {"reset": {"id": "x", "to": "Timestamp", "value": "yesterday"}}}, "2026-11-18T09:00:00Z"),
        ({"offsets": {"reset": {"id": "x", "to": "ShiftBy", "value": "ten"}}}, "so many records"),
        ({"offsets": {"reset": {"id": "x", "to": "Duration", "value": "10"}}}, "90s, 15m, 6h or 7d"),
        ({"offsets": {"reset": {"id": "x", "to": "Latest", "partitions": [1]}}}, "partitions are those of one topic"),
        ({"offsets": {"reset": {"to": "Latest"}}}, "spec.offsets.reset.id: Required value"),
        ({"admission": "DeclaredTopics", "topics": []}, "needs topics"),
        ({"config": {"paused": "true"}}, "has a field for"),
        ({"members": {"max": 0}}, "spec.members.max"),
        ({"groupId": "another"}, "cannot be added or removed later"),
    ],
)
def test_the_api_server_refuses_bad_input_in_words(scene: Scene, spec: dict[str, Any], why: str) -> None:
    body = consumer_group("watchers", **{"topics": ["watched"], **spec})
    with pytest.raises(CommandFailed, match=why):
        scene.cluster.kubectl("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(body))
