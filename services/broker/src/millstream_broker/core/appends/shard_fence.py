"""The fence of a coordinator topic: who may append to a shard, beyond what the log's own producer state says.

The log refuses a deposed owner's epoch as long as it remembers a newer one. It may be a log that lacks the last claims, or begins anew (a person
accepted that, by an unclean election): so nobody is taken whom the metadata knows to be deposed, and where the log remembers nothing, only the
beginning of a claim is. A shard whose epochs ran out gets another producer id, always a higher one: from its first claim on, the lower ones are the deposed.
"""

from millstream_cluster.members import Shard
from millstream_wire.errors import ErrorCode
from millstream_wire.records import BatchHeader

CLAIM_SEQUENCE = 0


def shard_refusal(header: BatchHeader, shard: Shard | None, *, highest_id: int, is_remembered: bool) -> ErrorCode:
    """`is_remembered`: the log has state of the batch's producer; `highest_id`: of the producers that it has state of, or -1."""
    if header.producer_id < 0:
        return ErrorCode.INVALID_RECORD
    if header.producer_id < highest_id:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    claim = (header.producer_id, header.producer_epoch)
    if shard is not None and claim < (shard.producer_id, shard.producer_epoch):
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if not is_remembered and header.base_sequence != CLAIM_SEQUENCE:
        return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    return ErrorCode.NONE
