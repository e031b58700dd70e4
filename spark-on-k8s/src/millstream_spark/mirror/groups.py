"""Takes the offsets of a topic's groups over to its copy. A group's offset there never goes back, and never beyond what is copied."""

import logging
from collections.abc import Iterator, Mapping

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from millstream_spark.coordinator import wait_out
from millstream_spark.errors import TopicUnavailable
from millstream_spark.login import Login
from millstream_spark.mirror.flow import Flow
from millstream_spark.topic import Topic, admin_client

TIMEOUT_S = 30
OWN = "spark-"
"""What groups of sinks, replays and mirrors begin with: their offsets are not of a reader's."""

logger = logging.getLogger(__name__)


class GroupTranslator:
    def __init__(
        self,
        bootstrap_servers: str,
        login: Login,
        to_bootstrap_servers: str,
        to_login: Login,
        groups: frozenset[str] | None,
    ) -> None:
        self._here = admin_client(bootstrap_servers, login.librdkafka)
        self._there = admin_client(to_bootstrap_servers, to_login.librdkafka)
        self._groups = groups

    def translate(self, source: Topic, target: Topic, copied: Mapping[int, tuple[int, Flow, int]]) -> int:
        """`copied`: of each partition how far the source is copied, what flows, and where the copy ends; return how
        many groups were moved on."""
        moved = 0
        for group in sorted(_groups(self._here)):
            if group.startswith(OWN) if self._groups is None else group not in self._groups:
                continue
            now = {place.partition: place.offset for place in _committed(self._there, group, target)}
            further = []
            for place in _committed(self._here, group, source):
                if place.offset < 0 or place.partition not in copied:
                    continue
                at, flow, end = copied[place.partition]
                offset = end if place.offset >= at else flow.translated(place.offset)
                if offset > now.get(place.partition, -1):
                    further.append(TopicPartition(target.name, place.partition, offset))
            moved += bool(further) and self._commit(group, further)
        return moved

    def _commit(self, group: str, places: list[TopicPartition]) -> bool:
        request = [ConsumerGroupTopicPartitions(group, places)]
        try:
            answer = self._there.alter_consumer_group_offsets(request, request_timeout=TIMEOUT_S)[group].result()
        except KafkaException as error:
            # Whoever reads the copy under this name by now knows better.
            logger.warning("mirror.group_left_alone group=%s error=%s", group, error.args[0].str())
            return False
        refused = [place for place in answer.topic_partitions if place.error is not None]
        for place in refused[:1]:
            logger.warning("mirror.group_left_alone group=%s error=%s", group, place.error.str())
        return not refused


def origins_of(bootstrap_servers: str, topic: Topic, login: Login, prefix: str) -> frozenset[str]:
    """Return the ids of all topics that flow into this one, by the notes of the mirrors that write it."""
    admin = admin_client(bootstrap_servers, login.librdkafka)
    found: set[str] = set()
    for group in _groups(admin):
        if group.startswith(prefix) and not group.endswith(".driver"):
            for place in _committed(admin, group, topic):
                if place.offset >= 0 and place.metadata:
                    flow = Flow.from_text(place.metadata)
                    found |= {flow.topic_id, *flow.origins}
    return frozenset(found)


def _groups(admin: AdminClient) -> Iterator[str]:
    try:
        listed = admin.list_consumer_groups(request_timeout=TIMEOUT_S).result()
    except KafkaException as error:
        raise TopicUnavailable(f"groups are not told: {error.args[0].str()}") from error
    return (group.group_id for group in listed.valid)


def _committed(admin: AdminClient, group: str, topic: Topic) -> list[TopicPartition]:
    places = [TopicPartition(topic.name, partition) for partition in range(topic.partitions)]
    request = [ConsumerGroupTopicPartitions(group, places)]

    def ask() -> list[TopicPartition]:
        answer = admin.list_consumer_group_offsets(request, request_timeout=TIMEOUT_S)[group]
        found: list[TopicPartition] = answer.result().topic_partitions
        return found

    try:
        return wait_out(ask, timeout_s=TIMEOUT_S)
    except KafkaException as error:
        raise TopicUnavailable(f"offsets of group {group} are not told: {error.args[0].str()}") from error
