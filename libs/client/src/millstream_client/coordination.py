"""Requests to a group's coordinator: finds it, keeps to it, finds it anew when it says or shows that it is not."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millstream_client.addresses import Address
from millstream_client.assignment import TopicPartition
from millstream_client.cluster import REQUEST_TIMEOUT_MS, Backoff, Cluster, request
from millstream_client.errors import Refused, Unreachable, code_of
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from millstream_wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from millstream_wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

COORDINATOR_TIMEOUT_MS = 60_000
NEVER = float("inf")
_MOVED = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    }
)


class Coordination:
    """The way to one group's coordinator, on a connection of its own: a JoinGroup may block it for long."""

    def __init__(self, cluster: Cluster, group_id: str) -> None:
        self.cluster = cluster
        self.group_id = group_id
        self._nodes = cluster.connections()
        self._address: Address | None = None
        self.node_id = -1
        """Of the coordinator that was found last."""

    async def close(self) -> None:
        await self._nodes.close()

    async def ask(
        self,
        message: Any,
        code_in: Callable[[Any], int],
        *,
        timeout_ms: int = REQUEST_TIMEOUT_MS,
        give_up_ms: float = COORDINATOR_TIMEOUT_MS,
    ) -> Any:
        """Send until a coordinator takes it; the answer may carry an error of any other kind."""
        deadline_ms = self.cluster.world.monotonic_ms() + give_up_ms
        backoff = Backoff()
        while True:
            failure: Exception
            try:
                answer = await request(self._nodes, await self._find(), message, timeout_ms=timeout_ms)
                code = code_of(code_in(answer))
                if code not in _MOVED:
                    return answer
                failure = Refused(code, subject=f"group {self.group_id}")
            except Unreachable as error:
                failure = error
            except Refused as error:  # of the search
                if not error.code.retriable:
                    raise
                failure = error
            if not isinstance(failure, Refused) or failure.code is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                self._address = None
            if self.cluster.world.monotonic_ms() > deadline_ms:
                raise failure
            await backoff.wait()

    async def _find(self) -> Address:
        if self._address is None:
            asked = FindCoordinatorRequest(key=self.group_id, key_type=0, coordinator_keys=[self.group_id])
            answer: FindCoordinatorResponse = await self.cluster.ask_any(asked)
            found = answer.coordinators[0] if answer.coordinators else answer
            if found.error_code:
                raise Refused(found.error_code, found.error_message, subject=f"group {self.group_id}")
            self._address = (found.host, found.port)
            self.node_id = found.node_id
        return self._address

    # ---- committed offsets ----

    async def commit(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        member_id: str = "",
        generation_id: int = -1,
        give_up_ms: float = COORDINATOR_TIMEOUT_MS,
    ) -> None:
        """Store how far the group has read; raise Refused if it may not, with what the group says."""
        by_topic: defaultdict[str, list[OffsetCommitRequestPartition]] = defaultdict(list)
        for (name, index), offset in offsets.items():
            by_topic[name].append(OffsetCommitRequestPartition(partition_index=index, committed_offset=offset))
        message = OffsetCommitRequest(
            group_id=self.group_id,
            generation_id_or_member_epoch=generation_id,
            member_id=member_id,
            topics=[
                OffsetCommitRequestTopic(
                    name=name, topic_id=(await self.cluster.topic(name)).topic_id, partitions=partitions
                )
                for name, partitions in by_topic.items()
            ],
        )
        answer = await self.ask(message, _worst_of_commit, give_up_ms=give_up_ms)
        code = _worst_of_commit(answer)
        if code:
            raise Refused(code, subject=f"commit of group {self.group_id}")

    async def committed(self, partitions: Sequence[TopicPartition] | None) -> dict[TopicPartition, int]:
        """How far the group has read, in these partitions or (None) wherever it has; one that it never committed is left out."""
        by_topic: defaultdict[str, list[int]] = defaultdict(list)
        for name, index in partitions or ():
            by_topic[name].append(index)
        if partitions is None:
            ids = {name: topic.topic_id for name, topic in (await self.cluster.describe()).topics.items()}
        else:
            ids = {name: (await self.cluster.topic(name)).topic_id for name in by_topic}
        topics = [
            OffsetFetchRequestTopics(name=name, topic_id=ids[name], partition_indexes=indexes)
            for name, indexes in by_topic.items()
        ]
        old = [OffsetFetchRequestTopic(name=name, partition_indexes=indexes) for name, indexes in by_topic.items()]
        everything = partitions is None
        message = OffsetFetchRequest(
            group_id=self.group_id,
            topics=None if everything else old,
            groups=[OffsetFetchRequestGroup(group_id=self.group_id, topics=None if everything else topics)],
            require_stable=True,
        )
        answer: OffsetFetchResponse = await self.ask(message, _worst_of_fetch)
        code = _worst_of_fetch(answer)
        if code:
            raise Refused(code, subject=f"offsets of group {self.group_id}")
        names = {topic_id: name for name, topic_id in ids.items()}
        found = _offsets_in(answer.topics, lambda topic: topic.name)
        for each in answer.groups:
            found |= _offsets_in(
                each.topics, lambda topic: topic.name or names.get(topic.topic_id, str(topic.topic_id))
            )
        return found


def _offsets_in(topics: Sequence[Any], name_of: Callable[[Any], str]) -> dict[TopicPartition, int]:
    """The two shapes of the answer's topics have the same fields, but for the name."""
    return {
        TopicPartition(name_of(topic), each.partition_index): each.committed_offset
        for topic in topics
        for each in topic.partitions
        if each.committed_offset >= 0
    }


def _worst_of_commit(answer: OffsetCommitResponse) -> int:
    return _first_error([each.error_code for topic in answer.topics for each in topic.partitions])


def _worst_of_fetch(answer: OffsetFetchResponse) -> int:
    codes = [answer.error_code, *(group.error_code for group in answer.groups)]
    codes += [each.error_code for topic in answer.topics for each in topic.partitions]
    codes += [each.error_code for group in answer.groups for topic in group.topics for each in topic.partitions]
    return _first_error(codes)


def _first_error(codes: Sequence[int]) -> int:
    return next((code for code in codes if code), 0)
