"""What two servers that are asked the same answer: one side of it each, and where the answers are apart.

What differs by nature is taken out of them: ids, who the nodes are, and the time of day.
"""

import dataclasses
from collections.abc import Iterator
from itertools import count
from typing import Any
from uuid import UUID

import servers
from drawn_requests import Draw
from wire_client import WireClient

from millstream_wire import messages as m
from millstream_wire.api import API, ApiKey
from millstream_wire.messages import create_topics, delete_topics, describe_producers, metadata
from millstream_wire.records import split

OWN_AFFAIR = {"throttle_time_ms", "node_endpoints", "leader_id", "last_timestamp"}
OWN_CONFIGS = {"deletion.protection", "file.delete.delay.ms", "millstream.visible.after.flush", "min.insync.replicas"}
"""Ours only, set for the tests only, and Kafka's feature of eligible leader replicas."""
ABOUT = (
    "group_id",
    "name",
    "topic",
    "topic_id",
    "resource_name",
    "index",
    "partition_index",
    "partition",
    "producer_id",
    "resource_type",
    "pattern_type",
    "principal",
    "host",
    "operation",
    "permission_type",
)
CHANGES_TOPICS = (m.CreateTopicsRequest, m.DeleteTopicsRequest, m.CreatePartitionsRequest)
CHANGES_NOTHING = (
    *(m.FetchRequest, m.ListOffsetsRequest, m.OffsetForLeaderEpochRequest, m.DescribeProducersRequest),
    *(m.DescribeConfigsRequest, m.OffsetFetchRequest, m.DescribeAclsRequest, m.DescribeDelegationTokenRequest),
)
AT_COORDINATOR = (m.OffsetCommitRequest, m.OffsetFetchRequest, m.OffsetDeleteRequest)
METADATA_VERSION = 12


class Side:
    """One server, with connections to its broker and to its groups' coordinator."""

    def __init__(self, bootstrap: str, seed: int) -> None:
        self.ids: dict[str, UUID] = {}
        self.draw = Draw(seed, self.ids)
        self._topics = (*self.draw.topics, self.draw.rare_topic)
        self._passing = (f"passing-{seed}-{number}" for number in count())
        self.broker = WireClient(bootstrap)
        self.coordinator = WireClient(self._coordinator())
        topics = [
            create_topics.CreatableTopic(name=topic, num_partitions=partitions, replication_factor=1)
            for topic, partitions in zip(self.draw.topics, (2, 1), strict=False)
        ]
        request = m.CreateTopicsRequest(topics=topics, timeout_ms=30_000)
        self.partitions: dict[str, int] = {}
        self.settle(request, self.ask(request, 7))

    def _coordinator(self) -> str:
        found: list[str] = []

        def look() -> None:
            for group in self.draw.groups:
                answer = self.broker.call(m.FindCoordinatorRequest(key=group), 3, m.FindCoordinatorResponse)
                assert answer.error_code == 0
                found[:] = [f"{answer.host}:{answer.port}"]
                with WireClient(found[0]) as client:
                    asked = m.DescribeGroupsRequest(groups=[group])
                    (group_answer,) = client.call(asked, 0, m.DescribeGroupsResponse).groups
                assert group_answer.error_code == 0

        servers.eventually(look, every_s=0.02)
        return found[0]

    def ask(self, request: Any, version: int) -> Any:
        client = self.coordinator if isinstance(request, AT_COORDINATOR) else self.broker
        return client.call(request, version, API[ApiKey(request.api_key)].response)

    def settle(self, request: Any, answer: Any) -> None:
        """Wait until the server's nodes know what became of the topics by this request, if anything."""
        if getattr(request, "validate_only", False):
            return
        if isinstance(request, CHANGES_TOPICS):
            self.partitions = _after(self.partitions, request, answer)
            servers.eventually(self._check_settled, every_s=0.02)
        elif isinstance(request, m.IncrementalAlterConfigsRequest):
            self._pass_a_topic()

    def _pass_a_topic(self) -> None:
        """What was changed before a topic was made is done once that topic has its leader."""
        name = next(self._passing)
        topic = create_topics.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        self.ask(m.CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 7)
        servers.eventually(lambda: self._check_led({name: 1}), every_s=0.02)
        state = delete_topics.DeleteTopicState(name=name)
        self.ask(m.DeleteTopicsRequest(topics=[state], timeout_ms=30_000), 6)

    def _check_settled(self) -> None:
        wanted = [metadata.MetadataRequestTopic(name=topic) for topic in self._topics]
        request = m.MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        for node in (self.coordinator, self.broker):
            answer = node.call(request, METADATA_VERSION, m.MetadataResponse)
            there = [topic for topic in answer.topics if topic.error_code == 0]
            assert {topic.name: len(topic.partitions) for topic in there} == self.partitions
            ids = {topic.name or "": topic.topic_id for topic in there}
        self._check_led(self.partitions)
        self.ids.clear()
        self.ids.update(ids)

    def _check_led(self, partitions: dict[str, int]) -> None:
        asked = [
            describe_producers.TopicRequest(name=name, partition_indexes=[*range(number)])
            for name, number in partitions.items()
        ]
        answer = self.broker.call(m.DescribeProducersRequest(topics=asked), 0, m.DescribeProducersResponse)
        assert not any(each.error_code for topic in answer.topics for each in topic.partitions)

    def close(self) -> None:
        topics = [delete_topics.DeleteTopicState(name=topic) for topic in self._topics]
        self.ask(m.DeleteTopicsRequest(topics=topics, timeout_ms=30_000), 6)
        self.broker.close()
        self.coordinator.close()


