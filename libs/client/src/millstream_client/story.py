"""What happened to one topic, broker or group, or to the cluster as a whole: what `history` knows, told of this one."""

from collections.abc import Iterable

from millstream_client.cluster import Cluster
from millstream_client.errors import Refused
from millstream_client.history import History, NoHistory, cluster_history, group_history
from millstream_cluster.history import Event
from millstream_cluster.ids import OFFSETS_TOPIC
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Story:
    events: list[Event]
    """Oldest first."""
    kept_since_ms: int | None
    """Of what was before, the controller's log tells nothing; None: it has everything."""


async def story_of_topic(cluster: Cluster, name: str, since_ms: int) -> Story:
    """Raises NoHistory, as all but that of a group do."""
    history = await cluster_history(cluster)
    return _since(since_ms, history, (each for each in history.events if each.topic == name))


async def story_of_broker(cluster: Cluster, broker: int, since_ms: int) -> Story:
    history = await cluster_history(cluster)
    own = (each for each in history.events if broker in each.nodes or each.about == "all brokers")
    return _since(since_ms, history, own)


async def story_of_cluster(cluster: Cluster, since_ms: int) -> Story:
    """Without what is about single topics."""
    history = await cluster_history(cluster)
    return _since(since_ms, history, (each for each in history.events if each.topic is None))


async def story_of_group(cluster: Cluster, group_id: str, since_ms: int) -> Story:
    """What the group's own log says, and who took care of it."""
    try:
        place, events = await group_history(cluster, group_id, since_ms)
    except Refused as error:
        if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        return Story([], None)  # no group has ever been here
    try:
        history = await cluster_history(cluster)
    except NoHistory:
        history = History([], None)  # of Kafka's groups the log of groups alone tells
    about = (f"{OFFSETS_TOPIC}-{place.partition}", f"group {group_id}")
    return _since(since_ms, history, [*events, *(each for each in history.events if each.about in about)])


def _since(since_ms: int, history: History, events: Iterable[Event]) -> Story:
    found = sorted((each for each in events if each.time_ms >= since_ms), key=lambda each: each.time_ms)
    return Story(found, history.kept_since_ms)
