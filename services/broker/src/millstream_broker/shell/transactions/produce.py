"""The part of Produce that transactions add: which batches begin one here, and what their coordinator says to that."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from millstream_broker.core.appends.validation import Refused
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ProduceRequest
from millstream_wire.records import BatchHeader, RecordsError, parse_header

ABORTABLE_SINCE = 11
"""The first version of Produce whose clients know TRANSACTION_ABORTABLE."""
ADDS_SINCE = 12
"""The first version of Produce whose clients leave it to the broker to add partitions: transactions version 2."""

TopicPartition = tuple[str, int]
Refusals = Mapping[TopicPartition, Refused]
NO_REFUSALS: Refusals = {}

_FOR_PRODUCERS = {
    ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}


class Beginning(NamedTuple):
    """A batch that would begin its producer's transaction in a partition."""

    replica: HostedPartition
    header: BatchHeader
    markers: int

    @property
    def partition(self) -> TopicPartition:
        return self.replica.topic, self.replica.index


def waiting_producer(broker: Broker, request: ProduceRequest, *, by_id: bool) -> int | None:
    """The producer that has to wait for its turn before this request can be carried out, if one has to."""
    for replica, header in _batches(broker, request, by_id=by_id):
        if broker.verification.is_busy(header.producer_id) or _begins(replica, header):
            return header.producer_id
    return None


async def verify(broker: Broker, request: ProduceRequest, version: int, *, by_id: bool) -> Refusals:
    """Ask for those batches of the request that would begin a transaction; the answers that are not yes."""
    beginnings: dict[tuple[int, int], list[Beginning]] = {}
    for replica, header in _batches(broker, request, by_id=by_id):
        if _begins(replica, header):
            producer = (header.producer_id, header.producer_epoch)
            beginnings.setdefault(producer, []).append(Beginning(replica, header, replica.markers))
    refusals: dict[TopicPartition, Refused] = {}
    assert request.transactional_id is not None, "asked for before"
    for producer, begun in beginnings.items():
        if version >= ADDS_SINCE:
            refusals |= await _add(broker, request.transactional_id, producer, begun, version)
        else:
            refusals |= await _verify(broker, request.transactional_id, producer, begun, version)
    return refusals


async def _verify(
    broker: Broker, transactional_id: str, producer: tuple[int, int], begun: Sequence[Beginning], version: int
) -> Refusals:
    refusals: dict[TopicPartition, Refused] = {}
    answers = await broker.verification.verify(transactional_id, *producer, [each.partition for each in begun])
    for each in begun:
        if each.replica.markers != each.markers:
            refusals[each.partition] = Refused(
                ErrorCode.NOT_ENOUGH_REPLICAS, "A transaction ended meanwhile: to be verified again"
            )
        elif answers[each.partition] is not ErrorCode.NONE:
            refusals[each.partition] = _refusal(answers[each.partition], version)
    return refusals


async def _add(
    broker: Broker, transactional_id: str, producer: tuple[int, int], begun: Sequence[Beginning], version: int
) -> Refusals:
    """An end marker that comes meanwhile raises the epoch, by which the log then refuses the batch."""
    refusals: dict[TopicPartition, Refused] = {}
    answers = await broker.verification.add(transactional_id, *producer, [each.partition for each in begun])
    for each in begun:
        answer, sequence = answers[each.partition], each.header.base_sequence
        if answer is not ErrorCode.NONE:
            refusals[each.partition] = _refusal(answer, version)
        elif sequence != 0 and each.replica.log.producer(each.header.producer_id) is None:
            # Every transaction begins its sequences anew, and the log takes what it knows nothing of: a batch is still to come.
            message = f"Sequence {sequence} cannot begin a transaction in a partition"
            refusals[each.partition] = Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, message)
    return refusals


def _refusal(answer: ErrorCode, version: int) -> Refused:
    if answer is ErrorCode.TRANSACTION_ABORTABLE:
        known = version >= ABORTABLE_SINCE
        code = ErrorCode.TRANSACTION_ABORTABLE if known else ErrorCode.INVALID_TXN_STATE
        return Refused(code, "The partition is not part of the transaction")
    if answer is ErrorCode.CONCURRENT_TRANSACTIONS and version >= ADDS_SINCE:
        return Refused(answer, "The producer's transaction before this one is still being ended")
    return Refused(
        _FOR_PRODUCERS.get(answer, ErrorCode.NOT_ENOUGH_REPLICAS), f"The transaction is not verified: {answer.name}"
    )


def _begins(replica: HostedPartition, header: BatchHeader) -> bool:
    entry = replica.log.producer(header.producer_id)
    if entry is None or entry.epoch < header.producer_epoch:
        return True
    return entry.epoch == header.producer_epoch and entry.transaction_start < 0  # under a lower one the log refuses it


def _batches(broker: Broker, request: ProduceRequest, *, by_id: bool) -> Iterator[tuple[HostedPartition, BatchHeader]]:
    """The transactional batches that can be looked at; what is wrong with the others is found later."""
    for data in request.topic_data:
        topic: str | UUID = data.topic_id if by_id else data.name
        for partition in data.partition_data:
            replica = broker.locate(topic, partition.index)
            if isinstance(replica, ErrorCode) or replica.is_internal or not partition.records:
                continue
            try:
                header = parse_header(partition.records)
            except RecordsError:
                continue
            if header.is_transactional:
                yield replica, header
