from collections.abc import Callable

import pytest

from millstream_wire.records import BatchHeader, Record, check, encode_batch

START_MS = 1_700_000_000_000

MakeBatch = Callable[..., tuple[bytearray, BatchHeader]]


def make_batch(
    count: int = 1,
    *,
    timestamp: int = START_MS,
    value: bytes = b"value",
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
) -> tuple[bytearray, BatchHeader]:
    batch = encode_batch(
        [Record(-1, timestamp + i, b"%d" % i, value) for i in range(count)],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=transactional,
    )
    return bytearray(batch), check(batch)


@pytest.fixture(scope="session")
def make() -> MakeBatch:
    """A checked batch of `count` records, as a produce request carries it."""
    return make_batch
