"""A transactional producer request by request, at the versions of either kind of client: for what no library lets one do wrong."""

import time
from typing import Any

from ask import ask

from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    CreateTopicsRequest,
    EndTxnRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    ProduceRequest,
    TxnOffsetCommitRequest,
)
from millstream_wire.messages.add_partitions_to_txn import AddPartitionsToTxnTopic
from millstream_wire.messages.create_topics import CreatableTopic
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.messages.txn_offset_commit import TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic
from millstream_wire.records import Record, encode_batch

PATIENCE_S = 30
LOADING = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
BUSY = (*LOADING, ErrorCode.CONCURRENT_TRANSACTIONS)


def until_settled(code_of: Any, waited_for: tuple[ErrorCode, ...] = BUSY) -> ErrorCode:
    """The answer's code once it is none that says to ask again."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        code = ErrorCode(code_of())
        if code not in waited_for or time.monotonic() > deadline:
            return code
        time.sleep(0.05)


class RawProducer:
    """Says what it is told to say; `producer_id`, `epoch` and `sequence` may be set to anything."""

    def __init__(self, bootstrap: str, transactional_id: str, topic: str) -> None:
        self.bootstrap = bootstrap
        self.transactional_id = transactional_id
        self.topic = topic
        self.group = f"g-{transactional_id}"
        self.producer_id, self.epoch, self.sequence = -1, -1, 0

    def create_topic(self, partitions: int = 2) -> None:
        wanted = CreatableTopic(name=self.topic, num_partitions=partitions, replication_factor=1)
        (answer,) = ask(self.bootstrap, CreateTopicsRequest(topics=[wanted], timeout_ms=30_000))
        assert answer.topics[0].error_code == ErrorCode.NONE

    def coordinator(self, key: str, key_type: int) -> str:
        found: list[Any] = []

        def look() -> int:
            found[:] = ask(self.bootstrap, FindCoordinatorRequest(key=key, key_type=key_type), version=3)
            return int(found[0].error_code)

        assert until_settled(look) is ErrorCode.NONE
        return f"{found[0].host}:{found[0].port}"

    def of_transaction(self, request: Any, version: int) -> Any:
        return ask(self.coordinator(self.transactional_id, 1), request, version=version)[0]

    def init(self, *, timeout_ms: int = 60_000, was: tuple[int, int] = (-1, -1), version: int = 4) -> ErrorCode:
        """Become the transactional id's producer."""
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=timeout_ms,
            producer_id=was[0],
            producer_epoch=was[1],
        )

        def attempt() -> int:
            answer = self.of_transaction(request, version)
            if answer.error_code == ErrorCode.NONE:
                self.producer_id, self.epoch, self.sequence = answer.producer_id, answer.producer_epoch, 0
            return int(answer.error_code)

        return until_settled(attempt)

    def add(self, *partitions: tuple[str, int], version: int = 3) -> list[ErrorCode]:
        """Register partitions as a producer of version 1 does."""
        topics: dict[str, list[int]] = {}
        for topic, index in partitions or ((self.topic, 0),):
            topics.setdefault(topic, []).append(index)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=each, partitions=at) for each, at in topics.items()],
        )
        codes: list[ErrorCode] = []

        def attempt() -> int:
            answer = self.of_transaction(request, version)
            codes[:] = [
                ErrorCode(partition.partition_error_code)
                for topic in answer.results_by_topic_v3_and_below
                for partition in topic.results_by_partition
            ]
            return codes[0]

        until_settled(attempt)
        return codes

    def add_offsets(self, version: int = 3) -> ErrorCode:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            group_id=self.group,
        )
        self.coordinator(self.group, 0)
        return until_settled(lambda: self.of_transaction(request, version).error_code)

    def write(self, version: int, *, index: int = 0, transactional: bool = True, named: bool = True) -> ErrorCode:
        batch = encode_batch(
            [Record(0, 1_000, None, b"v")],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self.sequence,
            transactional=transactional,
        )
        data = TopicProduceData(name=self.topic, partition_data=[PartitionProduceData(index=index, records=batch)])
        name = self.transactional_id if named else None
        request = ProduceRequest(acks=-1, timeout_ms=10_000, transactional_id=name, topic_data=[data])
        waited_for = (
            ErrorCode.NOT_ENOUGH_REPLICAS,
            ErrorCode.CONCURRENT_TRANSACTIONS,
            ErrorCode.NOT_LEADER_OR_FOLLOWER,  # the topic is new
        )
        code = until_settled(
            lambda: ask(self.bootstrap, request, version=version)[0].responses[0].partition_responses[0].error_code,
            waited_for,
        )
        if code is ErrorCode.NONE:
            self.sequence += 1
        return code

    def commit_offset(
        self, version: int, *, partition: int = 0, member: str = "", generation: int = -1, metadata: str = ""
    ) -> ErrorCode:
        wanted = TxnOffsetCommitRequestPartition(
            partition_index=partition, committed_offset=5, committed_metadata=metadata
        )
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=self.group,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            generation_id_or_member_epoch=generation,
            member_id=member,
            topics=[TxnOffsetCommitRequestTopic(name=self.topic, partitions=[wanted])],
        )
        coordinator = self.coordinator(self.group, 0)
        return until_settled(lambda: ask(coordinator, request, version=version)[0].topics[0].partitions[0].error_code)

    def end(self, version: int, *, commit: bool = True) -> ErrorCode:
        """End the transaction; from version 5 on, go on with what the answer says."""
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )

        def attempt() -> int:
            answer = self.of_transaction(request, version)
            if answer.error_code == ErrorCode.NONE and version >= 5:
                self.producer_id, self.epoch, self.sequence = answer.producer_id, answer.producer_epoch, 0
            return int(answer.error_code)

        return until_settled(attempt)

    def at(self, *, producer_id: int | None = None, epoch: int | None = None, sequence: int = 0) -> "RawProducer":
        """One that says to be another, or the same in another life."""
        other = RawProducer(self.bootstrap, self.transactional_id, self.topic)
        other.producer_id = self.producer_id if producer_id is None else producer_id
        other.epoch = self.epoch if epoch is None else epoch
        other.sequence = sequence
        return other
