"""Records of the system's own topics in words; those of all others as text."""

from millstream.commands.output import text_of
from millstream_wire.codec import DecodeError, decode_stored
from millstream_wire.schema import Stored
from millstream_wire.stored import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    TransactionLogKey,
    TransactionLogValue,
)

# By topic and the version that a key begins with.
_KINDS: dict[tuple[str, int], tuple[type[Stored], type[Stored]]] = {
    ("__consumer_offsets", 0): (OffsetCommitKey, OffsetCommitValue),
    ("__consumer_offsets", 1): (OffsetCommitKey, OffsetCommitValue),
    ("__consumer_offsets", 2): (GroupMetadataKey, GroupMetadataValue),
    ("__transaction_state", 0): (TransactionLogKey, TransactionLogValue),
}


def readable(topic: str, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
    kinds = _KINDS.get((topic, int.from_bytes(key[:2], "big"))) if key is not None else None
    if kinds is None or key is None:
        return text_of(key), text_of(value)
    try:
        return repr(decode_stored(kinds[0], key)), None if value is None else repr(decode_stored(kinds[1], value))
    except DecodeError:
        return text_of(key), text_of(value)
