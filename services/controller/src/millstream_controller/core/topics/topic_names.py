"""Which names a topic may have: Kafka's rules."""

from millstream_cluster.answers.topic_name import wrong_with_topic_name
from millstream_cluster.ids import COORDINATOR_TOPICS
from millstream_controller.core.refusal import Refused
from millstream_wire.errors import ErrorCode

INTERNAL_TOPICS = COORDINATOR_TOPICS


def check_topic_name(name: str) -> None:
    """Refuse a name that no topic may have."""
    wrong = wrong_with_topic_name(name)
    if wrong is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)


def collision_key(name: str) -> str:
    """Equal for names that differ only in '.' and '_'."""
    return name.replace(".", "_")
