"""What tests of stores share: a world, and batches that follow each other."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest

from millstream_cluster.ids import ProducerId
from millstream_cluster.metadata_version import NEWEST
from millstream_cluster.records import ProducerIdsAllocated
from millstream_controller.shell.batches import encode_records


class DirectWorld:
    """A world of this process whose blocking work is done inline."""

    def __init__(self) -> None:
        self.random = random.Random(1)
        self.time_ms = 1_000

    def now_ms(self) -> int:
        return self.time_ms

    def monotonic_ms(self) -> int:
        return int(asyncio.get_running_loop().time() * 1000)

    async def run_blocking(self, work: Callable[[], Any]) -> Any:
        return work()


@pytest.fixture
def world() -> DirectWorld:
    return DirectWorld()


@pytest.fixture
def batch_at() -> Callable[..., bytes]:
    def batch_at(offset: int, records: int = 1, writer: str = "w") -> bytes:
        facts = [ProducerIdsAllocated(ProducerId(offset + index + 1)) for index in range(records)]
        return encode_records(facts, level=NEWEST, base_offset=offset, epoch=1, timestamp_ms=0, writer=writer)

    return batch_at
