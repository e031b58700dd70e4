"""The part of Produce that transactions add: which batches begin one here, and what their coordinator says to that."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

from millstream_broker.core.validation import Refused
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.replica import Replica
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ProduceRequest
from millstream_wire.records import BatchHeader, RecordsError, parse_header

ABORTABLE_SINCE = 11
"""The first version of Produce whose clients know TRANSACTION_ABORTABLE."""

Refusals = Mapping[tuple[str, int], Refused]
NO_REFUSALS: Refusals = {}

_FOR_PRODUCERS = {
    ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}


class Beginning(NamedTuple):
    """A batch that would begin its producer's transaction in a partition."""

    replica: Replica
    header: BatchHeader
    markers: int


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
    refusals: dict[tuple[str, int], Refused] = {}
    for producer, begun in beginnings.items():
        partitions = [(each.replica.topic, each.replica.index) for each in begun]
        assert request.transactional_id is not None, "asked for before"
        answers = await broker.verification.verify(request.transactional_id, *producer, partitions)
        for each in begun:
            name = (each.replica.topic, each.replica.index)
            if each.replica.markers != each.markers:
                refusals[name] = Refused(
                    ErrorCode.NOT_ENOUGH_REPLICAS, "A transaction ended meanwhile: to be verified again"
                )
            elif answers[name] is not ErrorCode.NONE:
                refusals[name] = _refusal(answers[name], version)
    return refusals


def _refusal(answer: ErrorCode, version: int) -> Refused:
    if answer is ErrorCode.TRANSACTION_ABORTABLE:
        known = version >= ABORTABLE_SINCE
        code = ErrorCode.TRANSACTION_ABORTABLE if known else ErrorCode.INVALID_TXN_STATE
        return Refused(code, "The partition is not part of the transaction")
    return Refused(
        _FOR_PRODUCERS.get(answer, ErrorCode.NOT_ENOUGH_REPLICAS), f"The transaction is not verified: {answer.name}"
    )


def _begins(replica: Replica, header: BatchHeader) -> bool:
    entry = replica.log.producer(header.producer_id)
    return entry is None or entry.transaction_start < 0 or entry.epoch != header.producer_epoch


def _batches(broker: Broker, request: ProduceRequest, *, by_id: bool) -> Iterator[tuple[Replica, BatchHeader]]:
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
