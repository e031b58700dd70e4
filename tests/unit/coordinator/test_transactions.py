"""Transactions over the wire, with a real broker: what is not registered gets in nowhere, and undecided offsets are not shown."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from millstream_runtime.nodes.client import Client
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    DescribeTransactionsRequest,
    EndTxnRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    ListTransactionsRequest,
    OffsetFetchRequest,
    ProduceRequest,
    TxnOffsetCommitRequest,
)
from millstream_wire.messages.add_partitions_to_txn import AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction
from millstream_wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.messages.txn_offset_commit import TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic
from millstream_wire.records import Record, encode_batch

WAITED_FOR = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)


async def ask(client: Client, request: Any, version: int | None = None) -> Any:
    return await client.request(request, timeout_ms=10_000, version=version)


async def asked(client: Client, request: Any, version: int | None = None) -> Any:
    """The answer, once it is none that says to ask again."""
    for _ in range(1_000):
        answer = await ask(client, request, version)
        if answer.error_code not in WAITED_FOR:
            return answer
        await asyncio.sleep(0.02)
    raise AssertionError(f"it never came: {answer}")


class Transactional:
    """A producer, request by request."""

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.sequence = 0

    async def start(self, *, timeout_ms: int = 60_000) -> "Transactional":
        self.broker = await self.cluster.client(self.cluster.broker.address)
        for key_type, key in ((1, "x"), (0, "g")):
            await asked(self.broker, FindCoordinatorRequest(key=key, key_type=key_type), 3)
        self.coordinator = await self.cluster.client(self.cluster.coordinator.address)
        request = InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=timeout_ms)
        given = await asked(self.coordinator, request)
        assert given.error_code == ErrorCode.NONE
        self.fields = {
            "transactional_id": "x",
            "producer_id": given.producer_id,
            "producer_epoch": given.producer_epoch,
        }
        return self

    async def write(self, version: int | None = None) -> ErrorCode:
        batch = encode_batch(
            [Record(0, 1_000, None, b"v")],
            producer_id=self.fields["producer_id"],
            producer_epoch=self.fields["producer_epoch"],
            base_sequence=self.sequence,
            transactional=True,
        )
        data = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch)])
        request = ProduceRequest(acks=-1, timeout_ms=5_000, transactional_id="x", topic_data=[data])
        answer = await ask(self.broker, request, version if version is not None else 9)
        error = ErrorCode(answer.responses[0].partition_responses[0].error_code)
        if error is ErrorCode.NONE:
            self.sequence += 1
        return error

    async def add(self, topic: str = "t", version: int = 3) -> ErrorCode:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="x",
            v3_and_below_producer_id=self.fields["producer_id"],
            v3_and_below_producer_epoch=self.fields["producer_epoch"],
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[0])],
        )
        while True:
            answer = await ask(self.coordinator, request, version)
            error = ErrorCode(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)
            if error not in WAITED_FOR:
                return error
            await asyncio.sleep(0.02)

    async def end(self, *, committed: bool) -> ErrorCode:
        answer = await asked(self.coordinator, EndTxnRequest(committed=committed, **self.fields), 4)
        return ErrorCode(answer.error_code)

    async def end_and_bump(self, *, committed: bool) -> ErrorCode:
        """As producers of transactions version 2 do: go on under what the answer says."""
        answer = await asked(self.coordinator, EndTxnRequest(committed=committed, **self.fields), 5)
        if answer.error_code == ErrorCode.NONE:
            self.fields |= {"producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch}
            self.sequence = 0
        return ErrorCode(answer.error_code)

    async def write_on(self) -> ErrorCode:
        """Write as version 2 does, again while the transaction before is still being ended."""
        for _ in range(1_000):
            error = await self.write(version=12)
            if error is not ErrorCode.CONCURRENT_TRANSACTIONS:
                return error
            await asyncio.sleep(0.02)
        raise AssertionError("it never ended")

    async def commit_offset(self, offset: int, version: int = 3) -> ErrorCode:
        partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topics = [TxnOffsetCommitRequestTopic(name="t", partitions=[partition])]
        request = TxnOffsetCommitRequest(group_id="g", topics=topics, **self.fields)
        while True:
            answer = await ask(self.coordinator, request, version)
            error = ErrorCode(answer.topics[0].partitions[0].error_code)
            if error not in WAITED_FOR:
                return error
            await asyncio.sleep(0.02)

    async def committed(self, *, stable: bool) -> int | ErrorCode:
        group = OffsetFetchRequestGroup(
            group_id="g", topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
        )
        answer = await ask(self.coordinator, OffsetFetchRequest(groups=[group], require_stable=stable), 9)
        (partition,) = answer.groups[0].topics[0].partitions
        return ErrorCode(partition.error_code) if partition.error_code else int(partition.committed_offset)


def run(cluster_at: Any, scenario: Callable[[Transactional], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(60), cluster_at() as cluster:
            await cluster.create_topic("t")
            await scenario(await Transactional(cluster).start())

    asyncio.run(main())


def test_a_batch_gets_in_only_while_its_partition_is_registered(cluster_at: Any) -> None:
    async def scenario(producer: Transactional) -> None:
        assert await producer.write() is ErrorCode.INVALID_TXN_STATE
        assert await producer.write(version=11) is ErrorCode.TRANSACTION_ABORTABLE
        assert await producer.add() is ErrorCode.NONE
        assert await producer.write() is ErrorCode.NONE
        assert await producer.write() is ErrorCode.NONE
        assert await producer.end(committed=True) is ErrorCode.NONE
        # Late: the transaction is over, and the next one has not begun here. (While its markers are under way: retriable.)
        assert await producer.write() in (ErrorCode.INVALID_TXN_STATE, ErrorCode.NOT_ENOUGH_REPLICAS)
        assert await producer.add() is ErrorCode.NONE
        assert await producer.write() is ErrorCode.NONE

    run(cluster_at, scenario)


def test_offsets_wait_for_the_end_of_their_transaction(cluster_at: Any) -> None:
    async def scenario(producer: Transactional) -> None:
        assert await producer.commit_offset(5) is ErrorCode.INVALID_TXN_STATE
        registration = AddOffsetsToTxnRequest(group_id="g", **producer.fields)
        assert (await asked(producer.coordinator, registration)).error_code == ErrorCode.NONE
        assert await producer.commit_offset(5) is ErrorCode.NONE
        assert await producer.committed(stable=False) == -1
        assert await producer.committed(stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
        assert await producer.end(committed=True) is ErrorCode.NONE
        for _ in range(500):
            found = await producer.committed(stable=True)
            if found is not ErrorCode.UNSTABLE_OFFSET_COMMIT:
                break
            await asyncio.sleep(0.02)
        assert found == 5

    run(cluster_at, scenario)


def test_under_version_2_writing_and_committing_is_what_registers(cluster_at: Any) -> None:
    async def scenario(producer: Transactional) -> None:
        for number in range(3):
            assert await producer.write_on() is ErrorCode.NONE
            assert await producer.commit_offset(number, version=5) is ErrorCode.NONE
            request = DescribeTransactionsRequest(transactional_ids=["x"])
            (described,) = (await ask(producer.coordinator, request)).transaction_states
            assert {topic.topic for topic in described.topics} == {"t", "__consumer_offsets"}
            assert described.producer_epoch == number
            assert await producer.end_and_bump(committed=True) is ErrorCode.NONE
        assert producer.fields["producer_epoch"] == 3
        for _ in range(500):
            found = await producer.committed(stable=True)
            if found == 2:
                break
            await asyncio.sleep(0.02)
        assert found == 2

    run(cluster_at, scenario)


def test_under_version_2_nothing_late_gets_into_the_next_transaction(cluster_at: Any) -> None:
    async def scenario(producer: Transactional) -> None:
        assert await producer.write_on() is ErrorCode.NONE
        late = dict(producer.fields)
        assert await producer.end_and_bump(committed=True) is ErrorCode.NONE
        # The batch after the first comes before it: it is not taken for the transaction's first.
        producer.sequence = 1
        assert await producer.write(version=12) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        producer.sequence = 0
        assert await producer.write_on() is ErrorCode.NONE
        current, producer.fields, producer.sequence = producer.fields, late, 1
        assert await producer.write(version=12) is ErrorCode.INVALID_PRODUCER_EPOCH
        assert await producer.commit_offset(1, version=5) is ErrorCode.INVALID_PRODUCER_EPOCH
        assert await producer.end_and_bump(committed=True) is ErrorCode.PRODUCER_FENCED
        producer.fields = current
        assert await producer.end_and_bump(committed=True) is ErrorCode.NONE

    run(cluster_at, scenario)


def test_requests_that_are_refused(cluster_at: Any) -> None:
    async def scenario(producer: Transactional) -> None:
        assert await producer.add("missing") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        too_long = InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=10**7)
        answer = await ask(producer.coordinator, too_long)
        assert answer.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
        nobody = InitProducerIdRequest(transactional_id="", transaction_timeout_ms=10_000)
        assert (await ask(producer.coordinator, nobody)).error_code == ErrorCode.INVALID_REQUEST
        huge = InitProducerIdRequest(transactional_id="x" * 32_768, transaction_timeout_ms=10_000)
        assert (await ask(producer.coordinator, huge)).error_code == ErrorCode.INVALID_REQUEST
        assert await producer.end(committed=True) is ErrorCode.INVALID_TXN_STATE
        await asked(producer.coordinator, InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=10_000))
        assert await producer.add() is ErrorCode.PRODUCER_FENCED
        assert await producer.add(version=1) is ErrorCode.INVALID_PRODUCER_EPOCH
        assert await producer.end(committed=True) is ErrorCode.PRODUCER_FENCED
        assert await producer.write() is ErrorCode.INVALID_PRODUCER_EPOCH

    run(cluster_at, scenario)


def test_brokers_ask_for_several_transactions_at_once(cluster_at: Any) -> None:
    async def scenario(producer: Transactional) -> None:
        assert await producer.add() is ErrorCode.NONE

        def of(transactional_id: str, *, verify_only: bool) -> AddPartitionsToTxnTransaction:
            topics = [AddPartitionsToTxnTopic(name="t", partitions=[0, 1])]
            fields = producer.fields | {"transactional_id": transactional_id}
            return AddPartitionsToTxnTransaction(topics=topics, verify_only=verify_only, **fields)

        transactions = [of("x", verify_only=True), of("unknown", verify_only=True), of("x", verify_only=False)]
        answer = await ask(producer.coordinator, AddPartitionsToTxnRequest(transactions=transactions), 5)
        codes = [
            [partition.partition_error_code for partition in result.topic_results[0].results_by_partition]
            for result in answer.results_by_transaction
        ]
        unknown = ErrorCode.INVALID_PRODUCER_ID_MAPPING
        assert codes[0] == [ErrorCode.NONE, ErrorCode.TRANSACTION_ABORTABLE]
        assert codes[1] in ([unknown] * 2, [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2)
        assert codes[2] == [ErrorCode.NONE, ErrorCode.NONE]

    run(cluster_at, scenario)


def test_transactions_are_listed_and_described(cluster_at: Any) -> None:
    async def scenario(producer: Transactional) -> None:
        await producer.add()

        async def listed(**filters: Any) -> list[tuple[str, str]]:
            answer = await asked(producer.coordinator, ListTransactionsRequest(**filters))
            assert answer.error_code == ErrorCode.NONE
            return [(each.transactional_id, each.transaction_state) for each in answer.transaction_states]

        assert await listed() == [("x", "Ongoing")]
        assert await listed(state_filters=["CompleteCommit", "nonsense"]) == []
        assert await listed(producer_id_filters=[producer.fields["producer_id"]]) == [("x", "Ongoing")]
        assert await listed(duration_filter=600_000) == []
        assert await listed(transactional_id_pattern="x|y") == [("x", "Ongoing")]
        bad = await asked(producer.coordinator, ListTransactionsRequest(transactional_id_pattern="("))
        assert bad.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
        request = DescribeTransactionsRequest(transactional_ids=["x"])
        (described,) = (await ask(producer.coordinator, request)).transaction_states
        assert (described.error_code, described.transaction_state) == (ErrorCode.NONE, "Ongoing")
        assert [(topic.topic, topic.partitions) for topic in described.topics] == [("t", [0])]

    run(cluster_at, scenario)
