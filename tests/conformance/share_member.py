"""A member of a share group that sends what it is told: who joins, acquires and acknowledges by single requests to one server."""

import base64
import time
import uuid
from collections.abc import Sequence
from typing import NamedTuple

from wire_client import WireClient

from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    MetadataRequest,
    MetadataResponse,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareFetchRequest,
    ShareFetchResponse,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    share_acknowledge,
    share_fetch,
)
from millstream_wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource
from millstream_wire.messages.metadata import MetadataRequestTopic

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
PATIENCE_S = 60
GROUP = 32

Said = tuple[int, int, Sequence[int]]
"""First and last offset, and an answer for all of them or for each."""


class Acquired(NamedTuple):
    first: int
    last: int
    deliveries: int


class ShareMember:
    """`epoch` is of its share session; it moves by itself, unless a request is given another."""

    def __init__(self, bootstrap: str, group: str, topic: str, *, version: int = 2) -> None:
        self.bootstrap = bootstrap
        self.group = group
        self.topic = topic
        self.version = version
        self.name = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        self.epoch = 0
        self.client = WireClient(bootstrap)
        self.topic_id = self._topic_id()

    def close(self) -> None:
        """Go without a word."""
        self.client.close()

    def join(self) -> None:
        """Until it is told that the topic's partitions are its to fetch."""
        deadline, epoch = time.monotonic() + PATIENCE_S, 0
        while time.monotonic() < deadline:
            coordinator = self._coordinator()
            if coordinator is not None:
                heartbeat = ShareGroupHeartbeatRequest(
                    group_id=self.group, member_id=self.name, member_epoch=epoch, subscribed_topic_names=[self.topic]
                )
                with WireClient(coordinator) as client:
                    answer = client.call(heartbeat, 1, ShareGroupHeartbeatResponse)
                if answer.error_code == 0:
                    epoch = answer.member_epoch
                    if answer.assignment is not None and answer.assignment.topic_partitions:
                        return
            time.sleep(0.2)
        raise AssertionError(f"no assignment in {PATIENCE_S} s")

    def leave(self) -> None:
        coordinator = self._coordinator()
        assert coordinator is not None
        heartbeat = ShareGroupHeartbeatRequest(group_id=self.group, member_id=self.name, member_epoch=-1)
        with WireClient(coordinator) as client:
            assert client.call(heartbeat, 1, ShareGroupHeartbeatResponse).error_code == 0

    def fetch(self, *said: Said, epoch: int | None = None, version: int = 0, **fields: object) -> ShareFetchResponse:
        batches = [
            share_fetch.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=list(types))
            for first, last, types in said
        ]
        partition = share_fetch.FetchPartition(partition_index=0, acknowledgement_batches=batches)
        request = ShareFetchRequest(
            **{
                "group_id": self.group,
                "member_id": self.name,
                "share_session_epoch": self.epoch if epoch is None else epoch,
                "max_wait_ms": 500,
                "min_bytes": 1,
                "max_records": 500,
                "batch_size": 500,
                "topics": [share_fetch.FetchTopic(topic_id=self.topic_id, partitions=[partition])],
                **fields,
            }
        )
        answer = self.client.call(request, version or self.version, ShareFetchResponse)
        self._went(answer.error_code)
        return answer

    def acknowledge(self, *said: Said, epoch: int | None = None, **fields: object) -> ShareAcknowledgeResponse:
        batches = [
            share_acknowledge.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=list(types))
            for first, last, types in said
        ]
        partition = share_acknowledge.AcknowledgePartition(partition_index=0, acknowledgement_batches=batches)
        topic = share_acknowledge.AcknowledgeTopic(topic_id=self.topic_id, partitions=[partition])
        request = ShareAcknowledgeRequest(
            **{
                "group_id": self.group,
                "member_id": self.name,
                "share_session_epoch": self.epoch if epoch is None else epoch,
                "topics": [topic] if said else [],
                **fields,
            }
        )
        answer = self.client.call(request, self.version, ShareAcknowledgeResponse)
        self._went(answer.error_code)
        return answer

    def acquire(self, *, within_s: float = PATIENCE_S, **fields: object) -> list[Acquired]:
        """Fetch until there is something: a share is loaded when it is first asked for, and what a member leaves comes back later."""
        deadline = time.monotonic() + within_s
        while True:
            answer = self.fetch(**fields)
            assert answer.error_code == 0, ErrorCode(answer.error_code).name
            acquired = acquired_of(answer)
            if acquired or time.monotonic() > deadline:
                return acquired

    def say(self, *said: Said) -> ErrorCode:
        """Acknowledge; how that went for the one partition."""
        answer = self.acknowledge(*said)
        assert answer.error_code == 0, ErrorCode(answer.error_code).name
        return ErrorCode(answer.responses[0].partitions[0].error_code)

    def _went(self, error_code: int) -> None:
        if error_code == 0:
            self.epoch += 1

    def _coordinator(self) -> str | None:
        with WireClient(self.bootstrap) as client:
            answer = client.call(
                FindCoordinatorRequest(key_type=0, coordinator_keys=[self.group]), 6, FindCoordinatorResponse
            )
        (found,) = answer.coordinators
        return f"{found.host}:{found.port}" if found.error_code == 0 else None

    def _topic_id(self) -> uuid.UUID:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            request = MetadataRequest(topics=[MetadataRequestTopic(name=self.topic)])
            (topic,) = self.client.call(request, 12, MetadataResponse).topics
            if topic.error_code == 0 or time.monotonic() > deadline:
                assert topic.error_code == 0
                return topic.topic_id
            time.sleep(0.2)


def acquired_of(answer: ShareFetchResponse) -> list[Acquired]:
    return [
        Acquired(each.first_offset, each.last_offset, each.delivery_count)
        for topic in answer.responses
        for partition in topic.partitions
        for each in partition.acquired_records
    ]


def configure(bootstrap: str, group: str, **configs: str) -> None:
    """Set configurations of a group; underscores stand for dots."""
    changes = [AlterableConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
    resource = AlterConfigsResource(resource_type=GROUP, resource_name=group, configs=changes)
    with WireClient(bootstrap.split(",")[0]) as client:
        answer = client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1, IncrementalAlterConfigsResponse)
    assert answer.responses[0].error_code == 0, answer.responses[0].error_message
