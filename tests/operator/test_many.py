"""1,000 Topics and 200 ConsumerGroups at once, and what they cost: MILLSTREAM_MANY=1 tests/operator/run -k test_many -s"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from group_reader import produce
from kafka import KafkaConsumer, TopicPartition
from product import consumer_group, topic
from scene import Scene

TOPICS, GROUPS, OF_A_GROUP = 1_000, 200, 2
LIMIT_S = 900
SEEN_S = 15
TICKS = os.sysconf("SC_CLK_TCK")

pytestmark = pytest.mark.skipif("MILLSTREAM_MANY" not in os.environ, reason="minutes of a whole machine")


def operator_process() -> Path:
    [found] = [
        path.parent
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if b"millstream_operator.main" in (text := path.read_bytes()) and b"=operator-test\0" in text
    ]
    return found


def cpu_s(process: Path) -> float:
    fields = (process / "stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_mb(process: Path) -> int:
    [line] = [each for each in (process / "status").read_text().splitlines() if each.startswith("VmRSS")]
    return int(line.split()[1]) // 1024


def calls(scene: Scene) -> dict[str, int]:
    """Requests for our kinds, by verb, as the API server counts."""
    found: dict[str, int] = {}
    for line in scene.cluster.run("kubectl", "get", "--raw", "/metrics").splitlines():
        if line.startswith("apiserver_request_total{") and 'group="millstream.dev"' in line:
            labels = dict(each.split("=", 1) for each in line[24 : line.rindex("}")].split(","))
            key = f"{labels['verb']} {labels['resource']}".replace('"', "")
            found[key] = found.get(key, 0) + int(float(line.rsplit(" ", 1)[1]))
    return found


def ready(scene: Scene, kind: str) -> int:
    return sum(
        any(
            each["type"] == "Ready" and each["status"] == "True"
            for each in body.get("status", {}).get("conditions", ())
        )
        for body in scene.cluster.list(kind)
    )


def test_a_thousand_topics_and_two_hundred_groups_converge(scene: Scene) -> None:
    process, before = operator_process(), calls(scene)
    began, cpu = time.monotonic(), cpu_s(process)
    manifests: list[dict[str, Any]] = [
        topic(f"many-{at:04}", partitions=1, replicationFactor=1) for at in range(TOPICS)
    ]
    for at in range(GROUPS):
        topics = [f"many-{at * OF_A_GROUP + each:04}" for each in range(OF_A_GROUP)]
        manifests.append(consumer_group(f"many-{at:03}", topics=topics, offsets={"initial": "Earliest"}))
    scene.cluster.kubectl("apply", "--server-side", "-f", "-", stdin=_list(manifests), timeout_s=LIMIT_S)
    applied_s = time.monotonic() - began
    scene.wait_until("all Topics are Ready", lambda: ready(scene, "topics") >= TOPICS, LIMIT_S)
    topics_s = time.monotonic() - began
    scene.wait_until("all groups are Ready", lambda: ready(scene, "consumergroups") >= GROUPS, LIMIT_S)
    print(
        f"applied in {applied_s:.0f} s, Topics Ready after {topics_s:.0f} s, groups after {time.monotonic() - began:.0f} s; "
        f"operator {cpu_s(process) - cpu:.1f} s of a processor, {memory_mb(process)} MB; {_more(before, calls(scene))}"
    )


def test_at_rest_they_cost_little(scene: Scene) -> None:
    process = operator_process()
    before, cpu, began = calls(scene), cpu_s(process), time.monotonic()
    time.sleep(60)
    took_s = time.monotonic() - began
    print(f"in {took_s:.0f} s at rest {cpu_s(process) - cpu:.1f} s of a processor; {_more(before, calls(scene))}")


def test_lag_is_true_within_seconds_though_all_groups_read(scene: Scene) -> None:
    """Records for the last group alone: whoever is looked at last is told as soon."""
    last = f"many-{GROUPS - 1:03}"
    times = []
    for look in range(3):
        produce(scene.clients, f"many-{GROUPS * OF_A_GROUP - 1:04}", 1, 7)
        began = time.monotonic()
        scene.wait_until(f"{last} has them", lambda: lag_of(scene, last) == 7 * (look + 1), SEEN_S)  # noqa: B023
        times.append(time.monotonic() - began)
    consumer = KafkaConsumer(**scene.clients, group_id=last, enable_auto_commit=False)
    partition = TopicPartition(f"many-{GROUPS * OF_A_GROUP - 1:04}", 0)
    consumer.assign([partition])
    consumer.seek_to_end(partition)
    consumer.position(partition)
    consumer.commit()
    began = time.monotonic()
    scene.wait_until(f"{last} has read them", lambda: lag_of(scene, last) == 0, SEEN_S)
    times.append(time.monotonic() - began)
    consumer.close(autocommit=False)
    print(f"lag was true after {', '.join(f'{each:.1f}' for each in times)} s")


def lag_of(scene: Scene, group: str) -> int:
    found = scene.cluster.get("consumergroup", group)
    assert found is not None
    return int(found["status"]["lag"]["total"])


def _list(manifests: list[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})


def _more(before: dict[str, int], after: dict[str, int]) -> str:
    return ", ".join(
        f"{key} {after[key] - before.get(key, 0)}" for key in sorted(after) if after[key] > before.get(key, 0)
    )
