"""A record as a test sees it."""

from typing import NamedTuple


class Record(NamedTuple):
    """`key` and `value` as bytes; None is no key, or a tombstone. To be produced without a partition it goes where its key belongs."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int = -1
    offset: int = -1
    timestamp_ms: int = -1


class Lag(NamedTuple):
    """How far a group is in a partition. `committed` and `lag` are None where it has committed nothing."""

    topic: str
    partition: int
    committed: int | None
    end: int
    lag: int | None