def _after(partitions: dict[str, int], request: Any, answer: Any) -> dict[str, int]:
    """How many partitions each topic has now."""
    if isinstance(request, m.DeleteTopicsRequest):
        gone = {topic.name for topic in answer.responses if topic.error_code == 0}
        return {name: number for name, number in partitions.items() if name not in gone}
    if isinstance(request, m.CreatePartitionsRequest):
        grown = {topic.name for topic in answer.results if topic.error_code == 0}
        return partitions | {topic.name: topic.count for topic in request.topics if topic.name in grown}
    made = {topic.name for topic in answer.topics if topic.error_code == 0}
    return partitions | {topic.name: abs(topic.num_partitions) for topic in request.topics if topic.name in made}


def plain(value: Any, ids: dict[UUID, str]) -> Any:
    if dataclasses.is_dataclass(value):
        names = {each.name for each in dataclasses.fields(value)} - OWN_AFFAIR
        if getattr(value, "error_code", 0):
            names.discard("log_start_offset")  # of what failed, Kafka tells it sometimes
        return {name: plain(getattr(value, name), ids) for name in sorted(names)}
    if isinstance(value, list):
        shared = (each for each in value if getattr(each, "name", "") not in OWN_CONFIGS)
        return sorted((plain(each, ids) for each in shared), key=_place)
    if isinstance(value, UUID):
        drawn = value.version == 5 or not value.int
        return ids.get(value, str(value) if drawn else "an id")
    if isinstance(value, (bytes, memoryview)):
        return [bytes(batch).hex() for batch in split(value, torn_tail=True)]
    return value


def _place(value: Any) -> str:
    """What an answer's part is about: which of them comes first is each server's own affair."""
    return repr([value.get(name) for name in ABOUT] if isinstance(value, dict) else value)


def apart(ours: Any, kafkas: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where, what we say and what Kafka says; in words we may say more."""
    if path.endswith(".error_message") and kafkas is None:
        return
    if isinstance(ours, dict) and isinstance(kafkas, dict):
        for name in sorted(ours.keys() | kafkas.keys()):  # one that failed has fewer
            yield from apart(ours.get(name), kafkas.get(name), f"{path}.{name}")
    elif isinstance(ours, list) and isinstance(kafkas, list) and len(ours) == len(kafkas):
        for number, pair in enumerate(zip(ours, kafkas, strict=True)):
            yield from apart(*pair, f"{path}[{number}]")
    elif ours != kafkas:
        yield path, ours, kafkas
