"""A topic that has to be there; for one that is not, what it may have been meant to be called."""

from millstream_client import Cluster, Refused
from millstream_client.metadata import Topic
from millstream_wire.errors import ErrorCode

_NEAR = 0.75
"""How much of two names has to be the same, from 0 to 1."""


async def existing_topic(cluster: Cluster, name: str) -> Topic:
    """Raises Refused."""
    try:
        return await cluster.topic(name)
    except Refused as error:
        if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        from difflib import get_close_matches  # who does not mistype need not wait for it

        near = get_close_matches(name, (await cluster.describe()).topics, n=3, cutoff=_NEAR)
        if not near:
            raise
        raise Refused(error.code, f"did you mean {' or '.join(near)}?", subject=f"topic {name}") from None
