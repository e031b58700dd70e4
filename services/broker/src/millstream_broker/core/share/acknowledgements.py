"""What acknowledgement batches of a request have to be like, whatever the records they are about."""

from collections.abc import Sequence

from millstream_broker.core.share.partition import Acknowledgement, AcknowledgeType
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import share_acknowledge, share_fetch

Batch = share_fetch.AcknowledgementBatch | share_acknowledge.AcknowledgementBatch

_TYPES = {int(kind): kind for kind in AcknowledgeType}


def read_acknowledgements(batches: Sequence[Batch], *, may_renew: bool) -> list[Acknowledgement] | ErrorCode:
    """The batches of one partition, which have to be in order and apart; INVALID_REQUEST if they make no sense."""
    acknowledgements: list[Acknowledgement] = []
    position = 0
    for batch in batches:
        count = batch.last_offset - batch.first_offset + 1
        if batch.first_offset < position or count < 1 or len(batch.acknowledge_types) not in (1, count):
            return ErrorCode.INVALID_REQUEST
        position = batch.last_offset + 1
        types = tuple(_TYPES.get(number) for number in batch.acknowledge_types)
        known = tuple(kind for kind in types if kind is not None)
        if len(known) < len(types) or (not may_renew and AcknowledgeType.RENEW in known):
            return ErrorCode.INVALID_REQUEST
        acknowledgements.append(Acknowledgement(batch.first_offset, position, known))
    return acknowledgements
