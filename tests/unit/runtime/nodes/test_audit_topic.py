"""Audit records on their way to a topic: asked for where it is missing, tried again, given up where nobody will ever take them."""

import asyncio
import json
from collections.abc import Coroutine, Sequence
from typing import Any
from uuid import UUID

import pytest

from millstream_cluster import records as r
from millstream_cluster.ids import BrokerEpoch, LeaderEpoch, NodeId, PartitionEpoch
from millstream_cluster.image import Image
from millstream_runtime.nodes.audit_topic import AUDIT_TOPIC, AuditTopic, audit_topic_of
from millstream_runtime.nodes.client import Nodes
from millstream_runtime.properties import Properties, PropertyError
from millstream_runtime.serving.audit.event import AuditEvent, AuditKind
from millstream_runtime.serving.handlers import serve
from millstream_runtime.serving.server import Server
from millstream_wire.api import ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ProduceRequest, ProduceResponse
from millstream_wire.messages.produce import PartitionProduceResponse, TopicProduceResponse
from millstream_wire.records import decode_batches

TOPIC_ID = UUID(int=7)
NODE = NodeId(1)


def image_of(*topics: str) -> Image:
    records: list[r.MetadataRecord] = [
        r.NodeRegistered(NODE, BrokerEpoch(2), UUID(int=1), (r.Endpoint("PLAINTEXT", "broker", 9092),), None),
        r.NodeUnfenced(NODE, BrokerEpoch(2)),
    ]
    for topic in topics:
        records.append(r.TopicCreated(topic, TOPIC_ID, False))
        records.append(r.PartitionCreated(TOPIC_ID, 0, (NODE,), (NODE,), NODE, LeaderEpoch(0), PartitionEpoch(0)))
    return Image.of(records, 9)


class Scene:
    """A writer, and a leader that answers as it is told, first to last, and then takes everything."""

    def __init__(self, hosts: Any, answers: Sequence[ErrorCode]) -> None:
        self.world = hosts.world("writer")
        self.world.audit_records.is_read = True
        self.image = image_of()
        self.wanted: list[str] = []
        self.written: list[dict[str, Any]] = []
        self._answers = list(answers)
        self.server = Server(
            "broker", {ApiKey.PRODUCE: serve(ProduceRequest, self._produce)}, self, hosts.world("broker")
        )
        nodes = Nodes(self.world, client_id="writer", node_id=NodeId(2))
        self.topic = AuditTopic("audit", nodes, self.world, lambda: self.image, want=self.wanted.append)

    def _produce(self, app: object, request: ProduceRequest, context: object) -> ProduceResponse:
        code = self._answers.pop(0) if self._answers else ErrorCode.NONE
        batch = bytes(request.topic_data[0].partition_data[0].records)
        if code is ErrorCode.NONE:
            self.written += [json.loads(each.value or b"") for each in decode_batches(batch)]
        partition = PartitionProduceResponse(index=0, error_code=code)
        topic = TopicProduceResponse(topic_id=TOPIC_ID, name="audit", partition_responses=[partition])
        return ProduceResponse(responses=[topic])

    def put(self, *names: str) -> None:
        for name in names:
            event = AuditEvent.of(AuditKind.ADMINISTRATION, "change", "User:a", "h", ("resource", name))
            self.world.audit_records.put(event, "broker-1", 5)

    @property
    def resources(self) -> list[str]:
        return [each["resource"] for each in self.written]


def played(hosts: Any, answers: Sequence[ErrorCode], course: Any) -> Scene:
    scene = Scene(hosts, answers)

    async def body() -> None:
        await scene.server.listen("broker", 9092)
        writing = asyncio.ensure_future(scene.topic.run())
        steps: Coroutine[Any, Any, None] = course(scene)
        await steps
        assert not writing.done()
        writing.cancel()
        await asyncio.wait([writing])
        await scene.server.close()

    hosts.run(body())
    return scene


def test_a_topic_that_is_missing_is_asked_for_and_what_came_before_is_in_it(simulated_hosts) -> None:
    async def course(scene: Scene) -> None:
        scene.put("early")
        await asyncio.sleep(3)
        assert scene.written == []
        scene.image = image_of("audit")
        await asyncio.sleep(6)

    scene = played(simulated_hosts, [], course)
    assert set(scene.wanted) == {"audit"}
    assert scene.resources == ["early"]


def test_what_is_refused_in_passing_comes_again_and_in_order(simulated_hosts) -> None:
    async def course(scene: Scene) -> None:
        scene.image = image_of("audit")
        scene.put("a", "b")
        await asyncio.sleep(3)
        scene.put("c")
        await asyncio.sleep(3)

    scene = played(simulated_hosts, [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS], course)
    assert scene.resources == ["a", "b", "c"]
    assert scene.world.audit_records.dropped == 0


def test_a_batch_that_is_too_large_goes_one_by_one_and_what_nobody_takes_is_counted(simulated_hosts) -> None:
    async def course(scene: Scene) -> None:
        scene.image = image_of("audit")
        scene.put("a", "b", "c")
        await asyncio.sleep(3)
        scene.put("d")
        await asyncio.sleep(3)

    too_large = ErrorCode.MESSAGE_TOO_LARGE
    scene = played(simulated_hosts, [too_large, ErrorCode.NONE, too_large, ErrorCode.NONE], course)
    assert scene.resources == ["a", "c", "d"]
    assert scene.written[-1]["dropped"] == 1
    assert scene.world.audit_records.dropped == 1


@pytest.mark.parametrize("name", ["__consumer_offsets", "__cluster_metadata", "no/topic", "x" * 250])
def test_a_name_that_cannot_be_is_refused_at_the_start(name: str) -> None:
    with pytest.raises(PropertyError, match=AUDIT_TOPIC):
        audit_topic_of(Properties({AUDIT_TOPIC: name}))


@pytest.mark.parametrize(("given", "expected"), [({}, None), ({AUDIT_TOPIC: ""}, None), ({AUDIT_TOPIC: "a"}, "a")])
def test_there_is_none_unless_it_is_named(given: dict[str, str], expected: str | None) -> None:
    assert audit_topic_of(Properties(given)) == expected
