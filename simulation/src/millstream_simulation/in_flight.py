"""Several batches for one partition, under way at once in the order of their sequences: as clients do it."""

import asyncio
from collections.abc import Sequence

from millstream_simulation.client import KafkaClient, NotNow
from millstream_wire.errors import ErrorCode

IN_FLIGHT_MAX = 5
UNKNOWN = (ErrorCode.NETWORK_EXCEPTION, -1)
"""No answer: it may be written or not."""


async def produce_in_order(
    client: KafkaClient,
    partition: int,
    batches: Sequence[bytes],
    *,
    transactional_id: str | None = None,
    version: int | None = None,
) -> Sequence[tuple[ErrorCode, int]]:
    """Error and base offset of each. Those behind the first error were sent too: they are to be sent again with it."""
    try:
        await client.expect_leader(partition)
    except NotNow:
        return [UNKNOWN]
    outcomes = await asyncio.gather(
        *(
            client.produce(partition, batch, transactional_id=transactional_id, version=version)
            for batch in batches[:IN_FLIGHT_MAX]
        ),
        return_exceptions=True,
    )
    answers: list[tuple[ErrorCode, int]] = []
    for outcome in outcomes:
        if isinstance(outcome, NotNow):
            answers.append(UNKNOWN)
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            answers.append(outcome)
    return answers
