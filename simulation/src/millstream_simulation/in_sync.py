"""When peace has come, every replica comes back into the ISR of its partition, and those that were to move have moved."""

import asyncio
from collections.abc import Callable

from millstream_cluster.image import Image
from millstream_simulation.stage import SETTLE_S
from millstream_simulation.story import Violation

LOOK_S = 0.25


async def until_in_sync(committed: Callable[[], Image]) -> None:
    """Of partitions with several replicas, each of which has a disk that works."""
    try:
        async with asyncio.timeout(SETTLE_S):
            while True:
                behind = _behind(committed())
                if not behind:
                    return
                await asyncio.sleep(LOOK_S)
    except TimeoutError:
        raise Violation(f"not in sync within {SETTLE_S:.0f} s of peace: {', '.join(behind)}") from None


def _behind(image: Image) -> list[str]:
    return [
        f"{partition.topic}-{partition.partition} has {list(partition.isr)} of {list(partition.replicas)} in sync"
        for partition in image.partitions()
        if len(partition.replicas) > 1 and (set(partition.isr) != set(partition.replicas) or partition.adding_replicas)
    ]
